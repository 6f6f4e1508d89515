//! The live subscription at the upstream: opened before anything else, so that nothing that comes
//! while sets are compared is missed. It has no `since`, which would hide back-dated events (case 27).

use std::time::Duration;

use zeolite_proto::{Event, Filter, Kind};

use super::backoff::Backoff;
use super::context::Context;
use super::refusal::Refusal;
use super::sink::Origin;
use super::wire;

#[derive(Debug)]
enum State {
    /// No subscription, and none wanted.
    Off,
    /// Asked for.
    Opening { sub: Box<str>, since: Duration },
    /// Live.
    Open { sub: Box<str>, since: Duration },
    /// Ended by the upstream; to be opened again.
    Closed { retry_at: Duration },
}

/// The live subscription.
#[derive(Debug)]
pub(super) struct Tail {
    state: State,
    /// Stored events to ask for: none, or one where the upstream does not take 0.
    limit: u64,
    backoff: Backoff,
    /// Events may have been missed: it was closed and opened again.
    has_gap: bool,
}

impl Tail {
    pub(super) fn new(context: &Context) -> Self {
        let limits = &context.settings.limits;
        let seed = context.settings.seed ^ 0x7a;
        let backoff = Backoff::new(limits.backoff_min, limits.backoff_max, seed);
        Self { state: State::Off, limit: 0, backoff, has_gap: false }
    }

    /// Opens the subscription.
    pub(super) fn open(&mut self, context: &mut Context) {
        let settings = &context.settings;
        let limited = |filter: &Filter| Filter { limit: Some(self.limit), ..filter.clone() };
        let mut filters = vec![limited(&context.content)];
        // Requests outside the mirror's own filter are followed beside it.
        filters.extend(
            context
                .deletions
                .as_ref()
                .map(limited)
                .filter(|deletions| settings.filter.authors.is_some() && *deletions != filters[0]),
        );
        let sub = context.name('t');
        context.send(wire::req(&sub, &filters));
        context.moved();
        self.state = State::Opening { sub, since: context.now };
    }

    /// Forgets the connection.
    pub(super) fn reset(&mut self) {
        self.state = State::Off;
        self.has_gap = false;
    }

    pub(super) fn owns(&self, sub: &str) -> bool {
        match &self.state {
            State::Opening { sub: own, .. } | State::Open { sub: own, .. } => **own == *sub,
            State::Off | State::Closed { .. } => false,
        }
    }

    /// Whether the catch-up has to wait for it.
    pub(super) fn is_opening(&self) -> bool {
        matches!(self.state, State::Opening { .. })
    }

    /// Whether events may have been missed since it was last asked.
    pub(super) fn take_gap(&mut self) -> bool {
        std::mem::take(&mut self.has_gap)
    }

    pub(super) fn deadline(&self, context: &Context) -> Option<Duration> {
        match self.state {
            State::Opening { since, .. } => Some(since + context.settings.limits.tail_eose_max),
            State::Closed { retry_at } => Some(retry_at),
            State::Off | State::Open { .. } => None,
        }
    }

    /// Acts on the time.
    pub(super) fn pump(&mut self, context: &mut Context) {
        let is_due = self.deadline(context).is_some_and(|deadline| context.now >= deadline);
        match &mut self.state {
            State::Opening { sub, .. } if is_due => {
                // It may be live all the same.
                let sub = std::mem::take(sub);
                context
                    .trouble("the upstream does not end the stored part of the live subscription");
                self.state = State::Open { sub, since: context.now };
            }
            State::Closed { .. } if is_due => {
                self.has_gap = true;
                self.open(context);
            }
            _ => {}
        }
    }

    /// An event of the subscription.
    pub(super) fn take(&mut self, event: Event, context: &mut Context) {
        let view = event.view();
        let is_deletion = matches!(view.kind(), Kind::DELETION | Kind::VANISH)
            && context.deletions.as_ref().is_some_and(|deletions| deletions.matches(view));
        if view.kind() == Kind::AUTH || !(context.content.matches(view) || is_deletion) {
            return context.unasked();
        }
        let id = view.id();
        // What we sent up comes back: it is no news. What is refused here stays refused.
        let is_echo = context.recent.get(&id).is_some_and(|taken| taken > 0);
        if !is_echo && !context.refused_here.contains(&id) {
            context.ingest(event, Origin::Live);
        }
    }

    /// The stored part is over, if this is the one.
    pub(super) fn end_if(&mut self, sub: &str, context: &mut Context) {
        if self.owns(sub) {
            self.end(context);
        }
    }

    /// The stored part is over.
    pub(super) fn end(&mut self, context: &mut Context) {
        if let State::Opening { sub, .. } = &mut self.state {
            self.state = State::Open { sub: std::mem::take(sub), since: context.now };
            context.moved();
        }
    }

    /// The upstream refuses or ends it.
    pub(super) fn refuse(&mut self, text: &str, context: &mut Context) {
        context.trouble(format!("the live subscription is refused: {text}"));
        let was_opening = self.is_opening();
        if let State::Open { since, .. } = self.state {
            // Some relays end a subscription that asks for nothing stored as soon as they have said
            // so: what did not last counts as one failure more.
            if context.now >= since + context.settings.limits.backoff_max {
                self.backoff.reset();
            } else {
                self.limit = 1;
            }
        }
        let refusal = context.refusal(text, None);
        if refusal == Refusal::Auth {
            context.auth_wanted = Some(text.to_owned());
            self.state = State::Off;
        } else if was_opening && self.limit == 0 && refusal == Refusal::Final {
            self.limit = 1;
            self.open(context);
        } else {
            self.state = State::Closed { retry_at: context.now + self.backoff.next() };
        }
    }
}
