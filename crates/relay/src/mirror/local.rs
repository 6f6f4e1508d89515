//! The store as the local side of a mirror, by the one ingest road.

use std::sync::Arc;

use tokio::sync::mpsc;
use zeolite_mirror::{
    Local, LocalError, LocalSet, ReconcileFault, Verdict as MirrorVerdict, start_on, step_on,
};
use zeolite_policy::Policy;
use zeolite_proto::{Event, EventId, Filter, Prefix, Reader, Timestamp};
use zeolite_reconcile::{Edge, Initiator, Item, Set, SortedSet, Step};
use zeolite_session::{Publisher, SessionLimits, check_event};
use zeolite_store::{BuildState, LiveSet, ReadError, ReconcileSet, SetOptions, SliceBudget, Store};

use super::follow;
use crate::clock;
use crate::core::Core;
use crate::hub::Hub;
use crate::ingest::Verdict;

/// Items of a set that must be built: 41 bytes each, 41 MB. Larger ones are compared in windows of
/// time, into which the mirror splits them by itself.
const SET_ITEMS_MAX: usize = 1_000_000;

/// This process's store. Its mirrors' events obey the rules of the socket, and reach live
/// subscribers as others do.
pub(crate) struct StoreSide {
    hub: Arc<Hub>,
    store: Store,
    /// Where its mirror's events come from, for who wants to know.
    upstream: Arc<str>,
}

impl StoreSide {
    /// The store of this core, for a mirror of the relay of this URL.
    pub(crate) fn new(core: &Core, upstream: &str) -> Self {
        let (hub, store) = (Arc::clone(core.hub()), core.store().clone());
        Self { hub, store, upstream: upstream.into() }
    }
}

impl Local for StoreSide {
    type Set = StoreSet;

    fn now(&self) -> Timestamp {
        clock::now()
    }

    async fn submit(
        &self,
        events: Vec<Event>,
        is_trusted: bool,
    ) -> impl Future<Output = Vec<MirrorVerdict>> + Send + 'static {
        let (limits, policy, now) = (&self.hub.session, self.hub.policy.current(), clock::now());
        let publisher = if is_trusted { Publisher::Trusted } else { Publisher::Carrier };
        let mut verdicts: Vec<_> = events
            .iter()
            .map(|event| check(limits, &policy, event, now, publisher).err())
            .collect();
        let taken = events.into_iter().zip(&verdicts);
        let taken: Vec<_> =
            taken.filter(|(_, refused)| refused.is_none()).map(|(event, _)| event).collect();
        let upstream = Arc::clone(&self.upstream);
        let answered = self.hub.ingest.submit_mirrored(taken, is_trusted, upstream).await;
        async move {
            // A batch that is never answered was not stored.
            let mut answers = answered.await.unwrap_or_default().into_iter();
            for verdict in verdicts.iter_mut().filter(|verdict| verdict.is_none()) {
                *verdict = Some(answers.next().map_or(MirrorVerdict::Failed, said));
            }
            verdicts.into_iter().flatten().collect()
        }
    }

    fn fetch(&self, ids: &[EventId], bytes_max: usize) -> Result<Vec<Option<Event>>, LocalError> {
        let failed = |error: ReadError| LocalError(error.to_string());
        let snapshot = self.store.snapshot().map_err(failed)?;
        let mut found = Vec::with_capacity(ids.len());
        let mut bytes = 0;
        for id in ids {
            let event = snapshot.by_id(id).map_err(failed)?;
            let event = event.map(|(_, event)| Event::from_stored(event));
            bytes += event.as_ref().map_or(0, Event::record_bytes);
            found.push(event);
            if bytes >= bytes_max {
                break;
            }
        }
        Ok(found)
    }

    fn set(&self, filter: &Filter) -> Result<StoreSet, ReconcileFault> {
        if filter.search.is_some() {
            return Err(ReconcileFault::Unsupported("a search cannot be mirrored".to_owned()));
        }
        let reader = Reader::of_everything().into();
        let options = SetOptions { reader: &reader, items_max: SET_ITEMS_MAX };
        match self.store.reconcile_set(filter, options).map_err(unreadable)? {
            ReconcileSet::Live(set) => Ok(StoreSet::Live(set)),
            ReconcileSet::Build(mut build) => loop {
                match build.slice(clock::now(), SliceBudget::UNLIMITED).map_err(unreadable)? {
                    BuildState::More => {}
                    BuildState::Done(set) => return Ok(StoreSet::Built(set)),
                    BuildState::TooMany => {
                        return Err(ReconcileFault::TooLarge { cap: Some(SET_ITEMS_MAX as u64) });
                    }
                }
            },
        }
    }

    fn follow(&self, filter: Filter, followed: mpsc::Sender<Vec<Event>>) {
        tokio::spawn(follow::run(self.store.clone(), self.hub.newest.clone(), filter, followed));
    }
}

/// The rules for a single event, whatever road it came by.
fn check(
    limits: &SessionLimits,
    policy: &Policy,
    event: &Event,
    now: Timestamp,
    publisher: Publisher<'_>,
) -> Result<(), MirrorVerdict> {
    if event.record_bytes() > limits.message_bytes_max {
        return Err(MirrorVerdict::Blocked);
    }
    let view = event.view();
    let checked = check_event(limits, view, now, publisher).and_then(|()| policy.judge(view, now));
    checked.map_err(|reason| match reason.prefix {
        Prefix::Invalid => MirrorVerdict::Invalid,
        _ => MirrorVerdict::Blocked,
    })
}

fn said(verdict: Verdict) -> MirrorVerdict {
    match verdict {
        Verdict::Stored => MirrorVerdict::Stored,
        Verdict::Ephemeral => MirrorVerdict::Ephemeral,
        Verdict::Duplicate => MirrorVerdict::Duplicate,
        Verdict::Superseded => MirrorVerdict::Superseded,
        Verdict::Deleted => MirrorVerdict::Deleted,
        Verdict::Expired => MirrorVerdict::Expired,
        Verdict::Forged => MirrorVerdict::Invalid,
        Verdict::Unwanted(_) | Verdict::Shadowed => MirrorVerdict::Blocked,
        Verdict::Full | Verdict::Failed => MirrorVerdict::Failed,
    }
}

fn unreadable(error: ReadError) -> ReconcileFault {
    ReconcileFault::Failed(error.to_string())
}

/// The set of one filter.
pub(crate) enum StoreSet {
    /// One that the store keeps: each step sees it as it is then.
    Live(LiveSet),
    /// One that was built.
    Built(SortedSet),
}

impl LocalSet for StoreSet {
    fn start(&mut self, initiator: &mut Initiator) -> Result<Vec<u8>, ReconcileFault> {
        match self {
            Self::Live(set) => start_on(&set.view(clock::now()).map_err(unreadable)?, initiator),
            Self::Built(set) => start_on(set, initiator),
        }
    }

    fn step(&mut self, initiator: &mut Initiator, answer: &[u8]) -> Result<Step, ReconcileFault> {
        match self {
            Self::Live(set) => {
                step_on(&set.view(clock::now()).map_err(unreadable)?, initiator, answer)
            }
            Self::Built(set) => step_on(set, initiator, answer),
        }
    }

    fn for_each(&mut self, visit: &mut dyn FnMut(&Item)) -> Result<(), ReconcileFault> {
        match self {
            Self::Live(set) => {
                let view = set.view(clock::now()).map_err(unreadable)?;
                view.for_each(&Edge::START, view.len(), visit).map_err(unreadable)
            }
            Self::Built(set) => {
                let Ok(()) = set.for_each(&Edge::START, set.len(), visit);
                Ok(())
            }
        }
    }
}
