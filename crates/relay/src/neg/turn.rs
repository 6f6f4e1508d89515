//! A client's message, and its answer.

use std::sync::Arc;
use std::time::Instant;

use zeolite_proto::{Prefix, Reason, RelayMsg, Timestamp};
use zeolite_reconcile::{Body, Ranges, RespondError, respond};
use zeolite_session::NegKey;
use zeolite_store::{BuildState, ReadError, ReconcileSet, SetOptions, SliceBudget};

use super::memory::Holding;
use super::reconciliation::{Held, Reconciliation};
use crate::frames;
use crate::query::{Desk, Step};

/// One message of a reconciliation, to be answered after those before it.
pub struct Turn {
    reconciliation: Arc<Reconciliation>,
    message: Vec<u8>,
}

/// Why a reconciliation ends.
enum Failure {
    /// The client's message is malformed.
    Invalid(String),
    /// The set has more items than one may have.
    TooMany,
    /// The memory for sets is used up.
    NoMemory,
    /// The store cannot tell what is visible, for now.
    Unsettled,
    /// The store could not be read.
    Store(ReadError),
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Unsettled => Self::Unsettled,
            error => Self::Store(error),
        }
    }
}

impl<E: Into<Self>> From<RespondError<E>> for Failure {
    fn from(error: RespondError<E>) -> Self {
        match error {
            RespondError::Message(error) => Self::Invalid(error.to_string()),
            RespondError::Set(error) => error.into(),
        }
    }
}

impl From<std::convert::Infallible> for Failure {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

impl Turn {
    /// A message that has just come.
    pub(crate) fn new(reconciliation: Arc<Reconciliation>, message: Vec<u8>) -> Self {
        reconciliation.heard();
        Self { reconciliation, message }
    }

    /// The reconciliation it belongs to.
    pub fn key(&self) -> NegKey {
        self.reconciliation.key
    }

    /// Builds the set for a slice of time, or answers.
    pub(crate) fn run(&mut self, desk: &mut Desk, now: Timestamp) -> Step {
        let reconciliation = &self.reconciliation;
        if !reconciliation.is_active() {
            return Step::Done(None);
        }
        if !reconciliation.conn.outbox.has_results_room() {
            return Step::Parked;
        }
        // Only this connection's lane locks it for long, and a lane runs one job at a time.
        let mut held = reconciliation.held.lock();
        let outcome = self.advance(&mut held, desk, now);
        if !reconciliation.is_active() {
            *held = Held::Nothing;
        }
        drop(held);
        match outcome {
            Ok(None) => return Step::More,
            Ok(Some(answer)) => self.send(&answer, desk),
            Err(failure) => self.fail(failure),
        }
        reconciliation.answered();
        Step::Done(None)
    }

    /// The answer, once the set is there.
    fn advance(
        &self,
        held: &mut Held,
        desk: &Desk,
        now: Timestamp,
    ) -> Result<Option<Vec<u8>>, Failure> {
        if matches!(held, Held::Nothing) {
            *held = self.find_set(desk)?;
        }
        if let Held::Building(..) = held
            && !self.build(held, desk, now)?
        {
            return Ok(None);
        }
        let start = Instant::now();
        let frame = self.reconciliation.all.bounds.frame;
        let answer = match held {
            Held::Live(set) => respond(&set.view(now)?, &self.message, frame)?,
            Held::Built { set, .. } => respond(set, &self.message, frame)?,
            Held::Nothing | Held::Building(..) => unreachable!("there is a set by here"),
        };
        let metrics = &self.reconciliation.all.metrics;
        metrics.reconcile_seconds.record(start.elapsed().as_secs_f64());
        Ok(Some(answer))
    }

    fn find_set(&self, desk: &Desk) -> Result<Held, Failure> {
        let all = &self.reconciliation.all;
        let reader = self.reconciliation.conn.login.reader();
        let options = SetOptions { reader: &reader, items_max: all.bounds.items_max };
        Ok(match desk.store.reconcile_set(&self.reconciliation.filter, options)? {
            ReconcileSet::Live(set) => Held::Live(set),
            ReconcileSet::Build(build) => {
                Held::Building(Box::new(build), Holding::new(all.purse()))
            }
        })
    }

    /// Goes on building; true once the set is there.
    fn build(&self, held: &mut Held, desk: &Desk, now: Timestamp) -> Result<bool, Failure> {
        let Held::Building(build, holding) = held else { return Ok(true) };
        let budget = SliceBudget { events_max: usize::MAX, ..desk.budget };
        match build.slice(now, budget)? {
            BuildState::More => {
                self.hold(holding, build.memory_bytes())?;
                Ok(false)
            }
            BuildState::TooMany => Err(Failure::TooMany),
            BuildState::Done(set) => {
                self.hold(holding, set.memory_bytes())?;
                let purse = self.reconciliation.all.purse();
                let memory = std::mem::replace(holding, Holding::new(purse));
                *held = Held::Built { set, _memory: memory };
                Ok(true)
            }
        }
    }

    fn hold(&self, holding: &mut Holding, bytes: usize) -> Result<(), Failure> {
        let Reconciliation { all, conn, key, .. } = &*self.reconciliation;
        if !all.is_fair(conn.id, *key, bytes) || !holding.set(bytes) {
            return Err(Failure::NoMemory);
        }
        self.reconciliation.note_set_bytes(bytes);
        Ok(())
    }

    fn send(&self, answer: &[u8], desk: &mut Desk) {
        let metrics = &self.reconciliation.all.metrics;
        metrics.reconcile_items.increment(items_listed(answer));
        let message = RelayMsg::NegMsg(&self.reconciliation.sub, answer);
        frames::push_text(&mut desk.frames, |out| message.encode(out));
        let _room_is_asked_for_before_the_next = self.reconciliation.send(&mut desk.frames);
        desk.frames.clear();
    }

    fn fail(&self, failure: Failure) {
        let all = &self.reconciliation.all;
        let errors = &all.metrics.neg_errors;
        let (counter, reason, items_max) = match failure {
            Failure::Invalid(text) => (&errors.invalid, Reason::invalid(text), None),
            Failure::TooMany => {
                let items_max = all.bounds.items_max;
                let text = format!("more than {items_max} events match");
                (&errors.too_many, Reason::blocked(text), Some(items_max as u64))
            }
            Failure::NoMemory => {
                let text = "no memory for this set at the moment";
                (&errors.memory, Reason::new(Prefix::Closed, text), None)
            }
            Failure::Unsettled => {
                let text = "many events are being removed at the moment";
                (&errors.unsettled, Reason::new(Prefix::Closed, text), None)
            }
            Failure::Store(error) => {
                tracing::error!(%error, "reconciliation failed");
                (&errors.failed, Reason::error("the store could not be read"), None)
            }
        };
        counter.increment(1);
        self.reconciliation.end_with(reason, items_max);
    }
}

/// Ids in the lists of a message of ours.
fn items_listed(answer: &[u8]) -> u64 {
    let ranges = Ranges::new(answer).expect("what we write can be read");
    let ids = |body| if let Body::Ids(ids) = body { ids.len() as u64 } else { 0 };
    ranges.map(|range| ids(range.body)).sum()
}
