//! A snapshot: the head, and a read transaction that was opened after it.
//!
//! In this order nothing is missing: what left the head before the snapshot was taken is in LMDB
//! by then. What is in both is dropped once.

use std::ops::Bound;
use std::sync::Arc;

use zeolite_proto::{EventId, EventRef, Seq, Timestamp};

use crate::Inner;
use crate::env::{ReadTxn, seq_key};
use crate::error::ReadError;
use crate::head::{Head, InHead};
use crate::keys::{FIVE_BYTES_MAX, IndexKey, TimelineEntry};

/// A consistent view of the store. Short-lived: LMDB cannot use pages again that it might show.
pub struct Snapshot<'s> {
    pub(crate) inner: &'s Inner,
    pub(crate) head: Arc<Head>,
    pub(crate) txn: ReadTxn<'s>,
    ceiling: Seq,
}

/// A place in the timeline: behind the event with this time and id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimelinePlace {
    pub(crate) time: Timestamp,
    /// `None`: before every event of this second.
    pub(crate) id: Option<EventId>,
}

impl<'s> Snapshot<'s> {
    pub(crate) fn take(inner: &'s Inner) -> Result<Self, ReadError> {
        let head = inner.head.load();
        let txn = inner.env.read_txn()?;
        let ceiling = head.last_seq;
        Ok(Self { inner, head, txn, ceiling })
    }

    /// A snapshot whose transaction has nothing committed that its head does not know of: what the
    /// head says of its sums is then exact. It keeps both writers waiting for a moment.
    pub(crate) fn take_exact(inner: &'s Inner) -> Result<Self, ReadError> {
        let (head, txn) = inner.head.load_with(|| inner.env.read_txn());
        let ceiling = head.last_seq;
        Ok(Self { inner, head, txn: txn?, ceiling })
    }

    /// Shows the index only as far as it concerns events up to `ceiling`.
    pub(crate) fn with_ceiling(self, ceiling: Seq) -> Self {
        Self { ceiling: ceiling.min(self.ceiling), ..self }
    }

    /// The newest event this snapshot knows of has this seq.
    pub fn ceiling(&self) -> Seq {
        self.ceiling
    }

    /// The event with this seq; `None` if there is none or it was removed.
    pub fn get(&self, seq: Seq) -> Result<Option<EventRef<'_>>, ReadError> {
        let event = self.get_unwiped(seq)?;
        Ok(event.filter(|event| !self.is_wiped(*event)))
    }

    /// Whether the event is still to be removed on behalf of a request to vanish.
    pub(crate) fn is_wiped(&self, event: EventRef<'_>) -> bool {
        let vanishing = &self.head.vanishing;
        vanishing.iter().any(|vanish| vanish.wipes(event, &self.inner.own_urls))
    }

    /// The same, requests to vanish aside whose removals are going on.
    pub(crate) fn get_unwiped(&self, seq: Seq) -> Result<Option<EventRef<'_>>, ReadError> {
        match self.head.find(seq) {
            InHead::Dead => return Ok(None),
            InHead::Event(event) => return Ok(Some(event)),
            InHead::Unknown => {}
        }
        match self.inner.tables.log.get(&self.txn, &seq_key(seq))? {
            Some(record) => {
                EventRef::new(record).map(Some).map_err(|source| ReadError::Damaged { seq, source })
            }
            None => Ok(None),
        }
    }

    /// The stored event with this id.
    pub fn by_id(&self, id: &EventId) -> Result<Option<(Seq, EventRef<'_>)>, ReadError> {
        for run in self.head.runs.iter().rev() {
            for key in run.keys_of_id(id) {
                if let Some(event) = self.with_id(id, key)? {
                    return Ok(Some((key.seq(), event)));
                }
            }
        }
        let (lowest, highest) = IndexKey::range_of_id(id);
        let table = &self.inner.tables.index;
        let mut next = table.get_greater_than_or_equal_to(&self.txn, &lowest.0)?;
        while let Some((bytes, _)) = next {
            let key = index_key(bytes)?;
            if key > highest {
                break;
            }
            if let Some(event) = self.with_id(id, &key)? {
                return Ok(Some((key.seq(), event)));
            }
            next = table.get_greater_than(&self.txn, &key.0)?;
        }
        Ok(None)
    }

    /// The event a key leads to, if it is the one with this id and not above the ceiling.
    fn with_id(&self, id: &EventId, key: &IndexKey) -> Result<Option<EventRef<'_>>, ReadError> {
        if key.seq() > self.ceiling {
            return Ok(None);
        }
        Ok(self.get(key.seq())?.filter(|event| event.id() == *id))
    }

    /// Appends up to `max` index keys that are less than `below` and at least `least`, greatest
    /// first, each once. True if there may be more.
    pub(crate) fn index_below(
        &self,
        below: &IndexKey,
        least: &IndexKey,
        max: usize,
        out: &mut Vec<IndexKey>,
    ) -> Result<bool, ReadError> {
        let mut runs = self.runs_below(below, least);
        let range = (Bound::Included(&least.0[..]), Bound::Excluded(&below.0[..]));
        let mut table = self.inner.tables.index.rev_range(&self.txn, &range)?;
        let mut next_in_table =
            || table.next().transpose()?.map(|(key, _)| index_key(key)).transpose();
        let mut in_table = next_in_table()?;
        let end = out.len() + max;
        while out.len() < end {
            let in_runs = greatest(&mut runs, in_table);
            let key = match in_runs {
                Some(key) => key,
                None => match in_table {
                    Some(key) => key,
                    None => return Ok(false),
                },
            };
            if in_table == Some(key) {
                in_table = next_in_table()?;
            }
            if key.seq() <= self.ceiling {
                out.push(key);
            }
        }
        Ok(true)
    }

    /// Appends up to `max` index keys that are greater than `above` and less than `below`, least
    /// first, each once.
    pub(crate) fn index_above(
        &self,
        above: &IndexKey,
        below: &IndexKey,
        max: usize,
        out: &mut Vec<IndexKey>,
    ) -> Result<(), ReadError> {
        let start = out.len();
        for run in self.runs_below(below, above) {
            out.extend(run.iter().filter(|key| *key > above).take(max));
        }
        let range = (Bound::Excluded(&above.0[..]), Bound::Excluded(&below.0[..]));
        for entry in self.inner.tables.index.range(&self.txn, &range)?.take(max) {
            out.push(index_key(entry?.0)?);
        }
        out[start..].sort_unstable();
        dedup_after(start, out);
        out.truncate(start.saturating_add(max));
        Ok(())
    }

    /// For each run that has keys in the range, those below `below`.
    fn runs_below(&self, below: &IndexKey, least: &IndexKey) -> Vec<&[IndexKey]> {
        let mut runs = Vec::new();
        for run in &self.head.runs {
            let from_below = &run.index[..run.index.partition_point(|key| key < below)];
            if from_below.last().is_some_and(|key| key >= least) {
                let from = from_below.partition_point(|key| key < least);
                runs.push(&from_below[from..]);
            }
        }
        runs
    }

    /// Appends up to `max` timeline entries behind `place` and not older than `oldest`, newest
    /// first and in one second the lowest id first. True if there may be more.
    pub(crate) fn timeline_behind(
        &self,
        place: TimelinePlace,
        oldest: Timestamp,
        max: usize,
        out: &mut Vec<TimelineEntry>,
    ) -> Result<bool, ReadError> {
        let end = out.len() + max;
        if place.time < oldest {
            return Ok(false);
        }
        let mut time = Timestamp(place.time.0.min(FIVE_BYTES_MAX));
        let id = place.id.filter(|_| time == place.time);
        self.rest_of_second(time, id, max, out)?;
        while out.len() < end {
            let cut = self.seconds_before(time, oldest, end - out.len(), out)?;
            if out.len() >= end {
                break;
            }
            let Some(dense) = cut else { return Ok(false) };
            self.rest_of_second(dense, None, end - out.len(), out)?;
            time = dense;
        }
        out.truncate(end);
        Ok(true)
    }

    /// Appends up to `max` entries of one second, from the lowest id above `after`.
    fn rest_of_second(
        &self,
        time: Timestamp,
        after: Option<EventId>,
        max: usize,
        out: &mut Vec<TimelineEntry>,
    ) -> Result<(), ReadError> {
        let none = EventId([0; 32]);
        let lowest = match after {
            Some(id) => TimelineEntry::new(time, &id, Seq(FIVE_BYTES_MAX)),
            None => TimelineEntry::new(time, &none, Seq::ZERO),
        };
        let highest = TimelineEntry::new(time, &EventId([0xff; 32]), Seq(FIVE_BYTES_MAX));
        let start = out.len();
        for run in &self.head.runs {
            let from = run.timeline.partition_point(|entry| *entry < lowest);
            let entries = run.timeline[from..].iter().take_while(|entry| **entry <= highest);
            out.extend(entries.filter(|entry| entry.seq() <= self.ceiling).take(max));
        }
        let low = match after {
            Some(_) => Bound::Excluded(lowest.key()),
            None => Bound::Included(lowest.key()),
        };
        let range = (low, Bound::Included(highest.key()));
        let mut left = max;
        for entry in self.inner.tables.timeline.range(&self.txn, &range)? {
            let entry = timeline_entry(entry?)?;
            if entry.seq() <= self.ceiling {
                if left == 0 {
                    break;
                }
                left -= 1;
                out.push(entry);
            }
        }
        out[start..].sort_unstable();
        dedup_after(start, out);
        out.truncate(start + max);
        Ok(())
    }

    /// Appends whole seconds before `time`, at least as far as `max` entries reach in each
    /// source. Gives the second at which it stopped, which is not appended: it may have more
    /// entries than were looked at.
    fn seconds_before(
        &self,
        time: Timestamp,
        oldest: Timestamp,
        max: usize,
        out: &mut Vec<TimelineEntry>,
    ) -> Result<Option<Timestamp>, ReadError> {
        let none = EventId([0; 32]);
        let below = TimelineEntry::new(time, &none, Seq::ZERO);
        let least = TimelineEntry::new(oldest, &none, Seq::ZERO);
        let start = out.len();
        let mut cut: Option<Timestamp> = None;
        for run in &self.head.runs {
            let to = run.timeline.partition_point(|entry| *entry < below);
            let entries = run.timeline[..to].iter().rev().take_while(|entry| **entry >= least);
            let mut entries = entries.filter(|entry| entry.seq() <= self.ceiling);
            out.extend(entries.by_ref().take(max));
            cut = cut.max(entries.next().map(|entry| entry.time()));
        }
        let range = (Bound::Included(least.key()), Bound::Excluded(below.key()));
        let mut left = max;
        for entry in self.inner.tables.timeline.rev_range(&self.txn, &range)? {
            let entry = timeline_entry(entry?)?;
            if entry.seq() > self.ceiling {
                continue;
            }
            if left == 0 {
                cut = cut.max(Some(entry.time()));
                break;
            }
            left -= 1;
            out.push(entry);
        }
        sort_newest_first(&mut out[start..]);
        dedup_after(start, out);
        if let Some(cut) = cut {
            let whole = out[start..].partition_point(|entry| entry.time() > cut);
            out.truncate(start + whole);
        }
        Ok(cut)
    }
}

/// Takes the greatest key of all runs, with its doubles, unless `other` is greater.
fn greatest(runs: &mut [&[IndexKey]], other: Option<IndexKey>) -> Option<IndexKey> {
    let key = runs.iter().filter_map(|run| run.last()).max().copied()?;
    if other.is_some_and(|other| other > key) {
        return None;
    }
    for run in runs {
        if let Some((last, rest)) = run.split_last()
            && *last == key
        {
            *run = rest;
        }
    }
    Some(key)
}

fn index_key(bytes: &[u8]) -> Result<IndexKey, ReadError> {
    IndexKey::from_bytes(bytes).ok_or(ReadError::DamagedEntry("index"))
}

pub(crate) fn timeline_entry((key, value): (&[u8], &[u8])) -> Result<TimelineEntry, ReadError> {
    TimelineEntry::from_parts(key, value).ok_or(ReadError::DamagedEntry("timeline"))
}

fn sort_newest_first(entries: &mut [TimelineEntry]) {
    entries.sort_unstable_by(|a, b| b.time().cmp(&a.time()).then_with(|| a.cmp(b)));
}

fn dedup_after<T: Copy + PartialEq>(start: usize, entries: &mut Vec<T>) {
    let mut kept = start;
    for at in start..entries.len() {
        if at == start || entries[at] != entries[kept - 1] {
            entries[kept] = entries[at];
            kept += 1;
        }
    }
    entries.truncate(kept);
}
