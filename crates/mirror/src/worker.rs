//! The shell around the machine: one task that tells it what happens and does what it wants.
//!
//! ```text
//!              +--> writer task ----> upstream ----> reader task (parses)
//!              |                                          | batches, bounded
//!   machine <--+-- worker task <--------------------------+
//!              |        ^  ^---- local events that are new (bounded)
//!              |        +------- answers: verdicts, steps of reconciliation, events read
//!              +--> local side (submits in order), blocking threads
//! ```
//!
//! Answers travel on a channel without a bound of its own: each is asked for by the machine, which
//! bounds what it asks for. Reading stops while the machine wants no messages; nothing else does.

mod jobs;
mod link;
mod pair;
mod refusals;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;
use zeolite_proto::{Event, EventId, FromRelay};

use self::jobs::Jobs;
use self::link::{Arrived, Link, LinkEvent};
pub use self::pair::PairMirror;
pub use self::refusals::Refusals;
use crate::address::RelayAddress;
use crate::local::{Local, LocalError};
use crate::login::SignsLogins;
use crate::machine::{Effect, Input, Machine, Outcome, Progress, Settings, Verdict};
use crate::socket::Connector;

/// Batches of local events that wait for the worker. When it is full, whoever follows the local
/// side waits.
const FOLLOWED_BATCHES_MAX: usize = 4;

/// Answers that are handled before effects are carried out: effects taken together are fewer and
/// larger.
const ANSWERS_AT_ONCE: usize = 64;

/// What one mirror is made of.
pub struct Mirror<L> {
    /// The upstream.
    pub address: RelayAddress,
    /// How to connect to it.
    pub connector: Connector,
    /// What to do.
    pub settings: Settings,
    /// Signs logins, where there is a key.
    pub login: Option<Arc<dyn SignsLogins>>,
    /// The local side.
    pub local: Arc<L>,
    /// Is told where the mirror stands.
    pub progress: watch::Sender<Progress>,
}

/// How a mirror ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Whether the sets are equal, and what was done.
    pub outcome: Outcome,
    /// Why events were refused.
    pub refusals: Refusals,
}

/// What tasks tell the worker.
enum Answer<S> {
    /// What became of events.
    Ingested(Vec<(EventId, Verdict)>),
    /// A step of a job is done.
    Job(jobs::Done<S>),
    /// Events that were read.
    Fetched { asked: Vec<EventId>, found: Result<Vec<Option<Event>>, LocalError> },
}

struct Worker<L: Local> {
    local: Arc<L>,
    login: Option<Arc<dyn SignsLogins>>,
    machine: Machine,
    start: Instant,
    deadline: Option<Instant>,
    link: Link,
    jobs: Jobs<L>,
    answers: mpsc::UnboundedSender<Answer<L::Set>>,
    submissions: mpsc::UnboundedSender<(Vec<Event>, bool)>,
    /// Held until the machine wants to follow.
    follow: Option<mpsc::Sender<Vec<Event>>>,
    progress: watch::Sender<Progress>,
    refusals: Refusals,
    outcome: Option<Outcome>,
}

impl<L: Local> Mirror<L> {
    /// Runs the mirror until it ends by itself or `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) -> Ended {
        let (answers, mut answered) = mpsc::unbounded_channel();
        let (submissions, submitted) = mpsc::unbounded_channel();
        let (follow, mut followed) = mpsc::channel(FOLLOWED_BATCHES_MAX);
        tokio::spawn(submit_in_order(Arc::clone(&self.local), submitted, answers.clone()));
        let mut worker = Worker {
            link: Link::new(self.address, self.connector),
            jobs: Jobs::new(Arc::clone(&self.local), answers.clone()),
            local: self.local,
            machine: Machine::new(Settings { has_key: self.login.is_some(), ..self.settings }),
            login: self.login,
            start: Instant::now(),
            deadline: None,
            answers,
            submissions,
            follow: Some(follow),
            progress: self.progress,
            refusals: Refusals::default(),
            outcome: None,
        };
        let mut is_stopping = false;
        let mut look = look_at_progress();
        loop {
            worker.carry_out_all();
            if let Some(outcome) = worker.outcome.take() {
                worker.link.close().await;
                return Ended { outcome, refusals: worker.refusals };
            }
            let wants_messages = worker.machine.wants_messages();
            tokio::select! {
                biased;
                () = stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    worker.handle(Input::Stop);
                }
                Some(answer) = answered.recv() => {
                    worker.take(answer);
                    for _ in 1..ANSWERS_AT_ONCE {
                        let Ok(answer) = answered.try_recv() else { break };
                        worker.take(answer);
                    }
                }
                () = until(worker.deadline) => {
                    worker.deadline = None;
                    worker.handle(Input::DeadlineReached);
                }
                _ = look.tick() => publish(&worker.progress, worker.machine.progress()),
                Some(events) = followed.recv() => {
                    for event in events {
                        worker.handle(Input::LocalLive(event));
                    }
                }
                event = worker.link.next(wants_messages) => worker.heard(event),
            }
        }
    }
}

/// When to look where a mirror stands: it says so by itself only while it is catching up.
fn look_at_progress() -> Interval {
    let mut look = interval(Duration::from_secs(1));
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    look
}

/// Tells where a mirror stands, if that has changed.
fn publish(told: &watch::Sender<Progress>, progress: &Progress) {
    told.send_if_modified(|told| {
        let is_new = told != progress;
        if is_new {
            told.clone_from(progress);
        }
        is_new
    });
}

/// Waits for a moment, or for ever.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

impl<L: Local> Worker<L> {
    fn handle(&mut self, input: Input) {
        self.machine.handle(self.start.elapsed(), input);
    }

    fn heard(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Up(peer) => {
                let wall = self.local.now();
                self.handle(Input::Connected { wall, peer });
            }
            LinkEvent::Down(reason) => self.handle(Input::Disconnected { reason }),
            LinkEvent::Arrived(batch) => {
                for arrived in batch {
                    self.arrived(arrived);
                }
            }
        }
    }

    fn arrived(&mut self, arrived: Arrived) {
        if let Arrived::Message(FromRelay::Ok { accepted: false, text, .. }) = &arrived {
            self.refusals.count_said(false, text);
        }
        self.handle(match arrived {
            Arrived::Message(message) => Input::Received(message),
            Arrived::Unreadable(error) => Input::Unreadable(error),
        });
    }

    fn take(&mut self, answer: Answer<L::Set>) {
        match answer {
            Answer::Ingested(verdicts) => {
                for (_, verdict) in &verdicts {
                    self.refusals.count_here(*verdict);
                }
                self.handle(Input::Ingested(verdicts));
            }
            Answer::Job(done) => {
                let input = self.jobs.take_back(done);
                self.handle(input);
            }
            Answer::Fetched { asked, found } => {
                self.handle(read(asked, found));
            }
        }
    }

    fn carry_out_all(&mut self) {
        while let Some(effect) = self.machine.poll() {
            self.carry_out(effect);
        }
        self.link.send_all();
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Send(text) => self.link.push(text),
            Effect::Reconcile { job, step } => self.jobs.reconcile(job, step),
            Effect::EndReconcile { job } => self.jobs.end(job),
            Effect::Compare { job, filter, items } => self.jobs.compare(job, filter, items),
            Effect::Ingest { events, trusted } => {
                self.submissions.send((events, trusted)).expect("its task ends with the worker");
            }
            Effect::FetchLocal { ids, bytes_max } => self.fetch(ids, bytes_max),
            Effect::FollowLocal => {
                if let Some(follow) = self.follow.take() {
                    self.local.follow(self.machine.settings().filter.clone(), follow);
                }
            }
            Effect::LogIn { challenge } => {
                if let Some(login) = self.link.sign(self.login.as_deref(), &challenge) {
                    self.handle(Input::Signed(login));
                }
            }
            Effect::Reconnect { after } => self.link.reconnect(after),
            Effect::Deadline(at) => self.deadline = Some(self.start + at),
            Effect::Report(progress) => _ = self.progress.send_replace(*progress),
            Effect::Finished(outcome) => self.outcome = Some(*outcome),
        }
    }

    fn fetch(&self, ids: Vec<EventId>, bytes_max: usize) {
        let (local, answers) = (Arc::clone(&self.local), self.answers.clone());
        tokio::task::spawn_blocking(move || {
            let found = local.fetch(&ids, bytes_max);
            // A worker that has ended wants no answer.
            _ = answers.send(Answer::Fetched { asked: ids, found });
        });
    }
}

/// What became of ids that were looked for in this order. A local side that fails has none of them.
fn read(asked: Vec<EventId>, found: Result<Vec<Option<Event>>, LocalError>) -> Input {
    let found = found.unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot read events to send up");
        vec![None; asked.len()]
    });
    let unread = asked[found.len()..].to_vec();
    let mut events = Vec::with_capacity(found.len());
    let mut missing = Vec::new();
    for (id, found) in asked.into_iter().zip(found) {
        match found {
            Some(event) => events.push(event),
            None => missing.push(id),
        }
    }
    Input::LocalEvents { events, missing, unread }
}

/// Submits one batch after the other, so that events are admitted in the order they came, and
/// waits for the verdicts of several at a time.
async fn submit_in_order<L: Local>(
    local: Arc<L>,
    mut submitted: mpsc::UnboundedReceiver<(Vec<Event>, bool)>,
    answers: mpsc::UnboundedSender<Answer<L::Set>>,
) {
    while let Some((events, is_trusted)) = submitted.recv().await {
        let ids: Vec<_> = events.iter().map(|event| event.view().id()).collect();
        let verdicts = local.submit(events, is_trusted).await;
        let answers = answers.clone();
        tokio::spawn(async move {
            let verdicts = ids.into_iter().zip(verdicts.await).collect();
            _ = answers.send(Answer::Ingested(verdicts));
        });
    }
}
