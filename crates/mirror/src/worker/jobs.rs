//! Steps of reconciliation, each on a thread that may wait for the disk.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::mpsc;
use zeolite_proto::{EventId, Filter, Timestamp};
use zeolite_reconcile::{FrameLimit, Initiator, Step};

use super::Answer;
use crate::local::{Local, LocalSet};
use crate::machine::{Input, JobId, ReconcileFault, ReconcileStep};

/// A session between two steps.
struct Session<S> {
    set: S,
    initiator: Initiator,
}

/// A step that is done.
pub(super) struct Done<S> {
    job: JobId,
    /// To go on with, unless it is over.
    session: Option<Session<S>>,
    result: Result<Said, ReconcileFault>,
}

/// What a job found out.
enum Said {
    Step(Step),
    Differences { have: Vec<EventId>, need: Vec<EventId> },
}

/// The sessions that stand. At most one step of each is under way, and its session is with the
/// thread meanwhile.
pub(super) struct Jobs<L: Local> {
    local: Arc<L>,
    answers: mpsc::UnboundedSender<Answer<L::Set>>,
    /// `None` while a step is under way.
    sessions: HashMap<JobId, Option<Session<L::Set>>>,
}

impl<L: Local> Jobs<L> {
    pub(super) fn new(local: Arc<L>, answers: mpsc::UnboundedSender<Answer<L::Set>>) -> Self {
        Self { local, answers, sessions: HashMap::new() }
    }

    /// Begins or goes on.
    pub(super) fn reconcile(&mut self, job: JobId, step: ReconcileStep) {
        let local = Arc::clone(&self.local);
        match step {
            ReconcileStep::Start { filter, frame_bytes_max } => {
                self.sessions.insert(job, None);
                self.spawn(job, move || begin(&*local, &filter, frame_bytes_max));
            }
            ReconcileStep::Answer { message } => {
                let session = self.sessions.get_mut(&job).and_then(Option::take);
                self.spawn(job, move || match session {
                    Some(session) => go_on(session, &message),
                    None => Err(ReconcileFault::Failed("the session is over".to_owned())),
                });
            }
        }
    }

    /// Compares the upstream's list with the local set.
    pub(super) fn compare(&mut self, job: JobId, filter: Filter, items: Vec<(Timestamp, EventId)>) {
        let local = Arc::clone(&self.local);
        self.spawn(job, move || {
            let (have, need) = compare(&mut local.set(&filter)?, &items)?;
            Ok((None, Said::Differences { have, need }))
        });
    }

    /// Forgets a session.
    pub(super) fn end(&mut self, job: JobId) {
        self.sessions.remove(&job);
    }

    /// Takes a session back, unless it was ended meanwhile, and tells what its step gave.
    pub(super) fn take_back(&mut self, done: Done<L::Set>) -> Input {
        let Done { job, session, result } = done;
        match (session, self.sessions.get_mut(&job)) {
            (Some(session), Some(place)) => *place = Some(session),
            (None, Some(_)) => _ = self.sessions.remove(&job),
            (_, None) => {}
        }
        match result {
            Ok(Said::Step(Step { next, have, need })) => {
                Input::Reconciled { job, next, have, need }
            }
            Ok(Said::Differences { have, need }) => Input::Compared { job, have, need },
            Err(cause) => Input::ReconcileFailed { job, cause },
        }
    }

    fn spawn(
        &self,
        job: JobId,
        work: impl FnOnce() -> Result<(Option<Session<L::Set>>, Said), ReconcileFault> + Send + 'static,
    ) {
        let answers = self.answers.clone();
        tokio::task::spawn_blocking(move || {
            let (session, result) = match work() {
                Ok((session, said)) => (session, Ok(said)),
                Err(fault) => (None, Err(fault)),
            };
            // A worker that has ended wants no answer.
            _ = answers.send(Answer::Job(Done { job, session, result }));
        });
    }
}

type Stepped<S> = Result<(Option<Session<S>>, Said), ReconcileFault>;

fn begin<L: Local>(local: &L, filter: &Filter, frame_bytes_max: usize) -> Stepped<L::Set> {
    let frame = FrameLimit::new(frame_bytes_max);
    let frame = frame.map_err(|error| ReconcileFault::Unsupported(error.to_string()))?;
    let mut session = Session { set: local.set(filter)?, initiator: Initiator::new(frame) };
    let first = session.set.start(&mut session.initiator)?;
    let step = Step { next: Some(first), ..Step::default() };
    Ok((Some(session), Said::Step(step)))
}

fn go_on<S: LocalSet>(mut session: Session<S>, answer: &[u8]) -> Stepped<S> {
    let step = session.set.step(&mut session.initiator, answer)?;
    let session = step.next.is_some().then_some(session);
    Ok((session, Said::Step(step)))
}

/// The ids that only the set has, and those that only the sorted list has.
fn compare(
    set: &mut impl LocalSet,
    theirs: &[(Timestamp, EventId)],
) -> Result<(Vec<EventId>, Vec<EventId>), ReconcileFault> {
    let (mut have, mut need) = (Vec::new(), Vec::new());
    let mut theirs = theirs.iter().peekable();
    set.for_each(&mut |ours| {
        let ours = (ours.time, ours.id);
        need.extend(std::iter::from_fn(|| theirs.next_if(|next| **next < ours)).map(|next| next.1));
        if theirs.next_if(|next| **next == ours).is_none() {
            have.push(ours.1);
        }
    })?;
    need.extend(theirs.map(|next| next.1));
    Ok((have, need))
}

#[cfg(test)]
mod tests {
    use zeolite_reconcile::{Edge, Item, Set, SortedSet};

    use super::*;
    use crate::local::{start_on, step_on};

    struct Fixed(SortedSet);

    impl LocalSet for Fixed {
        fn start(&mut self, initiator: &mut Initiator) -> Result<Vec<u8>, ReconcileFault> {
            start_on(&self.0, initiator)
        }

        fn step(
            &mut self,
            initiator: &mut Initiator,
            answer: &[u8],
        ) -> Result<Step, ReconcileFault> {
            step_on(&self.0, initiator, answer)
        }

        fn for_each(&mut self, visit: &mut dyn FnMut(&Item)) -> Result<(), ReconcileFault> {
            let Ok(()) = self.0.for_each(&Edge::START, self.0.len(), visit);
            Ok(())
        }
    }

    fn item(time: u64, id: u8) -> (Timestamp, EventId) {
        (Timestamp(time), EventId([id; 32]))
    }

    fn check(ours: &[(u64, u8)], theirs: &[(u64, u8)], have: &[u8], need: &[u8]) {
        let items = ours.iter().map(|&(time, id)| item(time, id));
        let items = items.map(|(time, id)| Item { time, id }).collect();
        let theirs: Vec<_> = theirs.iter().map(|&(time, id)| item(time, id)).collect();
        let found = compare(&mut Fixed(SortedSet::new(items)), &theirs).expect("it is in memory");
        let ids = |ids: &[u8]| ids.iter().map(|id| EventId([*id; 32])).collect::<Vec<_>>();
        assert_eq!(found, (ids(have), ids(need)), "{ours:?} {theirs:?}");
    }

    #[test]
    fn lists_are_compared_by_time_and_id() {
        check(&[], &[], &[], &[]);
        check(&[(1, 1), (2, 2)], &[], &[1, 2], &[]);
        check(&[], &[(1, 1), (2, 2)], &[], &[1, 2]);
        check(&[(1, 1), (1, 3), (2, 2)], &[(1, 2), (1, 3), (3, 0)], &[1, 2], &[2, 0]);
        check(&[(5, 5)], &[(5, 4), (5, 5), (5, 6)], &[], &[4, 6]);
    }
}
