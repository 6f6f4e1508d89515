//! The head: an index in memory of the part of the log that LMDB's indexes do not cover yet.
//!
//! A [`Head`] never changes once it is published. The admitter adds to it, the committer takes
//! away from it, each by publishing a new one through [`HeadCell`]; a reader takes one pointer and
//! has a consistent view.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use zeolite_proto::{EventRef, Seq};

use crate::batch::Batch;
use crate::limits::RUN_KEYS_MAX;
use crate::run::Run;
use crate::sums::{Change, Sums};
use crate::vanish::Vanish;

/// Everything that is admitted and not yet in LMDB's indexes, as of one moment.
#[derive(Clone, Default)]
pub(crate) struct Head {
    /// Oldest first; each covers the seqs above those of the one before it.
    pub(crate) runs: Vec<Arc<Run>>,
    /// How many of the oldest runs are being written to LMDB and must stay as they are.
    pub(crate) draining: usize,
    /// Batches that are not in LMDB's log yet, oldest first.
    pub(crate) uncommitted: Vec<Arc<Batch>>,
    /// Requests to vanish on whose behalf events are still to be removed. Such events are dead
    /// already.
    pub(crate) vanishing: Arc<[Vanish]>,
    /// The tallies of everything that is admitted and not removed.
    pub(crate) sums: Arc<Sums>,
    /// The highest seq that was admitted.
    pub(crate) last_seq: Seq,
}

/// What the head knows of a seq.
pub(crate) enum InHead<'a> {
    /// The event was removed.
    Dead,
    /// The event is admitted and not committed.
    Event(EventRef<'a>),
    /// If it exists, it is in LMDB's log.
    Unknown,
}

impl Head {
    /// Whether a batch that is not committed yet removes this event.
    pub(crate) fn removes(&self, seq: Seq) -> bool {
        self.uncommitted.iter().any(|batch| batch.removes(seq))
    }

    pub(crate) fn find(&self, seq: Seq) -> InHead<'_> {
        if self.removes(seq) {
            return InHead::Dead;
        }
        let at = self.uncommitted.partition_point(|batch| batch.last_seq < seq);
        match self.uncommitted.get(at).and_then(|batch| batch.event(seq)) {
            Some(event) => InHead::Event(event.view()),
            None => InHead::Unknown,
        }
    }

    /// Events whose keys the head holds, dead ones included.
    pub(crate) fn events(&self) -> usize {
        self.runs.iter().map(|run| run.events).sum()
    }

    /// Bytes of keys the head holds.
    pub(crate) fn bytes(&self) -> usize {
        self.runs.iter().map(|run| run.bytes()).sum()
    }

    fn uncommitted_changes_reversed(&self) -> Vec<Change> {
        let changes = self.uncommitted.iter().flat_map(|batch| &batch.sum_changes);
        let mut changes: Vec<_> = changes.copied().map(Change::reversed).collect();
        changes.sort_by(|a, b| a.key().cmp(b.key()));
        changes
    }

    /// Takes back everything above `durable`: what a failed commit leaves behind.
    pub(crate) fn roll_back(&mut self, durable: Seq, vanishing: Arc<[Vanish]>) {
        self.sums = Arc::new(self.sums.changed_roughly(&self.uncommitted_changes_reversed()));
        self.uncommitted.clear();
        self.draining = 0;
        self.vanishing = vanishing;
        self.last_seq = durable;
        for run in &mut self.runs {
            if run.last_seq > durable {
                *run = Arc::new(run.up_to(durable));
            }
        }
    }
}

/// The one place where the current head is found.
pub(crate) struct HeadCell {
    current: ArcSwap<Head>,
    writers: Mutex<()>,
}

impl HeadCell {
    pub(crate) fn new(head: Head) -> Self {
        Self { current: ArcSwap::from_pointee(head), writers: Mutex::new(()) }
    }

    pub(crate) fn load(&self) -> Arc<Head> {
        self.current.load_full()
    }

    /// The current head, and what `look` gives while no other can be published.
    pub(crate) fn load_with<T>(&self, look: impl FnOnce() -> T) -> (Arc<Head>, T) {
        let _turn = self.writers.lock();
        (self.load(), look())
    }

    /// Publishes a changed head. Both writers come here, so changes must be quick.
    pub(crate) fn update<T>(&self, change: impl FnOnce(&mut Head) -> T) -> T {
        let _turn = self.writers.lock();
        let mut head = Head::clone(&self.current.load());
        let result = change(&mut head);
        self.current.store(Arc::new(head));
        result
    }
}

/// A new run merged with as many of the newest runs as keeps their number logarithmic: what a
/// writer prepares before it publishes.
pub(crate) struct MergedRun {
    run: Arc<Run>,
    /// The runs it replaces, oldest first.
    replaces: Vec<Arc<Run>>,
    /// The new run by itself, in case those it was merged with are being drained by then.
    alone: Arc<Run>,
}

impl MergedRun {
    /// Merges `run` with the newest runs while they are less than twice its size.
    pub(crate) fn prepare(head: &Head, run: Run) -> Self {
        let alone = Arc::new(run);
        let mut merged = Arc::clone(&alone);
        let mut replaces = Vec::new();
        for older in head.runs[head.draining..].iter().rev() {
            let keys = older.keys() + merged.keys();
            if older.keys() >= 2 * merged.keys() || keys > RUN_KEYS_MAX {
                break;
            }
            merged = Arc::new(Run::merge(older, &merged));
            replaces.insert(0, Arc::clone(older));
        }
        Self { run: merged, replaces, alone }
    }

    /// Puts the run into the head.
    pub(crate) fn publish(self, head: &mut Head) {
        // The committer may have begun to drain some of them meanwhile, or be done with it.
        let mergeable = &head.runs[head.draining..];
        let kept = mergeable.len().checked_sub(self.replaces.len());
        let are_there = kept.is_some_and(|kept| {
            std::iter::zip(&mergeable[kept..], &self.replaces).all(|(a, b)| Arc::ptr_eq(a, b))
        });
        if are_there {
            let kept = head.runs.len() - self.replaces.len();
            head.runs.truncate(kept);
            head.runs.push(self.run);
        } else {
            head.runs.push(self.alone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::IndexKey;
    use zeolite_proto::EventId;

    /// A run of one event with this seq.
    fn run(seq: u64) -> Run {
        let key = IndexKey::of_id(&EventId([seq as u8; 32]), Seq(seq));
        Run::from_sorted(vec![key], Vec::new(), Seq(seq))
    }

    fn seqs(head: &Head) -> Vec<u64> {
        let mut seqs: Vec<_> =
            head.runs.iter().flat_map(|run| &run.index).map(|key| key.seq().0).collect();
        seqs.sort_unstable();
        seqs
    }

    /// Runs stay few, in seq order, and lose nothing.
    #[test]
    fn runs_are_merged_geometrically() {
        let mut head = Head::default();
        for seq in 1..=200 {
            MergedRun::prepare(&head, run(seq)).publish(&mut head);
            assert!(head.runs.len() <= 8, "{} runs of {seq} events", head.runs.len());
            assert!(head.runs.is_sorted_by_key(|run| run.last_seq));
        }
        assert_eq!(seqs(&head), (1..=200).collect::<Vec<_>>());
    }

    /// What is being drained stays as it is, also if the drain begins, or ends, between the two
    /// steps of a merge.
    #[test]
    fn draining_runs_are_not_merged() {
        for (drained_before, drained_between) in [(1, 1), (0, 1), (0, 3)] {
            let mut head = Head::default();
            for seq in 1..=3 {
                head.runs.push(Arc::new(run(seq)));
            }
            head.draining = drained_before;
            let merged = MergedRun::prepare(&head, run(4));
            head.draining = drained_between;
            merged.publish(&mut head);
            let frozen = head.runs[..drained_between].iter().map(|run| run.index.len());
            assert!(frozen.eq(std::iter::repeat_n(1, drained_between)), "untouched");
            assert_eq!(seqs(&head), [1, 2, 3, 4]);
        }
        let mut head = Head { runs: vec![Arc::new(run(1))], ..Head::default() };
        let merged = MergedRun::prepare(&head, run(2));
        head.runs.clear();
        merged.publish(&mut head);
        assert_eq!(seqs(&head), [2], "the first one is on disk by then");
    }

    /// A failed commit takes back exactly what lies above the durable seq.
    #[test]
    fn rolling_back_cuts_runs() {
        let mut head = Head::default();
        for seq in 1..=9 {
            MergedRun::prepare(&head, run(seq)).publish(&mut head);
        }
        head.roll_back(Seq(6), Arc::default());
        assert_eq!(seqs(&head), [1, 2, 3, 4, 5, 6]);
        assert_eq!(head.last_seq, Seq(6));
    }
}
