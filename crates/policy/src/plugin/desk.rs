//! When the child is asked, and what happens when it does not answer.
//!
//! ```text
//!           ask                        answer
//! Down ------------> Up  <---------------------------- pending, up to `pending_max`
//!  ^   start          |                                 the others wait
//!  |                  | too late, dead, or no answer at all: kill
//!  +---- pause -------+ what is pending and waiting: by `FailMode`
//! ```

use std::collections::VecDeque;
use std::time::Duration;

use zeolite_proto::{EventId, Reason};

use super::answer;

/// What becomes of events when the child cannot be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailMode {
    /// They are refused with `error:`, so that clients may try again.
    #[default]
    Closed,
    /// They are taken.
    Open,
}

/// How a child is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginSettings {
    /// Questions that are not answered yet, at most; further ones wait.
    pub pending_max: usize,
    /// How long an answer may take before the child is restarted.
    pub answer_max: Duration,
    /// What happens without an answer.
    pub fail: FailMode,
}

/// The pause before the first restart; it doubles up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// The longest pause before a restart.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// What a policy says of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It may be stored.
    Accept,
    /// It is refused, for this reason.
    Reject(Reason),
    /// It is refused, and its sender is told that it was taken.
    ShadowReject,
}

/// What a desk wants done, in this order.
#[derive(Debug, PartialEq, Eq)]
pub enum PluginEffect {
    /// Start the child.
    Start,
    /// Write these lines to the child. This may wait: nothing else must.
    Write(Vec<u8>),
    /// End the child; nothing it still says counts.
    Kill,
    /// The decision about an event.
    Ruled {
        /// The caller's name for it.
        token: u64,
        /// What is decided.
        ruling: Ruling,
    },
    /// Something went wrong with the child, for the log and the metrics.
    Fault(PluginFault),
}

/// What can go wrong with a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginFault {
    /// It did not answer in time.
    Late,
    /// It ended, or could not be started.
    Died,
    /// It wrote a line that is no answer.
    Garbage,
    /// It answered a question that was not asked; the answer is ignored.
    Unasked,
}

struct Question {
    token: u64,
    id: EventId,
    /// When it was written to the child.
    asked: Duration,
}

enum Child {
    /// May be started from then on.
    Down {
        from: Duration,
    },
    Up,
    /// Up, and to be replaced by a fresh one once it has answered everything.
    Leaving,
}

/// Asks one child about events.
pub struct PluginDesk {
    settings: PluginSettings,
    child: Child,
    pause: Duration,
    pending: VecDeque<Question>,
    waiting: VecDeque<(u64, EventId, Vec<u8>)>,
    effects: VecDeque<PluginEffect>,
}

impl PluginDesk {
    /// A desk whose child is started by the first question.
    pub fn new(settings: PluginSettings) -> Self {
        Self {
            settings,
            child: Child::Down { from: Duration::ZERO },
            pause: PAUSE_MIN,
            pending: VecDeque::new(),
            waiting: VecDeque::new(),
            effects: VecDeque::new(),
        }
    }

    /// Asks about an event; `line` is the whole question. Each token gets one ruling.
    ///
    /// Questions wait here without a bound of their own: the caller bounds the events under way.
    pub fn ask(&mut self, now: Duration, token: u64, id: EventId, line: Vec<u8>) {
        if let Child::Down { from } = self.child {
            if now < from {
                return self.rule_without(token);
            }
            self.child = Child::Up;
            self.effects.push_back(PluginEffect::Start);
        }
        self.waiting.push_back((token, id, line));
        self.write(now);
    }

    /// Takes a line of the child's.
    pub fn answered(&mut self, now: Duration, line: &[u8]) {
        if matches!(self.child, Child::Down { .. }) {
            return;
        }
        let Some((id, ruling)) = answer::read(line) else {
            return self.fail(now, PluginFault::Garbage);
        };
        // Most answers come in the order of the questions.
        let Some(at) = self.pending.iter().position(|question| question.id == id) else {
            return self.effects.push_back(PluginEffect::Fault(PluginFault::Unasked));
        };
        self.pause = PAUSE_MIN;
        if let Some(Question { token, .. }) = self.pending.remove(at) {
            self.effects.push_back(PluginEffect::Ruled { token, ruling });
        }
        if self.pending.is_empty() && matches!(self.child, Child::Leaving) {
            self.child = Child::Up;
            self.effects.extend([PluginEffect::Kill, PluginEffect::Start]);
        }
        self.write(now);
    }

    /// The child ended, cannot be written to, or could not be started.
    pub fn died(&mut self, now: Duration) {
        if !matches!(self.child, Child::Down { .. }) {
            self.fail(now, PluginFault::Died);
        }
    }

    /// The program has changed: once everything pending is answered, a fresh child takes over.
    pub fn reload(&mut self, now: Duration) {
        match self.child {
            Child::Down { .. } => self.child = Child::Down { from: now },
            Child::Up | Child::Leaving if self.pending.is_empty() => {
                self.child = Child::Down { from: now };
                self.effects.push_back(PluginEffect::Kill);
            }
            Child::Up | Child::Leaving => self.child = Child::Leaving,
        }
    }

    /// To be called when [`Self::deadline`] is reached, or at any other time.
    pub fn tick(&mut self, now: Duration) {
        if self.deadline().is_some_and(|deadline| now >= deadline) {
            self.fail(now, PluginFault::Late);
        }
    }

    /// When the oldest pending question is answered too late.
    pub fn deadline(&self) -> Option<Duration> {
        // Questions are written in order, so the first is the oldest.
        self.pending.front().map(|question| question.asked + self.settings.answer_max)
    }

    /// The next effect.
    pub fn poll(&mut self) -> Option<PluginEffect> {
        self.effects.pop_front()
    }

    fn write(&mut self, now: Duration) {
        if !matches!(self.child, Child::Up) {
            return;
        }
        while self.pending.len() < self.settings.pending_max
            && let Some((token, id, line)) = self.waiting.pop_front()
        {
            self.pending.push_back(Question { token, id, asked: now });
            match self.effects.back_mut() {
                Some(PluginEffect::Write(lines)) => lines.extend_from_slice(&line),
                _ => self.effects.push_back(PluginEffect::Write(line)),
            }
        }
    }

    /// Gives the child up, and decides without it what it was asked.
    fn fail(&mut self, now: Duration, fault: PluginFault) {
        self.effects.extend([PluginEffect::Fault(fault), PluginEffect::Kill]);
        self.child = Child::Down { from: now + self.pause };
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        let pending = self.pending.drain(..).map(|question| question.token);
        let waiting = self.waiting.drain(..).map(|(token, ..)| token);
        let tokens: Vec<_> = pending.chain(waiting).collect();
        for token in tokens {
            self.rule_without(token);
        }
    }

    fn rule_without(&mut self, token: u64) {
        let ruling = match self.settings.fail {
            FailMode::Closed => Ruling::Reject(Reason::error("the policy gave no answer")),
            FailMode::Open => Ruling::Accept,
        };
        self.effects.push_back(PluginEffect::Ruled { token, ruling });
    }
}

#[cfg(test)]
mod tests;
