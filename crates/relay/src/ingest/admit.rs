//! The admitter thread: gives events their place in the log, and hands them on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_channel::{Receiver, Sender};
use zeolite_policy::Moderation;
use zeolite_proto::{Event, EventId, Kind, Reason, Seq, Timestamp, Verified};
use zeolite_store::{Admitter, ArchivePart, PendingBatch, WriteError};

use super::answer::{Answer, Origin, Verdict};
use super::verify::{Checked, CheckedSlice, Verifiers};
use crate::clock;
use crate::fanout::EphemeralCount;
use crate::hub::FanoutSender;
use crate::inbox::{AdmitterIn, CommitterIn, FanoutIn};
use crate::limits::{ADMIT_EVENTS_MAX, EXPIRE_EVENTS_MAX};
use crate::policy_cell::PolicyCell;

/// What the admitter thread owns.
pub(crate) struct AdmitterThread {
    pub(crate) admitter: Admitter,
    pub(crate) policy: Arc<PolicyCell>,
    pub(crate) verifiers: Arc<Verifiers>,
    pub(crate) fanout: FanoutSender,
    pub(crate) ephemerals: EphemeralCount,
    pub(crate) committer: Sender<CommitterIn>,
}

/// What is admitted at once.
#[derive(Default)]
struct Batch {
    /// Whom to answer what; `None` for the next of `events`.
    origins: Vec<(Origin, Option<Verdict>)>,
    events: Vec<Verified<Event>>,
    /// Which of `origins` were known, under which id, after how many deletions.
    known: Vec<(usize, EventId, u64)>,
    ephemeral: Vec<Event>,
}

impl AdmitterThread {
    /// Runs until every verifier is gone.
    pub(crate) fn run(mut self, inbox: &Receiver<AdmitterIn>) {
        let mut waiting = Waiting::default();
        while let Ok(message) = inbox.recv() {
            self.take(message, &mut waiting);
            loop {
                let batch = self.gather(&mut waiting, inbox);
                if !batch.origins.is_empty() {
                    self.admit(batch);
                } else if !(self.admitter.has_unfinished_removals() && self.expire(clock::now())) {
                    break;
                }
            }
        }
    }

    fn take(&mut self, message: AdmitterIn, waiting: &mut Waiting) {
        match message {
            AdmitterIn::Checked(slice) => waiting.put(slice),
            AdmitterIn::Expire(now) => _ = self.expire(now),
            AdmitterIn::Remove(seqs) => self.remove(&seqs, None),
            AdmitterIn::Retire { seqs, done } => self.remove(&seqs, Some(done)),
            AdmitterIn::WipeArchive { parts, done } => self.wipe_archive(&parts, done),
            AdmitterIn::Own { events, done } => self.admit_own(events, done),
        }
    }

    /// What is there and in order, up to the size of a batch.
    fn gather(&mut self, waiting: &mut Waiting, inbox: &Receiver<AdmitterIn>) -> Batch {
        let mut batch = Batch::default();
        let moderation = Arc::clone(&self.policy.current().moderation);
        while batch.origins.len() < ADMIT_EVENTS_MAX {
            if let Some(slice) = waiting.next() {
                batch.add(slice, &moderation);
            } else if let Ok(message) = inbox.try_recv() {
                self.take(message, waiting);
            } else {
                break;
            }
        }
        batch
    }

    fn admit(&mut self, mut batch: Batch) {
        for event in std::mem::take(&mut batch.ephemeral) {
            let number = self.ephemerals.count_one();
            let _stopping = self.fanout.blocking_send(FanoutIn::Ephemeral { number, event });
        }
        let (pending, verdicts) = self.admit_stored(std::mem::take(&mut batch.events));
        self.recheck_known(&mut batch);
        self.commit(pending, batch.origins, verdicts);
    }

    fn admit_stored(
        &mut self,
        events: Vec<Verified<Event>>,
    ) -> (Option<PendingBatch>, Vec<Verdict>) {
        let count = events.len();
        if count == 0 {
            return (None, Vec::new());
        }
        let deletes = events.iter().any(|event| deletes(event));
        let admitted = match self.admitter.admit(events, clock::now()) {
            Ok(admitted) => admitted,
            Err(error) => {
                tracing::error!(%error, events = count, "events were not admitted");
                return (None, vec![Verdict::Failed; count]);
            }
        };
        if deletes {
            // After the admission: whoever reads the new count sees the deletion as well.
            self.verifiers.deletions.fetch_add(1, Ordering::AcqRel);
        }
        if !admitted.stored.is_empty() {
            let _stopping = self.fanout.blocking_send(FanoutIn::Admitted(admitted.stored));
        }
        (Some(admitted.pending), admitted.outcomes.iter().map(Verdict::from).collect())
    }

    /// Nobody waits for an `OK` to these: who sent them is told by `done`, or by its end.
    fn admit_own(&mut self, events: Vec<Verified<Event>>, done: Sender<()>) {
        let (pending, verdicts) = self.admit_stored(events);
        let is_stored = |verdict: &Verdict| matches!(verdict, Verdict::Stored | Verdict::Duplicate);
        let refused = verdicts.iter().find(|verdict| !is_stored(verdict));
        if let Some(verdict) = refused {
            tracing::error!(?verdict, "the relay's own events were not all stored");
        }
        let done = refused.is_none().then_some(done);
        let _stopping = self.committer.send(CommitterIn { pending, answers: Vec::new(), done });
    }

    /// A duplicate that was deleted after the verifier saw it is not one.
    fn recheck_known(&self, batch: &mut Batch) {
        let deletions = self.verifiers.deletions.load(Ordering::Acquire);
        for (at, id, seen_deletions) in std::mem::take(&mut batch.known) {
            let stale = seen_deletions != deletions;
            if stale && !self.verifiers.store.contains(&id).unwrap_or(true) {
                batch.origins[at].1 = Some(Verdict::Deleted);
            }
        }
    }

    fn commit(
        &self,
        pending: Option<PendingBatch>,
        origins: Vec<(Origin, Option<Verdict>)>,
        verdicts: Vec<Verdict>,
    ) {
        let mut verdicts = verdicts.into_iter();
        let answers = origins
            .into_iter()
            .map(|(origin, known)| {
                let verdict = known.or_else(|| verdicts.next());
                let verdict = verdict.expect("admission gives one outcome for each event");
                Answer { origin, verdict }
            })
            .collect();
        let _stopping = self.committer.send(CommitterIn { pending, answers, done: None });
    }

    /// Removes events on the operator's behalf; `done` is told when they are gone from the disk.
    fn remove(&mut self, seqs: &[Seq], done: Option<Sender<()>>) {
        match self.admitter.remove(seqs) {
            Ok(admitted) => {
                // A known event may be gone, as after a deletion.
                self.verifiers.deletions.fetch_add(1, Ordering::AcqRel);
                let pending = Some(admitted.pending);
                let _stopping =
                    self.committer.send(CommitterIn { pending, answers: Vec::new(), done });
            }
            Err(error) => tracing::error!(%error, "events were not removed"),
        }
    }

    /// What is stored and known does not change by it.
    fn wipe_archive(&mut self, parts: &[ArchivePart], done: Option<Sender<()>>) {
        match self.admitter.wipe_archive(parts) {
            Ok(admitted) => {
                let pending = Some(admitted.pending);
                let _stopping =
                    self.committer.send(CommitterIn { pending, answers: Vec::new(), done });
            }
            Err(error) => tracing::error!(%error, "the archive was not wiped"),
        }
    }

    /// Removes what is over; requests to vanish that are still being carried out go on with it.
    /// False if the store takes no changes.
    fn expire(&mut self, now: Timestamp) -> bool {
        match self.admitter.expire(now, EXPIRE_EVENTS_MAX) {
            Ok(admitted) => {
                self.commit(Some(admitted.pending), Vec::new(), Vec::new());
                true
            }
            Err(WriteError::Stopped(_)) => false,
            Err(error) => {
                tracing::error!(%error, "expired events were not removed");
                false
            }
        }
    }
}

fn deletes(event: &Event) -> bool {
    matches!(event.view().kind(), Kind::DELETION | Kind::VANISH)
}

impl Batch {
    /// Bans act at once: what was on its way when one was spoken is refused here.
    fn add(&mut self, slice: CheckedSlice, moderation: &Moderation) {
        for (origin, checked) in slice.events {
            let verdict = match checked {
                Checked::Refused(verdict) => Some(verdict),
                Checked::Known { deletions } => {
                    self.known.push((self.origins.len(), origin.id, deletions));
                    Some(Verdict::Duplicate)
                }
                Checked::Good(event) if is_banned(&event, moderation) => {
                    Some(Verdict::Unwanted(Reason::blocked("banned here")))
                }
                Checked::Good(event) if event.view().kind().is_ephemeral() => {
                    self.ephemeral.push(event.into_inner());
                    Some(Verdict::Ephemeral)
                }
                Checked::Good(event) => {
                    self.events.push(event);
                    None
                }
            };
            self.origins.push((origin, verdict));
        }
    }
}

/// Gift wraps have throw-away authors, and requests to vanish are always taken.
fn is_banned(event: &Event, moderation: &Moderation) -> bool {
    let view = event.view();
    let has_author =
        !matches!(view.kind(), Kind::VANISH | Kind::GIFT_WRAP | Kind::EPHEMERAL_GIFT_WRAP);
    moderation.is_event_banned(&view.id())
        || (has_author && moderation.is_pubkey_banned(&view.pubkey()))
}

/// Slices that wait for an earlier one: at most one for each other verifier, and what they finish
/// meanwhile, which the ingest queue bounds.
#[derive(Default)]
struct Waiting {
    next_ticket: u64,
    slices: BTreeMap<u64, CheckedSlice>,
}

impl Waiting {
    fn put(&mut self, slice: CheckedSlice) {
        self.slices.insert(slice.ticket, slice);
    }

    fn next(&mut self) -> Option<CheckedSlice> {
        let slice = self.slices.remove(&self.next_ticket)?;
        self.next_ticket += 1;
        Some(slice)
    }
}
