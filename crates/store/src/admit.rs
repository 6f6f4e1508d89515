//! The admitter: decides, numbers, publishes.

use std::sync::Arc;

use zeolite_proto::{Event, EventRef, Seq, Timestamp, Verified};

use crate::Inner;
use crate::archive::ArchivePart;
use crate::batch::{Batch, PendingBatch};
use crate::draft::Draft;
use crate::env::WriterLock;
use crate::error::{OpenError, ReadError, WriteError};
use crate::head::MergedRun;
use crate::keys::IndexKey;
use crate::limits::EXPIRE_KEYS_PER_EVENT;
use crate::run::Run;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::sums::{Change, Sums};
use crate::vanish_job::VanishJobs;
use crate::version::{BarCause, Version};

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the store, under this seq.
    Stored(Seq),
    /// It was in the store already.
    Duplicate,
    /// A newer version of its address is or was stored.
    Superseded,
    /// Its author, or the recipient of a gift wrap, deleted it (NIP-09).
    Deleted,
    /// Its author, or the recipient of a gift wrap, vanished (NIP-62).
    Vanished,
    /// It expired before it arrived (NIP-40).
    Expired,
    /// The store has no room left but for deletions. This says nothing of the event.
    Full,
}

/// What a call of the admitter did.
pub struct Admitted {
    /// What became of each event, in the order they were given.
    pub outcomes: Vec<Outcome>,
    /// The events that are new in the store, in seq order: what the live feed carries. An event
    /// that the same call removed again is not among them (E-34).
    pub stored: Arc<[(Seq, Event)]>,
    /// How many stored events were removed.
    pub removed: usize,
    /// To be given to the committer, in order. Nothing of the above is durable before.
    pub pending: PendingBatch,
}

/// Decides which events are stored, gives them their seq and makes them visible.
pub struct Admitter {
    inner: Arc<Inner>,
    last_seq: Seq,
    next_number: u64,
    jobs: VanishJobs,
    /// Where the search for expired events goes on; `None` is its beginning. What was passed is
    /// removed, and what is passed again is only what is not purged yet.
    expired_through: Option<IndexKey>,
    _lock: Arc<WriterLock>,
}

impl Admitter {
    pub(crate) fn new(store: &Store, lock: Arc<WriterLock>) -> Result<Self, OpenError> {
        let inner = Arc::clone(&store.0);
        let head = inner.head.load();
        let mut jobs = VanishJobs::default();
        for vanish in head.vanishing.iter() {
            jobs.add(&inner.keys, *vanish);
        }
        Ok(Self {
            inner,
            last_seq: head.last_seq,
            next_number: 1,
            jobs,
            expired_through: None,
            _lock: lock,
        })
    }

    /// Decides about events, each as if it came alone, in the order given.
    ///
    /// `now` is what expirations are held against. Events of ephemeral kinds do not belong here.
    pub fn admit(
        &mut self,
        events: Vec<Verified<Event>>,
        now: Timestamp,
    ) -> Result<Admitted, WriteError> {
        self.run(|draft| events.into_iter().map(|event| draft.admit(event, now)).collect())
    }

    /// Removes events on the operator's behalf, for good: the archive does not get them. They may come
    /// back: no tombstone is left.
    pub fn remove(&mut self, seqs: &[Seq]) -> Result<Admitted, WriteError> {
        self.run(|draft| {
            for seq in seqs {
                if let Some(event) = draft.snapshot.get(*seq)? {
                    draft.remove(draft.stored(*seq, event), None);
                }
            }
            Ok(Vec::new())
        })
    }

    /// Takes events out of the archive on the operator's behalf.
    pub fn wipe_archive(&mut self, parts: &[ArchivePart]) -> Result<Admitted, WriteError> {
        self.run(|draft| {
            parts.iter().for_each(|part| draft.wipe_archive(*part));
            Ok(Vec::new())
        })
    }

    /// Removes up to `max` events whose time is over (NIP-40). To be called from time to time;
    /// it also goes on with the removals that requests to vanish ask for.
    pub fn expire(&mut self, now: Timestamp, max: usize) -> Result<Admitted, WriteError> {
        let mut through = self.expired_through;
        let admitted = self.run(|draft| {
            for (seq, event) in expired(draft.snapshot, &mut through, now, max)? {
                draft.remove(draft.stored(seq, event), None);
                if let Some(address) = event.address() {
                    draft.bar_address(&address, Version::of(event), BarCause::Expiry)?;
                }
            }
            Ok(Vec::new())
        })?;
        self.expired_through = through;
        Ok(admitted)
    }

    /// True while events are still to be removed on behalf of requests to vanish. Every call goes
    /// on with it.
    pub fn has_unfinished_removals(&self) -> bool {
        !self.jobs.is_empty()
    }

    fn run(
        &mut self,
        fill: impl FnOnce(&mut Draft<'_>) -> Result<Vec<Outcome>, ReadError>,
    ) -> Result<Admitted, WriteError> {
        let inner = Arc::clone(&self.inner);
        check_running(&inner)?;
        let snapshot = Snapshot::take(&inner)?;
        let mut draft = Draft::new(&snapshot, self.last_seq);
        let outcomes = fill(&mut draft)?;
        let mut jobs = self.jobs.clone();
        for vanish in &draft.new_vanishes {
            jobs.add(&inner.keys, *vanish);
        }
        jobs.work(&mut draft)?;
        let mut batch = draft.finish(self.next_number);
        let run = (!batch.events.is_empty()).then(|| {
            let events = batch.events.iter().map(|(seq, event)| (*seq, event.view()));
            Run::new(&inner.keys, events, batch.last_seq)
        });
        batch.sum_changes = sum_changes(&inner, &batch, run.as_ref());
        let sums = snapshot.sums_after(&batch.sum_changes)?;
        drop(snapshot);
        let batch = Arc::new(batch);
        self.publish(&batch, run, sums, &jobs)?;
        self.jobs = jobs;
        self.last_seq = batch.last_seq;
        self.next_number += 1;
        Ok(Admitted {
            outcomes,
            stored: Arc::clone(&batch.events),
            removed: batch.removed.len(),
            pending: PendingBatch(batch),
        })
    }

    fn publish(
        &self,
        batch: &Arc<Batch>,
        run: Option<Run>,
        sums: Arc<Sums>,
        jobs: &VanishJobs,
    ) -> Result<(), WriteError> {
        if batch.is_empty() {
            return Ok(());
        }
        let run = run.map(|run| MergedRun::prepare(&self.inner.head.load(), run));
        self.inner.head.update(|head| {
            // A failed commit takes back what is in the head under this same lock; nothing may
            // follow it.
            check_running(&self.inner)?;
            if let Some(run) = run {
                run.publish(head);
            }
            head.uncommitted.push(Arc::clone(batch));
            head.vanishing = jobs.unfinished().collect();
            head.sums = sums;
            head.last_seq = batch.last_seq;
            Ok(())
        })
    }
}

fn check_running(inner: &Inner) -> Result<(), WriteError> {
    match inner.stopped() {
        Some(reason) => Err(WriteError::Stopped(reason.into())),
        None => Ok(()),
    }
}

/// What the batch does to the sums.
fn sum_changes(inner: &Inner, batch: &Batch, run: Option<&Run>) -> Vec<Change> {
    let mut changes = Vec::with_capacity(batch.events.len() + batch.removed.len());
    if let Some(run) = run {
        run.push_additions(&inner.keys, &inner.options.gated_kinds, |_| false, &mut changes);
    }
    if !batch.removed.is_empty() {
        changes.extend(batch.removed.iter().map(|removed| Change::removal(removed.place)));
        changes.sort_by(|a, b| a.key().cmp(b.key()));
    }
    changes
}

/// Up to `max` stored events whose time is over, searched for behind `through`, which moves on
/// with the search and back to the beginning at its end.
fn expired<'s>(
    snapshot: &'s Snapshot<'_>,
    through: &mut Option<IndexKey>,
    now: Timestamp,
    max: usize,
) -> Result<Vec<(Seq, EventRef<'s>)>, ReadError> {
    let mut keys = Vec::new();
    let keys_max = max.saturating_mul(EXPIRE_KEYS_PER_EVENT);
    let prefix = snapshot.inner.keys.expires();
    let after = through.unwrap_or_else(|| prefix.bottom(Timestamp(0)));
    snapshot.index_above(&after, &prefix.above(now), keys_max, &mut keys)?;
    let is_end = keys.len() < keys_max;
    let mut expired = Vec::new();
    *through = None;
    for key in keys {
        if expired.len() == max {
            return Ok(expired);
        }
        *through = Some(key);
        if let Some(event) = snapshot.get(key.seq())?.filter(|event| event.is_expired(now)) {
            expired.push((key.seq(), event));
        }
    }
    if is_end {
        *through = None;
    }
    Ok(expired)
}
