//! A walk over everything that is stored, the earliest `created_at` first.

use std::ops::Bound;

use zeolite_proto::{EventId, EventRef, Seq, Timestamp};

use crate::error::ReadError;
use crate::keys::TimelineEntry;
use crate::limits::REFILL_KEYS_MAX;
use crate::slice::{Meter, SliceBudget};
use crate::snapshot::{Snapshot, timeline_entry};
use crate::store::Store;

/// The walk. Between slices it holds a place in the timeline and nothing of the store; events that
/// come or go meanwhile are seen as they are when their turn comes.
pub struct OldestFirst {
    store: Store,
    /// Behind this entry; it need not exist.
    behind: TimelineEntry,
}

impl OldestFirst {
    /// A walk that begins with the events of this second.
    pub fn new(store: &Store, from: Timestamp) -> Self {
        let behind = TimelineEntry::new(from, &EventId([0; 32]), Seq::ZERO);
        Self { store: store.clone(), behind }
    }

    /// Gives the next events, equal times by lowest id, until the budget is used up or `sink`
    /// answers false; the event it answers false to counts as given. True if there may be more.
    pub fn slice(
        &mut self,
        budget: SliceBudget,
        sink: &mut dyn FnMut(Seq, EventRef<'_>) -> bool,
    ) -> Result<bool, ReadError> {
        let snapshot = self.store.snapshot()?;
        let mut meter = Meter::start(budget);
        let mut entries = Vec::with_capacity(REFILL_KEYS_MAX);
        loop {
            entries.clear();
            snapshot.timeline_above(&self.behind, REFILL_KEYS_MAX, &mut entries)?;
            for entry in &entries {
                self.behind = *entry;
                if let Some(event) = snapshot.get(entry.seq())? {
                    meter.count_event();
                    if !sink(entry.seq(), event) {
                        return Ok(true);
                    }
                }
                if meter.is_over() {
                    return Ok(true);
                }
            }
            if entries.len() < REFILL_KEYS_MAX {
                return Ok(false);
            }
        }
    }
}

impl Snapshot<'_> {
    /// Fills an empty list with up to `max` timeline entries that are greater than `behind`, least
    /// first, each once; with fewer only if there are no more.
    fn timeline_above(
        &self,
        behind: &TimelineEntry,
        max: usize,
        out: &mut Vec<TimelineEntry>,
    ) -> Result<(), ReadError> {
        let is_wanted = |entry: &TimelineEntry| entry > behind && entry.seq() <= self.ceiling();
        for run in &self.head.runs {
            let from = run.timeline.partition_point(|entry| entry <= behind);
            out.extend(run.timeline[from..].iter().filter(|entry| is_wanted(entry)).take(max));
        }
        // The event of `behind` may have come back under a higher seq.
        let range = (Bound::Included(behind.key()), Bound::Unbounded);
        let mut left = max;
        for entry in self.inner.tables.timeline.range(&self.txn, &range)? {
            if left == 0 {
                break;
            }
            let entry = timeline_entry(entry?)?;
            if is_wanted(&entry) {
                out.push(entry);
                left -= 1;
            }
        }
        out.sort_unstable();
        out.dedup();
        out.truncate(max);
        Ok(())
    }
}
