//! The mirror's side of everything but IO: one machine for one upstream, in either direction.
//!
//! Drive it so: [`Machine::new`]; then carry out every [`Effect`] that [`Machine::poll`] gives until
//! it gives `None`; then wait for the next thing that happens, tell it by [`Machine::handle`], and
//! poll again. `now` is the time since any fixed moment, never going back. Several inputs may be
//! handled before one poll: effects are then fewer and larger.
//!
//! While [`Machine::wants_messages`] is false the worker leaves the socket unread, so that a local
//! side that is slower than the upstream slows the upstream down.
//!
//! ```text
//! connect -> tail (live REQ) -> EOSE -> catch-up: windows, newest first
//!                                         comparing: NIP-77   -> need -> download -> sink -> local side
//!                                         paging: REQ by REQ  -> have -> upload   -> OK
//!                                       again until the difference is empty or explained
//!         -> live; from time to time an audit, which is another catch-up
//! ```

mod backoff;
mod bridge;
mod catch_up;
mod comparing;
mod context;
mod deletions;
mod download;
mod effect;
mod input;
mod job;
mod limits;
mod listing;
mod login;
mod paging;
mod pair;
mod progress;
mod recall;
mod refusal;
mod settings;
mod sink;
mod tail;
mod timing;
mod upload;
mod window;
mod wire;

use std::time::Duration;

use zeolite_proto::{EventId, FromRelay};

pub use effect::{Effect, ReconcileStep};
pub use input::{Input, JobId, ReconcileFault, Verdict};
pub use limits::{Limits, PeerLimits};
pub use pair::{Pair, Side};
pub use progress::{Counts, End, Method, Outcome, Phase, Progress};
pub use settings::{Direction, Mode, Settings};

use backoff::Backoff;
use catch_up::CatchUp;
use context::{Context, Fault};
use job::Roads;
use tail::Tail;

/// How soon a live mirror tries again what it could not complete.
const RETRY_EVERY: Duration = Duration::from_secs(600);

/// Events in a row that the local side fails on until the connection is given up.
const FAILED_MAX: u32 = 256;

/// Whether there is a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    /// None; one was asked for.
    Down,
    /// One stands.
    Up,
    /// None is wanted until the local side is back.
    Parked,
    /// The mirror has ended.
    Over,
}

/// Mirrors between one upstream and the local side.
pub struct Machine {
    context: Context,
    link: Link,
    tail: Tail,
    catch_up: CatchUp,
    roads: Roads,
    backoff: Backoff,
    /// Connections in a row that brought nothing.
    barren: u32,
    failed_in_row: u32,
    is_following: bool,
    is_local_lost: bool,
    /// The first catch-up of this connection is due as soon as the tail is open.
    is_catch_up_due: bool,
    /// How a catch-up ended of which it is not known whether it saw all: a login is under way.
    held_end: Option<End>,
    /// Until when the far side of a pair decides about a login.
    far_login_until: Option<Duration>,
    audit_at: Option<Duration>,
    /// Something was handled since the last effects were worked out.
    is_stale: bool,
    deadline: Option<Duration>,
    reported_at: Duration,
}

impl Machine {
    /// A machine that begins by asking for a connection.
    pub fn new(settings: Settings) -> Self {
        let limits = &settings.limits;
        let backoff = Backoff::new(limits.backoff_min, limits.backoff_max, settings.seed ^ 0x11);
        let mut context = Context::new(settings);
        context.effects.push_back(Effect::Reconnect { after: Duration::ZERO });
        Self {
            link: Link::Down,
            tail: Tail::new(&context),
            catch_up: CatchUp::new(&context),
            roads: Roads::new(&context),
            backoff,
            barren: 0,
            failed_in_row: 0,
            is_following: false,
            is_local_lost: false,
            is_catch_up_due: false,
            held_end: None,
            far_login_until: None,
            audit_at: None,
            is_stale: false,
            deadline: None,
            reported_at: Duration::ZERO,
            context,
        }
    }

    /// What the operator decided.
    pub fn settings(&self) -> &Settings {
        &self.context.settings
    }

    /// Where the mirror stands.
    pub fn progress(&self) -> &Progress {
        &self.context.progress
    }

    /// False while the upstream's messages must wait for the local side.
    pub fn wants_messages(&self) -> bool {
        let limits = &self.context.settings.limits;
        self.context.sink.events() < 2 * limits.ingest_events_max
            && self.context.sink.bytes() < 2 * limits.ingest_bytes_max
    }

    /// The next thing to do, until `None`.
    pub fn poll(&mut self) -> Option<Effect> {
        if let Some(effect) = self.context.effects.pop_front() {
            return Some(effect);
        }
        if std::mem::take(&mut self.is_stale) {
            self.advance();
        }
        self.context.effects.pop_front()
    }

    /// Takes what happened at `now`.
    pub fn handle(&mut self, now: Duration, input: Input) {
        if self.link == Link::Over {
            return;
        }
        self.context.now = now.max(self.context.now);
        self.is_stale = true;
        match input {
            Input::Connected { wall, peer } => self.connected(wall, peer),
            Input::Disconnected { reason } => self.disconnected(reason),
            Input::Received(message) => self.received(message),
            Input::Unreadable(error) => self.unreadable(&error),
            Input::Reconciled { job, next, have, need } => {
                let found = (&have[..], &need[..]);
                self.catch_up.reconciled(job, next, found, &mut self.roads, &mut self.context);
            }
            Input::ReconcileFailed { job, cause } => {
                self.catch_up.reconcile_failed(job, cause, &mut self.context);
            }
            Input::Compared { job, have, need } => {
                self.catch_up.compared(job, &have, &need, &mut self.roads, &mut self.context);
            }
            Input::Ingested(verdicts) => self.ingested(&verdicts),
            Input::LocalEvents { events, missing, unread } => {
                self.roads.upload.put_back(unread);
                self.roads.upload.read(events, &missing, &mut self.context);
            }
            Input::Signed(login) => self.signed(&login),
            Input::LocalLive(event) => self.local_live(event),
            Input::LocalLost { reason } => self.local_lost(reason),
            Input::LocalBack => self.local_back(),
            Input::DeadlineReached => self.deadline = None,
            Input::Stop => self.finish(End::Stopped),
        }
    }

    fn connected(&mut self, wall: zeolite_proto::Timestamp, peer: PeerLimits) {
        if self.link != Link::Down {
            return;
        }
        if self.is_local_lost {
            self.link = Link::Parked;
            return;
        }
        self.link = Link::Up;
        self.context.wall = wall;
        self.context.peer = peer;
        self.context.is_fruitful = false;
        self.context.progress.counts.connections += 1;
        self.context.progress.phase = Phase::Tail;
        self.context.moved();
        self.is_catch_up_due = true;
        let settings = &self.context.settings;
        if !self.is_bounded()
            && settings.direction.is_up()
            && !std::mem::replace(&mut self.is_following, true)
        {
            self.context.effects.push_back(Effect::FollowLocal);
        }
        if !self.is_bounded() && self.context.settings.direction.is_down() {
            self.tail.open(&mut self.context);
        }
    }

    fn disconnected(&mut self, reason: String) {
        match self.link {
            Link::Up | Link::Down => self.reconnect(reason),
            Link::Parked | Link::Over => {}
        }
    }

    /// Whether it ends by itself.
    fn is_bounded(&self) -> bool {
        self.context.settings.once || self.context.settings.dry_run
    }

    /// Gives the connection up, if one stands, and asks for a new one after a while.
    fn reconnect(&mut self, reason: String) {
        self.drop_connection();
        self.barren = if self.context.is_fruitful { 0 } else { self.barren + 1 };
        let limits = &self.context.settings.limits;
        if self.is_bounded() && self.barren >= limits.barren_connections_max {
            return self.finish(End::Unreachable(reason));
        }
        if self.context.is_fruitful {
            self.backoff.reset();
        }
        self.context.is_fruitful = false;
        self.context.trouble(reason);
        self.link = Link::Down;
        let after = self.backoff.next();
        self.context.effects.push_back(Effect::Reconnect { after });
    }

    fn drop_connection(&mut self) {
        self.tail.reset();
        self.context.login.reset();
        self.catch_up.suspend(&mut self.context);
        self.roads.reset(&mut self.context);
        self.audit_at = None;
        self.is_catch_up_due = false;
        self.held_end = None;
        self.context.progress.phase = Phase::Connecting;
    }

    fn local_lost(&mut self, reason: String) {
        self.context.sink.clear();
        self.is_local_lost = true;
        self.barren = if self.context.is_fruitful { 0 } else { self.barren + 1 };
        let limits = &self.context.settings.limits;
        if self.is_bounded() && self.barren >= limits.barren_connections_max {
            return self.finish(End::LocalFailed(reason));
        }
        if self.link == Link::Up {
            self.drop_connection();
            // The connection is kept quiet: what is asked for now has nowhere to go.
            self.link = Link::Parked;
        }
        self.context.trouble(reason);
    }

    fn local_back(&mut self) {
        self.is_local_lost = false;
        if self.link == Link::Parked {
            self.link = Link::Down;
            self.context.effects.push_back(Effect::Reconnect { after: Duration::ZERO });
        }
    }

    fn received(&mut self, message: FromRelay) {
        if self.link != Link::Up {
            return;
        }
        let context = &mut self.context;
        match message {
            FromRelay::Event { sub, event } => {
                if self.tail.owns(&sub) {
                    // An echo may come before its `OK`.
                    if !self.roads.upload.is_sending(&event.view().id()) {
                        self.tail.take(event, context);
                    }
                } else if self.roads.download.owns(&sub) {
                    self.roads.download.take(&sub, event, context);
                } else if self.catch_up.owns_page(&sub) {
                    self.catch_up.take_page_event(&sub, event, context);
                } else {
                    context.unasked();
                }
            }
            FromRelay::Ok { id, accepted, text } if context.login.owns(&id) => {
                context.decided_login(accepted, &text);
            }
            FromRelay::Ok { id, accepted, text } => {
                self.roads.upload.answer(&id, accepted, &text, context);
            }
            FromRelay::Eose { sub, hint } => {
                if self.tail.owns(&sub) {
                    self.tail.end(context);
                } else if self.roads.download.owns(&sub) {
                    self.roads.download.end(&sub, context);
                } else {
                    self.catch_up.end_page(&sub, hint, context);
                }
            }
            FromRelay::Closed { sub, text } => self.closed(&sub, &text),
            FromRelay::Notice { text } => {
                context.trouble(format!("notice: {text}"));
                self.catch_up.noticed(&text, context);
            }
            FromRelay::NegMsg { sub, hex } => self.catch_up.frame(&sub, &hex, context),
            FromRelay::NegErr { sub, text, cap } => {
                self.catch_up.refused(&sub, &text, cap, context);
            }
            FromRelay::Auth { challenge } => context.asked_for_login(challenge),
            FromRelay::Count { .. } => {}
        }
    }

    fn closed(&mut self, sub: &str, text: &str) {
        let context = &mut self.context;
        if self.tail.owns(sub) {
            self.tail.refuse(text, context);
        } else if self.roads.download.owns(sub) {
            self.roads.download.refuse(sub, text, context);
        } else {
            self.catch_up.refused(sub, text, None, context);
        }
    }

    fn unreadable(&mut self, error: &zeolite_proto::FromRelayError) {
        self.context.progress.counts.invalid += 1;
        self.context.trouble(format!("unreadable message: {error}"));
    }

    fn ingested(&mut self, verdicts: &[(EventId, Verdict)]) {
        if !self.wants_messages() {
            // The upstream could not show progress until now.
            self.context.moved();
        }
        for (id, verdict) in verdicts {
            let Some(origin) = self.context.sink.answer(id) else { continue };
            self.context.note_verdict(id, origin, *verdict);
            self.failed_in_row =
                if *verdict == Verdict::Failed { self.failed_in_row + 1 } else { 0 };
        }
        if self.failed_in_row >= FAILED_MAX {
            self.failed_in_row = 0;
            let text = "the local side takes no events";
            self.context.fault = Some(if self.context.settings.once {
                Fault::Fatal(End::LocalFailed(text.into()))
            } else {
                Fault::Connection(text.into())
            });
        }
    }

    fn signed(&mut self, login: &crate::login::Login) {
        if self.link == Link::Up {
            self.context.log_in(login);
        }
    }

    fn local_live(&mut self, event: zeolite_proto::Event) {
        if self.link == Link::Up && !self.is_bounded() && self.context.settings.direction.is_up() {
            self.roads.upload.offer_live(event, &mut self.context);
        }
    }

    /// Works out what is to be done at this moment.
    fn advance(&mut self) {
        if self.link == Link::Up {
            self.advance_connection();
        }
        if let Some(fault) = self.context.fault.take() {
            match fault {
                Fault::Connection(reason) if self.link == Link::Up => self.reconnect(reason),
                Fault::Connection(_) => {}
                Fault::Fatal(end) => self.finish(end),
            }
        }
        let trusted = self.context.settings.trusted;
        self.context.sink.flush(trusted, &mut self.context.effects);
        self.report(false);
        self.set_deadline();
    }

    fn advance_connection(&mut self) {
        let context = &mut self.context;
        self.tail.pump(context);
        if self.tail.is_opening() {
            return self.watch();
        }
        if std::mem::take(&mut context.is_audit_wanted) {
            let soon = context.now + context.settings.limits.backoff_max;
            self.audit_at = self.audit_at.map(|at| at.min(soon));
        }
        let is_audit_due = self.audit_at.is_some_and(|at| context.now >= at);
        if (is_audit_due || self.tail.take_gap()) && !self.catch_up.is_running() {
            if is_audit_due {
                self.catch_up.forget_refusals();
            }
            self.is_catch_up_due = true;
            self.audit_at = None;
        }
        let is_idle = !self.catch_up.is_running() && self.held_end.is_none();
        if std::mem::take(&mut self.is_catch_up_due) || (is_idle && context.login.shows_more()) {
            context.login.take_shows_more();
            self.catch_up.begin(context);
        }
        // Before, for what the catch-up waits for; after, for what it found.
        self.roads.pump(context);
        let ended = self.catch_up.pump(&mut self.roads, context);
        self.roads.pump(context);
        if let Some(end) = ended.or_else(|| self.held_end.take()) {
            self.caught_up(end);
        }
        self.watch();
    }

    /// Until when an end may have to wait for what a login shows.
    fn login_until(&self) -> Option<Duration> {
        self.context.login.deadline().max(self.far_login_until)
    }

    fn caught_up(&mut self, end: End) {
        if self.login_until().is_some_and(|at| self.context.now < at) {
            self.held_end = Some(end);
            return;
        }
        if self.context.login.take_shows_more() {
            // It began before the login: what it could not see was not there for it.
            self.catch_up.read_anew();
            self.is_catch_up_due = true;
            self.is_stale = true;
            return;
        }
        if self.is_bounded() {
            return self.finish(end);
        }
        let mut audit_at = self.context.now + self.context.settings.audit_every;
        if !end.is_success() {
            self.context.trouble(end.to_string());
            audit_at = audit_at.min(self.context.now + RETRY_EVERY);
        }
        if let End::LoginRefused(text) = end
            && text.starts_with("auth-required")
        {
            // The question, or the answer, got lost: the next connection asks anew.
            self.context.fault = Some(Fault::Connection(text));
            return;
        }
        self.audit_at = Some(audit_at);
        self.context.is_fruitful = true;
    }

    fn finish(&mut self, end: End) {
        if self.link == Link::Over {
            return;
        }
        self.link = Link::Over;
        self.report(true);
        let counts = self.context.progress.counts.clone();
        self.context.effects.push_back(Effect::Finished(Box::new(Outcome { end, counts })));
    }
}
