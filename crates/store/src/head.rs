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
    pub(crate) fn find(&self, seq: Seq) -> InHead<'_> {
        if self.uncommitted.iter().any(|batch| batch.removes(seq)) {
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

    /// Takes back everything above `durable`: what a failed commit leaves behind.
    pub(crate) fn roll_back(&mut self, durable: Seq, vanishing: Arc<[Vanish]>) {
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
        let kept = head.runs.len().saturating_sub(self.replaces.len());
        let is_current = kept >= head.draining
            && std::iter::zip(&head.runs[kept..], &self.replaces).all(|(a, b)| Arc::ptr_eq(a, b));
        if is_current && !self.replaces.is_empty() {
            head.runs.truncate(kept);
            head.runs.push(self.run);
        } else {
            head.runs.push(self.alone);
        }
    }
}
