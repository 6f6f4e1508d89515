//! A second relay in the place of the local side: it does what a machine asks of its local side by
//! asking that relay.
//!
//! Events to take in are sent there, events to read are fetched from there, and sets are compared by
//! passing each relay's answer on to the other as the next question ([`Cross`]). Nothing is kept of
//! either relay's set.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use zeolite_proto::{Event, EventId, Filter, FromRelay, Timestamp};
use zeolite_reconcile::{Cross, CrossTurn, FrameLimit};

use super::backoff::Backoff;
use super::comparing::filter_bytes;
use super::context::{Context, Fault, Reports, Scope};
use super::effect::{Effect, ReconcileStep};
use super::input::{Input, JobId, ReconcileFault};
use super::job::Roads;
use super::limits::PeerLimits;
use super::listing::Listings;
use super::refusal::Refusal;
use super::settings::{Direction, Settings};
use super::tail::Tail;
use super::wire;

/// What a bridge wants.
pub(super) enum BridgeEffect {
    /// Something for the far relay's connection: `Send` or `Reconnect`.
    Far(Effect),
    /// Something for the machine.
    Tell(Input),
}

/// A reconciliation under way.
struct Session {
    job: JobId,
    filter: Filter,
    /// What the near relay takes.
    near: FrameLimit,
    /// What the far relay takes.
    far: FrameLimit,
    cross: Cross,
    sub: Box<str>,
    is_open: bool,
    is_answered: bool,
    /// Since when the far relay owes an answer.
    waits_since: Option<Duration>,
    /// What the near relay's latest answer told.
    told: Told,
}

/// Ids that only one side has.
#[derive(Default)]
struct Told {
    far_only: Vec<EventId>,
    near_only: Vec<EventId>,
}

/// The far relay.
pub(super) struct Bridge {
    pub(super) context: Context,
    is_up: bool,
    is_following: bool,
    tail: Tail,
    roads: Roads,
    session: Option<Session>,
    listings: Listings,
    /// Ids that the machine wants to read.
    reading: HashSet<EventId>,
    backoff: Backoff,
    out: VecDeque<BridgeEffect>,
}

impl Bridge {
    /// A bridge that begins by asking for a connection.
    pub(super) fn new(settings: &Settings) -> Self {
        let limits = &settings.limits;
        let backoff = Backoff::new(limits.backoff_min, limits.backoff_max, settings.seed ^ 0xfa);
        // Pages are listed, never taken in: that is what going up means.
        let settings = Settings { direction: Direction::Up, once: false, ..settings.clone() };
        let mut context = Context::new(settings);
        context.deletions = None;
        context.reports = Some(Reports::default());
        let connect = BridgeEffect::Far(Effect::Reconnect { after: Duration::ZERO });
        Self {
            is_up: false,
            is_following: false,
            tail: Tail::new(&context),
            roads: Roads::new(&context),
            session: None,
            listings: Listings::new(&context),
            reading: HashSet::new(),
            backoff,
            out: VecDeque::from([connect]),
            context,
        }
    }

    pub(super) fn poll(&mut self) -> Option<BridgeEffect> {
        self.out.pop_front()
    }

    fn tell(&mut self, input: Input) {
        self.out.push_back(BridgeEffect::Tell(input));
    }

    fn tell_read(&mut self, events: Vec<Event>, missing: Vec<EventId>) {
        self.tell(Input::LocalEvents { events, missing, unread: Vec::new() });
    }

    /// A connection to the far relay stands.
    pub(super) fn connected(&mut self, wall: Timestamp, peer: PeerLimits) {
        if std::mem::replace(&mut self.is_up, true) {
            return;
        }
        self.context.wall = wall;
        self.context.peer = peer;
        self.context.is_fruitful = false;
        self.context.moved();
        if self.is_following {
            self.tail.open(&mut self.context);
        }
        self.tell(Input::LocalBack);
    }

    /// There is no connection to the far relay, or it is of no use.
    pub(super) fn lose(&mut self, reason: String) {
        if self.context.is_fruitful {
            self.backoff.reset();
        }
        self.is_up = false;
        self.tail.reset();
        self.context.login.reset();
        self.roads.reset(&mut self.context);
        self.session = None;
        self.listings.clear(&self.context);
        self.context.deletions = None;
        self.reading.clear();
        self.context.effects.clear();
        self.context.sink.clear();
        self.context.reports = Some(Reports::default());
        let after = self.backoff.next();
        self.out.push_back(BridgeEffect::Far(Effect::Reconnect { after }));
        self.tell(Input::LocalLost { reason });
    }

    /// What the machine asks of its local side.
    pub(super) fn take(&mut self, effect: Effect) {
        match effect {
            Effect::FollowLocal => {
                self.is_following = true;
                if self.is_up {
                    self.tail.open(&mut self.context);
                }
            }
            // Without the far relay nothing is answered, as the machine was told.
            _ if !self.is_up => {}
            Effect::Ingest { events, .. } => {
                for event in events {
                    self.roads.upload.offer_mirrored(event, &mut self.context);
                }
            }
            // The bounds of the road down hold for these.
            Effect::FetchLocal { ids, .. } => {
                for id in ids {
                    self.reading.insert(id);
                    if !self.roads.download.want(id, Scope::Content, &self.context) {
                        self.context.lose(&id);
                    }
                }
            }
            Effect::Reconcile { job, step } => self.reconcile(job, step),
            Effect::EndReconcile { job } => self.end_session(job),
            Effect::Compare { job, filter, items } => self.listings.push(job, filter, items),
            Effect::Send(_)
            | Effect::Reconnect { .. }
            | Effect::LogIn { .. }
            | Effect::Deadline(_)
            | Effect::Report(_)
            | Effect::Finished(_) => unreachable!("these are not asked of the local side"),
        }
    }

    fn reconcile(&mut self, job: JobId, step: ReconcileStep) {
        match step {
            ReconcileStep::Start { filter, frame_bytes_max } => {
                let cross = Cross::new();
                // M-01: as for the near relay, which the machine has seen to.
                let rest_bytes = 100 + filter_bytes(&filter);
                let by_peer = self.context.message_bytes_max().saturating_sub(rest_bytes) / 2;
                let far_bytes_max = self.context.settings.limits.frame_bytes_max.min(by_peer);
                let next = Some(cross.question().to_vec());
                self.session = Some(Session {
                    job,
                    filter,
                    near: frame_limit(frame_bytes_max),
                    far: frame_limit(far_bytes_max),
                    cross,
                    sub: self.context.name('n'),
                    is_open: false,
                    is_answered: false,
                    waits_since: None,
                    told: Told::default(),
                });
                self.tell(Input::Reconciled { job, next, have: Vec::new(), need: Vec::new() });
            }
            ReconcileStep::Answer { message } => self.near_answered(job, &message),
        }
    }

    /// The near relay's answer becomes the far relay's question.
    fn near_answered(&mut self, job: JobId, message: &[u8]) {
        let Some(session) = self.session.as_mut().filter(|session| session.job == job) else {
            return;
        };
        match session.cross.turn(message, session.far) {
            Err(error) => self.fail(ReconcileFault::Malformed(error.to_string())),
            Ok(CrossTurn { next, asking_only, answering_only }) => {
                session.told = Told { far_only: asking_only, near_only: answering_only };
                match next {
                    None => self.say(None),
                    Some(question) => self.ask(&question),
                }
            }
        }
    }

    fn ask(&mut self, question: &[u8]) {
        let Some(session) = &mut self.session else { return };
        session.waits_since = Some(self.context.now);
        let text = if std::mem::replace(&mut session.is_open, true) {
            wire::neg_msg(&session.sub, question)
        } else {
            wire::neg_open(&session.sub, &session.filter, question)
        };
        self.context.moved();
        self.context.send(text);
    }

    /// The far relay's answer becomes the near relay's question.
    fn far_answered(&mut self, sub: &str, hex: &str) {
        let Some(session) = self.session.as_mut().filter(|session| *session.sub == *sub) else {
            return;
        };
        if session.waits_since.take().is_none() {
            return;
        }
        session.is_answered = true;
        self.context.moved();
        self.context.is_fruitful = true;
        let message = wire::unhex(hex).unwrap_or_default();
        match session.cross.turn(&message, session.near) {
            Err(error) => self.fail(ReconcileFault::Unsupported(error.to_string())),
            Ok(CrossTurn { next, asking_only, answering_only }) => {
                session.told.near_only.extend(asking_only);
                session.told.far_only.extend(answering_only);
                self.say(next);
            }
        }
    }

    fn say(&mut self, next: Option<Vec<u8>>) {
        let Some(session) = &mut self.session else { return };
        let job = session.job;
        let Told { far_only, near_only } = std::mem::take(&mut session.told);
        self.tell(Input::Reconciled { job, next, have: far_only, need: near_only });
    }

    fn fail(&mut self, cause: ReconcileFault) {
        let Some(Session { job, .. }) = self.session else { return };
        self.end_session(job);
        self.tell(Input::ReconcileFailed { job, cause });
    }

    fn end_session(&mut self, job: JobId) {
        if let Some(session) = self.session.take_if(|session| session.job == job)
            && session.is_open
        {
            self.context.send(wire::neg_close(&session.sub));
        }
    }

    /// The far relay refuses to reconcile.
    fn refuse(&mut self, refusal: Refusal, text: &str, cap: Option<u64>) {
        let text = text.to_owned();
        if let Some(session) = &mut self.session {
            // The refusal has closed it.
            session.is_open = false;
        }
        self.fail(match refusal {
            Refusal::TooLarge => ReconcileFault::TooLarge { cap },
            Refusal::Busy | Refusal::Ended => ReconcileFault::Busy(text),
            Refusal::Auth | Refusal::Final => ReconcileFault::Unsupported(text),
        });
    }

    fn owns(&self, sub: &str) -> bool {
        self.session.as_ref().is_some_and(|session| *session.sub == *sub)
    }

    /// A message of the far relay.
    pub(super) fn received(&mut self, message: FromRelay) {
        if !self.is_up {
            return;
        }
        let context = &mut self.context;
        match message {
            FromRelay::Event { sub, event } => {
                if self.tail.owns(&sub) {
                    self.tail.take(event, context);
                } else if self.roads.download.owns(&sub) {
                    self.roads.download.take(&sub, event, context);
                } else {
                    self.listings.take(&sub, event, context);
                }
            }
            FromRelay::Ok { id, accepted, text } if context.login.owns(&id) => {
                context.decided_login(accepted, &text);
            }
            FromRelay::Ok { id, accepted, text } => {
                self.roads.upload.answer(&id, accepted, &text, context);
            }
            FromRelay::Eose { sub, hint } => {
                self.tail.end_if(&sub, context);
                self.roads.download.end(&sub, context);
                self.listings.end(&sub, hint, context);
            }
            FromRelay::Closed { sub, text } => self.closed(&sub, &text),
            FromRelay::NegMsg { sub, hex } => self.far_answered(&sub, &hex),
            FromRelay::NegErr { sub, text, cap } if self.owns(&sub) => {
                let refusal = self.context.refusal(&text, cap);
                self.refuse(refusal, &text, cap);
            }
            FromRelay::Notice { text } => {
                let is_unanswered =
                    |session: &Session| session.waits_since.is_some() && !session.is_answered;
                if self.session.as_ref().is_some_and(is_unanswered)
                    && let Some(refusal) = self.context.refusal_by_notice(&text)
                {
                    self.refuse(refusal, &text, None);
                }
            }
            FromRelay::Auth { challenge } => self.context.asked_for_login(challenge),
            FromRelay::NegErr { .. } | FromRelay::Count { .. } => {}
        }
    }

    fn closed(&mut self, sub: &str, text: &str) {
        let context = &mut self.context;
        if self.tail.owns(sub) {
            self.tail.refuse(text, context);
        } else if self.roads.download.owns(sub) {
            self.roads.download.refuse(sub, text, context);
        } else if self.owns(sub) {
            let refusal = self.context.refusal(text, None);
            self.refuse(refusal, text, None);
        } else if let Some(input) = self.listings.refuse(sub, text, &mut self.context) {
            self.tell(input);
        }
    }

    /// Works out what is to be done at this moment.
    pub(super) fn advance(&mut self, now: Duration) {
        self.context.now = now.max(self.context.now);
        if self.is_up {
            self.tail.pump(&mut self.context);
            self.roads.pump(&mut self.context);
            self.listings.pump(&self.roads, &mut self.context);
            self.context.sink.flush(false, &mut self.context.effects);
            self.watch();
        }
        self.pass_on_effects();
        self.pass_on_reports();
        if let Some(Fault::Connection(reason)) = self.context.fault.take()
            && self.is_up
        {
            self.lose(reason);
        }
    }

    fn watch(&mut self) {
        let waits = |session: &Session| !session.is_answered && session.waits_since.is_some();
        if self.session.as_ref().is_some_and(waits)
            && self.session_deadline().is_some_and(|at| self.context.now >= at)
        {
            self.fail(ReconcileFault::Unsupported("no answer to NEG-OPEN".into()));
        }
        if self.idle_deadline().is_some_and(|at| self.context.now >= at) {
            let idle = self.context.settings.limits.idle_max.as_secs();
            self.context.fault = Some(Fault::Connection(format!("no progress for {idle} s")));
        }
    }

    fn session_deadline(&self) -> Option<Duration> {
        let session = self.session.as_ref().filter(|session| !session.is_answered)?;
        Some(session.waits_since? + self.context.settings.limits.first_frame_max)
    }

    fn idle_deadline(&self) -> Option<Duration> {
        let is_asking = self.roads.download.is_asking()
            || self.roads.upload.is_asking()
            || self.listings.is_asking()
            || self
                .session
                .as_ref()
                .is_some_and(|session| session.is_answered && session.waits_since.is_some());
        is_asking.then(|| self.context.moved_at + self.context.settings.limits.idle_max)
    }

    /// When it wants to act at the latest.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let all = [
            self.idle_deadline(),
            self.session_deadline(),
            self.tail.deadline(&self.context),
            self.roads.download.deadline(),
            self.roads.upload.deadline(),
            self.listings.deadline(),
        ];
        let later = all.into_iter().flatten().filter(|at| *at > self.context.now);
        later.min().filter(|_| self.is_up)
    }

    fn pass_on_effects(&mut self) {
        while let Some(effect) = self.context.effects.pop_front() {
            match effect {
                Effect::Ingest { events, .. } => {
                    self.context.sink.clear();
                    let (read, live): (Vec<_>, Vec<_>) = events
                        .into_iter()
                        .partition(|event| self.reading.remove(&event.view().id()));
                    if !read.is_empty() {
                        self.tell_read(read, Vec::new());
                    }
                    live.into_iter().for_each(|event| self.tell(Input::LocalLive(event)));
                }
                Effect::Compare { job, filter, items } => self.listings.part(job, &filter, &items),
                far => self.out.push_back(BridgeEffect::Far(far)),
            }
        }
        if let Some(input) = self.listings.finished(&mut self.context) {
            self.tell(input);
        }
    }

    fn pass_on_reports(&mut self) {
        let Some(Reports { verdicts, missing }) = self.context.reports.replace(Reports::default())
        else {
            return;
        };
        if !verdicts.is_empty() {
            self.tell(Input::Ingested(verdicts));
        }
        let missing: Vec<EventId> =
            missing.into_iter().filter(|id| self.reading.remove(id)).collect();
        if !missing.is_empty() {
            self.tell_read(Vec::new(), missing);
        }
    }
}

fn frame_limit(bytes_max: usize) -> FrameLimit {
    FrameLimit::new(bytes_max).unwrap_or(FrameLimit::LEAST)
}
