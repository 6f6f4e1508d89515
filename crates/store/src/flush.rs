//! The flush: keys of the head on their way into LMDB's indexes, in sorted slices.

use std::sync::Arc;

use heed::types::Bytes;
use heed::{PutFlags, RwIter, RwTxn};
use rustc_hash::FxHashSet;
use zeolite_proto::{Kind, Seq};

use crate::env::{Table, Tables};
use crate::head::Head;
use crate::keys::KeyMaker;
use crate::options::Options;
use crate::run::Run;
use crate::sums::Change;

/// Some runs that are being written out, merged on the way.
pub(crate) struct Drain {
    runs: Vec<Arc<Run>>,
    /// For each run, how many of its index keys are written.
    index_at: Vec<usize>,
    /// For each run, how many of its timeline entries are written.
    timeline_at: Vec<usize>,
    keys_left: usize,
}

impl Drain {
    /// Takes the runs that only hold events up to `durable`, and freezes them in the head.
    pub(crate) fn begin(head: &mut Head, durable: Seq) -> Option<Self> {
        let count = head.runs.iter().take_while(|run| run.last_seq <= durable).count();
        if count == 0 {
            return None;
        }
        head.draining = count;
        let runs = head.runs[..count].to_vec();
        Some(Self {
            index_at: vec![0; count],
            timeline_at: vec![0; count],
            keys_left: runs.iter().map(|run| run.keys()).sum(),
            runs,
        })
    }

    /// How many runs of the head this is about: the oldest ones.
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The seq up to which everything is indexed once this is done.
    pub(crate) fn through(&self) -> Seq {
        self.runs.last().map_or(Seq::ZERO, |run| run.last_seq)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.keys_left == 0
    }

    pub(crate) fn keys_left(&self) -> usize {
        self.keys_left
    }

    /// What the sums of everything indexed gain by this: a few sorted parts.
    pub(crate) fn additions(
        &self,
        keys: &KeyMaker,
        gated_kinds: &[Kind],
        dead: &FxHashSet<Seq>,
    ) -> Vec<Change> {
        let events = self.runs.iter().map(|run| run.events).sum();
        let mut additions = Vec::with_capacity(events);
        for run in &self.runs {
            run.push_additions(keys, gated_kinds, |seq| dead.contains(&seq), &mut additions);
        }
        additions
    }

    /// Writes up to `keys_max` keys, in order, without those of `dead` events.
    pub(crate) fn write_slice(
        &mut self,
        tables: &Tables,
        txn: &mut RwTxn<'_>,
        keys_max: usize,
        dead: &FxHashSet<Seq>,
    ) -> Result<(), heed::Error> {
        let keys_max = keys_max.min(self.keys_left);
        let mut index = SortedPuts::begin(tables.index, txn)?;
        let mut taken = 0;
        while taken < keys_max
            && let Some(key) = take_least(&self.runs, &mut self.index_at, |run| &run.index)
        {
            taken += 1;
            if !dead.contains(&key.seq()) {
                index.put(&key.0, &[])?;
            }
        }
        drop(index);
        let mut timeline = SortedPuts::begin(tables.timeline, txn)?;
        while taken < keys_max
            && let Some(entry) = take_least(&self.runs, &mut self.timeline_at, |run| &run.timeline)
        {
            taken += 1;
            if !dead.contains(&entry.seq()) {
                timeline.put(entry.key(), entry.value())?;
            }
        }
        self.keys_left -= taken;
        Ok(())
    }
}

/// Puts through one cursor: the next key is mostly on the page of the one before, which saves the
/// way down the tree. About twice as fast as single puts.
struct SortedPuts<'t> {
    cursor: RwIter<'t, Bytes, Bytes>,
}

impl<'t> SortedPuts<'t> {
    fn begin(table: Table, txn: &'t mut RwTxn<'_>) -> Result<Self, heed::Error> {
        Ok(Self { cursor: table.iter_mut(txn)? })
    }

    #[allow(unsafe_code, reason = "heed has no safe way to put through a cursor")]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), heed::Error> {
        // SAFETY: neither key nor value may be borrowed from the table. They are not: this has the
        // only access to the transaction, and is never asked for an entry.
        unsafe { self.cursor.put_current_with_options::<Bytes>(PutFlags::empty(), key, value) }
    }
}

/// Takes the least element that is left in any run.
fn take_least<T: Copy + Ord>(
    runs: &[Arc<Run>],
    taken: &mut [usize],
    keys_of: impl Fn(&Run) -> &[T],
) -> Option<T> {
    let mut least: Option<(T, usize)> = None;
    for (at, run) in runs.iter().enumerate() {
        if let Some(key) = keys_of(run).get(taken[at])
            && least.is_none_or(|(found, _)| *key < found)
        {
            least = Some((*key, at));
        }
    }
    let (key, at) = least?;
    taken[at] += 1;
    Some(key)
}

/// True when the head is full enough for a flush to begin. A flush is the cheaper for each key
/// the more keys it has, so it waits until half of the room is used.
pub(crate) fn is_due(head: &Head, options: &Options) -> bool {
    head.events() * 2 >= options.head_events_max || head.bytes() * 2 >= options.head_bytes_max
}

/// How many keys to write beside `new_events`, so that the drain is done by the time half of the
/// room that is left in the head is used up. Without new events the least that is worth a commit;
/// everything once there is no room left.
pub(crate) fn slice_keys(
    keys_left: usize,
    new_events: usize,
    head: &Head,
    options: &Options,
) -> usize {
    let (events, bytes) = (head.events().max(1), head.bytes());
    let room_events = options.head_events_max.saturating_sub(events);
    let room_bytes = options.head_bytes_max.saturating_sub(bytes);
    let bytes_per_event = (bytes / events).max(1);
    let room = room_events.min(room_bytes / bytes_per_event) / 2;
    if room == 0 {
        return keys_left;
    }
    (keys_left * new_events / room).max(options.flush_keys_min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(events: usize) -> Head {
        let mut run = Run::from_sorted(Vec::new(), Vec::new(), Seq(1));
        run.events = events;
        Head { runs: vec![Arc::new(run)], ..Head::default() }
    }

    /// The fuller the head and the more arrives, the larger the slices; a full head is emptied.
    #[test]
    fn slices_grow_with_the_need() {
        let options = Options { head_events_max: 1_000, ..Options::default() };
        assert!(!is_due(&head(499), &options));
        assert!(is_due(&head(500), &options));
        for (events, new_events, expected) in [
            (500, 0, 2_048),
            (500, 1, 4_000),
            (500, 100, 400_000),
            (900, 1, 20_000),
            (1_000, 1, 1_000_000),
            (5_000, 0, 1_000_000),
        ] {
            let keys = slice_keys(1_000_000, new_events, &head(events), &options);
            assert_eq!(keys, expected, "{events} in the head, {new_events} new");
        }
    }
}
