//! The local side of a mirror: what a worker needs of a store.

use std::future::Future;

use tokio::sync::mpsc;
use zeolite_proto::{Event, EventId, Filter, Timestamp};
use zeolite_reconcile::{Initiator, Item, Set, Step, StepError};

use crate::machine::{ReconcileFault, Verdict};

/// A store that events go into and come from.
///
/// What is named blocking is called on a thread that may wait.
pub trait Local: Send + Sync + 'static {
    /// What [`Local::set`] gives.
    type Set: LocalSet;

    /// The time of day.
    fn now(&self) -> Timestamp;

    /// Hands events over, in order, and waits while there is no room for them. What it gives ends
    /// when all of them are decided and durable: one verdict for each event, in their order.
    ///
    /// `is_trusted` means that signatures need no check.
    fn submit(
        &self,
        events: Vec<Event>,
        is_trusted: bool,
    ) -> impl Future<Output = impl Future<Output = Vec<Verdict>> + Send + 'static> + Send;

    /// Looks for the events with these ids, in this order, until the records found have `bytes_max`
    /// bytes: what it gives is shorter than `ids` then. Blocking.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    fn fetch(&self, ids: &[EventId], bytes_max: usize) -> Result<Vec<Option<Event>>, LocalError>;

    /// The set of what this filter matches. Blocking.
    ///
    /// # Errors
    ///
    /// If there is none, or it would be too large.
    fn set(&self, filter: &Filter) -> Result<Self::Set, ReconcileFault>;

    /// Gives events that are taken in from now on and match the filter, until the receiver is gone.
    /// A receiver that is slow is waited for; it misses nothing.
    fn follow(&self, filter: Filter, followed: mpsc::Sender<Vec<Event>>);
}

/// The local side failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LocalError(pub String);

/// A set that sessions of reconciliation are over. Every call may see a later state of it. All of
/// them block.
pub trait LocalSet: Send + 'static {
    /// Begins a session.
    ///
    /// # Errors
    ///
    /// If the set cannot be read.
    fn start(&mut self, initiator: &mut Initiator) -> Result<Vec<u8>, ReconcileFault>;

    /// Goes on with it.
    ///
    /// # Errors
    ///
    /// If the answer is malformed, or the set cannot be read.
    fn step(&mut self, initiator: &mut Initiator, answer: &[u8]) -> Result<Step, ReconcileFault>;

    /// Shows every item, in order.
    ///
    /// # Errors
    ///
    /// If the set cannot be read.
    fn for_each(&mut self, visit: &mut dyn FnMut(&Item)) -> Result<(), ReconcileFault>;
}

/// [`LocalSet::start`] over a set as of one moment.
///
/// # Errors
///
/// If the set cannot be read.
pub fn start_on<S: Set>(set: &S, initiator: &mut Initiator) -> Result<Vec<u8>, ReconcileFault>
where
    S::Error: std::fmt::Display,
{
    initiator.start(set).map_err(|error| ReconcileFault::Failed(error.to_string()))
}

/// [`LocalSet::step`] over a set as of one moment.
///
/// # Errors
///
/// If the answer is malformed, or the set cannot be read.
pub fn step_on<S: Set>(
    set: &S,
    initiator: &mut Initiator,
    answer: &[u8],
) -> Result<Step, ReconcileFault>
where
    S::Error: std::fmt::Display,
{
    initiator.step(set, answer).map_err(|error| match error {
        StepError::Set(error) => ReconcileFault::Failed(error.to_string()),
        malformed => ReconcileFault::Malformed(malformed.to_string()),
    })
}
