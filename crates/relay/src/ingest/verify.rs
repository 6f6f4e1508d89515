//! The verifiers: duplicates out, signatures checked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::Sender;
use zeolite_proto::{Event, Timestamp, Verified};
use zeolite_schnorr::Verifier;
use zeolite_store::{Snapshot, Store};

use super::answer::{Origin, Verdict};
use super::queue::{Queue, Slice, Submission};
use crate::clock;
use crate::inbox::AdmitterIn;

/// What a verifier found out about an event.
#[derive(Debug)]
pub(crate) enum Checked {
    /// The signature is right.
    Good(Verified<Event>),
    /// The store had it when the count of deletions was this.
    Known { deletions: u64 },
    /// To be refused.
    Refused(Verdict),
}

/// A slice of the queue, checked, with its place in the order.
#[derive(Debug)]
pub struct CheckedSlice {
    pub(crate) ticket: u64,
    pub(crate) events: Vec<(Origin, Checked)>,
}

/// Who takes checked slices.
#[derive(Clone)]
pub(crate) enum Next {
    /// The admitter, where there is no policy program.
    Admitter(Sender<AdmitterIn>),
    /// The thread that asks the policy program.
    Plugin(Sender<CheckedSlice>),
}

/// What all verifiers share.
pub(crate) struct Verifiers {
    pub(crate) queue: Arc<Queue>,
    pub(crate) store: Store,
    pub(crate) verifier: Verifier,
    /// Deletions admitted so far: a known event may be gone after one.
    pub(crate) deletions: AtomicU64,
}

impl Verifiers {
    /// Runs one verifier until the queue is closed and empty, or whoever comes next is gone.
    pub(crate) fn run(&self, next: &Next) {
        while let Some(slice) = self.queue.take() {
            let checked = self.check(slice);
            let is_gone = match next {
                Next::Admitter(admitter) => admitter.send(AdmitterIn::Checked(checked)).is_err(),
                Next::Plugin(plugin) => plugin.send(checked).is_err(),
            };
            if is_gone {
                return;
            }
        }
    }

    /// Duplicates are found before their signatures cost anything.
    fn check(&self, slice: Slice) -> CheckedSlice {
        let deletions = self.deletions.load(Ordering::Acquire);
        let mut events = Vec::with_capacity(slice.submissions.len());
        let mut unknown = Vec::with_capacity(slice.submissions.len());
        let snapshot = self.store.snapshot().ok();
        let now = clock::now();
        for Submission { origin, event } in slice.submissions {
            if is_known(snapshot.as_ref(), &event, now) {
                events.push((origin, Checked::Known { deletions }));
            } else if origin.is_trusted() {
                events.push((origin, Checked::Good(Verified::trusted(event))));
            } else {
                unknown.push(event);
                events.push((origin, Checked::Refused(Verdict::Forged)));
            }
        }
        drop(snapshot);
        let mut verdicts = Verified::check_all(unknown, &self.verifier).into_iter();
        for (_, checked) in &mut events {
            if let Checked::Refused(_) = checked
                && let Some(Ok(event)) = verdicts.next()
            {
                *checked = Checked::Good(event);
            }
        }
        CheckedSlice { ticket: slice.ticket, events }
    }
}

/// Ephemeral events are never stored, and an expired one is refused though it may still lie in the
/// store (R40-02). What cannot be looked up is verified and left to the admitter, which will fail
/// the same way.
fn is_known(snapshot: Option<&Snapshot<'_>>, event: &Event, now: Timestamp) -> bool {
    let view = event.view();
    let found = snapshot.map(|snapshot| snapshot.by_id(&view.id()));
    !view.kind().is_ephemeral() && !view.is_expired(now) && matches!(found, Some(Ok(Some(_))))
}
