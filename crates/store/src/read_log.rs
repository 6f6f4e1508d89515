//! Replay: events in the order in which they were admitted.

use std::ops::Bound;

use zeolite_proto::{EventRef, Seq};

use crate::env::{seq_key, seq_of_key};
use crate::error::ReadError;
use crate::slice::{Meter, SliceBudget};
use crate::snapshot::Snapshot;
use crate::store::Store;

impl Store {
    /// Gives every event with `after < seq <= through` that is still stored, in seq order, until
    /// the budget is used up or the sink returns false. Returns the seq up to which everything
    /// was looked at: the next call's `after`. When nothing is left that is `through`, or the
    /// newest seq there is.
    pub fn read_log(
        &self,
        after: Seq,
        through: Seq,
        budget: SliceBudget,
        sink: &mut dyn FnMut(Seq, EventRef<'_>) -> bool,
    ) -> Result<Seq, ReadError> {
        let snapshot = self.snapshot()?;
        let through = through.min(snapshot.ceiling());
        let mut meter = Meter::start(budget);
        let mut reached = after;
        let mut give = |seq: Seq, event: EventRef<'_>| {
            meter.count_event();
            reached = seq;
            sink(seq, event) && !meter.is_over()
        };
        let is_through = snapshot.replay_committed(after, through, &mut give)?
            && snapshot.replay_uncommitted(after, through, &mut give);
        Ok(if is_through { through.max(after) } else { reached })
    }
}

type Give<'a> = dyn FnMut(Seq, EventRef<'_>) -> bool + 'a;

impl Snapshot<'_> {
    /// Events of the log that the head does not hold. False if `give` stopped it.
    fn replay_committed(
        &self,
        after: Seq,
        through: Seq,
        give: &mut Give<'_>,
    ) -> Result<bool, ReadError> {
        // What the head still holds is given from there, even if it was committed meanwhile.
        let uncommitted = self.head.uncommitted.iter().find_map(|batch| batch.events.first());
        let end = uncommitted.map_or(through, |(first, _)| through.min(Seq(first.0 - 1)));
        if after >= end {
            return Ok(true);
        }
        let (low, high) = (seq_key(after), seq_key(end));
        let range = (Bound::Excluded(&low[..]), Bound::Included(&high[..]));
        for entry in self.inner.tables.log.range(&self.txn, &range)? {
            let (key, record) = entry?;
            let seq = seq_of_key("log", key)?;
            let event =
                EventRef::new(record).map_err(|source| ReadError::Damaged { seq, source })?;
            if self.shows(seq, event) && !give(seq, event) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Events that only the head holds. False if `give` stopped it.
    fn replay_uncommitted(&self, after: Seq, through: Seq, give: &mut Give<'_>) -> bool {
        let events = self.head.uncommitted.iter().flat_map(|batch| batch.events.iter());
        let wanted = events.filter(|(seq, _)| *seq > after && *seq <= through);
        for (seq, event) in wanted {
            if self.shows(*seq, event.view()) && !give(*seq, event.view()) {
                return false;
            }
        }
        true
    }

    fn shows(&self, seq: Seq, event: EventRef<'_>) -> bool {
        !self.head.uncommitted.iter().any(|batch| batch.removes(seq)) && !self.is_wiped(event)
    }
}
