//! One window compared by NIP-77: our side of the session, and what ends it.

use std::time::Duration;

use zeolite_proto::EventId;

use super::context::{Context, Scope};
use super::effect::{Effect, ReconcileStep};
use super::input::{JobId, ReconcileFault};
use super::job::{Job, Roads};
use super::refusal::Refusal;
use super::wire;

/// Whose turn it is.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    /// The local side makes the next message.
    Local,
    /// The message waits until there is room for what its answer may list.
    Held(Vec<u8>),
    /// The upstream answers.
    Peer { since: Duration },
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All is said; `differs` if something was found that nothing explains, `cut` if there may be
    /// more than was said.
    Done { differs: bool, cut: bool },
    /// Something was found before deletions were pulled: they come first.
    DeletionsFirst,
    /// The window is too large for either side.
    TooLarge(String),
    /// The same again, later.
    Busy(String),
    /// A login is wanted.
    Auth(String),
    /// The upstream does not reconcile.
    Absent(String),
    /// The local side failed.
    LocalFailed(String),
}

/// One window under comparison. Dropping it without [`Comparison::close`] leaves the upstream's
/// session and the local set open.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) job: Job,
    id: JobId,
    sub: Box<str>,
    turn: Turn,
    /// Whether the upstream has a session, as far as it is known.
    is_open: bool,
    /// Whether the upstream has answered.
    is_answered: bool,
    differs: bool,
    /// There was no room for all that was found.
    overflows: bool,
    /// End at the first difference.
    is_probe: bool,
}

impl Comparison {
    /// Asks the local side for the first message. A probe ends at the first difference.
    pub(super) fn start(job: Job, is_probe: bool, context: &mut Context) -> Self {
        let id = context.job();
        let filter = job.filter(context);
        // M-01: a frame in hex, and the rest of the message, must go through the peer's limit.
        let by_peer = context.message_bytes_max().saturating_sub(100 + filter_bytes(&filter)) / 2;
        let frame_bytes_max = context.settings.limits.frame_bytes_max.min(by_peer).max(4096);
        let step = ReconcileStep::Start { filter, frame_bytes_max };
        context.effects.push_back(Effect::Reconcile { job: id, step });
        context.progress.counts.reconciliations += 1;
        Self {
            job,
            id,
            sub: context.name('n'),
            turn: Turn::Local,
            is_open: false,
            is_answered: false,
            differs: false,
            overflows: false,
            is_probe,
        }
    }

    pub(super) fn is(&self, job: JobId) -> bool {
        self.id == job
    }

    pub(super) fn owns(&self, sub: &str) -> bool {
        *self.sub == *sub
    }

    /// Whether the upstream owes an answer.
    pub(super) fn is_asking(&self) -> bool {
        matches!(self.turn, Turn::Peer { .. })
    }

    /// Whether the upstream owes its very first answer.
    pub(super) fn is_unanswered(&self) -> bool {
        self.is_asking() && !self.is_answered
    }

    /// Until when the first answer must come.
    pub(super) fn deadline(&self, context: &Context) -> Option<Duration> {
        match self.turn {
            Turn::Peer { since } if !self.is_answered => {
                Some(since + context.settings.limits.first_frame_max)
            }
            _ => None,
        }
    }

    /// The local side's answer.
    pub(super) fn reconciled(
        &mut self,
        next: Option<Vec<u8>>,
        have: &[EventId],
        need: &[EventId],
        roads: &mut Roads,
        context: &mut Context,
    ) -> Option<Ended> {
        let scope = self.job.scope;
        if self.is_probe && roads.differ(have, need, scope, context) {
            return Some(Ended::DeletionsFirst);
        }
        let found = roads.take(scope, have, need, context);
        self.differs |= found.any;
        self.overflows |= found.too_many;
        match next {
            None => Some(Ended::Done { differs: self.differs, cut: self.overflows }),
            Some(message) => {
                self.turn = Turn::Held(message);
                self.pump(roads, context);
                None
            }
        }
    }

    /// Sends the next message when there is room for its answer.
    pub(super) fn pump(&mut self, roads: &Roads, context: &mut Context) {
        if !roads.have_room(context) {
            return;
        }
        let since = context.now;
        match std::mem::replace(&mut self.turn, Turn::Peer { since }) {
            Turn::Held(message) => self.say(&message, context),
            other => self.turn = other,
        }
    }

    fn say(&mut self, message: &[u8], context: &mut Context) {
        context.moved();
        let text = if self.is_open {
            wire::neg_msg(&self.sub, message)
        } else {
            wire::neg_open(&self.sub, &self.job.filter(context), message)
        };
        self.is_open = true;
        context.send(text);
    }

    /// A frame of the upstream.
    pub(super) fn answered(&mut self, hex: &str, context: &mut Context) -> Option<Ended> {
        if !self.is_asking() {
            return None;
        }
        let Some(message) = wire::unhex(hex) else {
            return Some(Ended::Absent("frames are not hex".into()));
        };
        context.moved();
        context.progress.counts.rounds += 1;
        self.is_answered = true;
        self.turn = Turn::Local;
        let step = ReconcileStep::Answer { message };
        context.effects.push_back(Effect::Reconcile { job: self.id, step });
        None
    }

    /// The upstream ended the session.
    pub(super) fn refused(&mut self, refusal: Refusal, text: &str) -> Ended {
        self.is_open = false;
        self.judge(refusal, text)
    }

    /// A notice while the first answer is due; `None` if it has nothing to do with it.
    pub(super) fn noticed(&mut self, text: &str, context: &mut Context) -> Option<Ended> {
        let refusal = context.refusal_by_notice(text)?;
        Some(self.judge(refusal, text))
    }

    /// Only a size refusal splits (case 13).
    fn judge(&self, refusal: Refusal, text: &str) -> Ended {
        let text = text.to_owned();
        match refusal {
            Refusal::TooLarge => Ended::TooLarge(text),
            Refusal::Auth => Ended::Auth(text),
            // What was found so far is on its way, and the next round finds the rest.
            _ if self.differs => Ended::Done { differs: true, cut: true },
            Refusal::Busy | Refusal::Ended => Ended::Busy(text),
            Refusal::Final => Ended::Absent(text),
        }
    }

    /// The local side cannot go on.
    pub(super) fn failed(&self, cause: ReconcileFault) -> Ended {
        match cause {
            ReconcileFault::TooLarge { cap } => Ended::TooLarge(match cap {
                Some(cap) => format!("more than {cap} events here"),
                None => "too many events here".into(),
            }),
            ReconcileFault::Malformed(text) => Ended::Absent(text),
            ReconcileFault::Busy(text) => Ended::Busy(text),
            ReconcileFault::Unsupported(text) => Ended::Absent(text),
            ReconcileFault::Failed(text) => Ended::LocalFailed(text),
        }
    }

    /// Frees what both sides hold for it.
    pub(super) fn close(self, is_connected: bool, context: &mut Context) -> Job {
        if self.is_open && is_connected {
            context.send(wire::neg_close(&self.sub));
        }
        context.effects.push_back(Effect::EndReconcile { job: self.id });
        self.job
    }

    /// Whether it is about deletions.
    pub(super) fn is_for(&self, scope: Scope) -> bool {
        self.job.scope == scope
    }
}

/// Bytes of a filter on the wire.
pub(super) fn filter_bytes(filter: &zeolite_proto::Filter) -> usize {
    let mut out = Vec::new();
    filter.push_json(&mut out);
    out.len()
}
