//! The mirror's side of everything but IO: one machine for one upstream, in either direction.
//!
//! Drive it so: [`Machine::new`]; then carry out every [`Effect`] that [`Machine::poll`] gives until
//! it gives `None`; then wait for the next thing that happens, tell it by [`Machine::handle`], and
//! poll again. `now` is the time since any fixed moment, never going back. Several inputs may be
//! handled before one poll: effects are then fewer and larger.
//!
//! While [`Machine::wants_messages`] is false the worker leaves the socket unread, so that a local
//! side that is slower than the upstream slows the upstream down.

mod effect;
mod input;
mod limits;
mod progress;
mod settings;

use std::collections::VecDeque;
use std::time::Duration;

pub use effect::{Effect, ReconcileStep};
pub use input::{Input, JobId, ReconcileFault, Verdict};
pub use limits::{Limits, PeerLimits};
pub use progress::{Counts, End, Method, Outcome, Phase, Progress};
pub use settings::{Direction, Mode, Settings};

/// Mirrors between one upstream and the local side.
pub struct Machine {
    settings: Settings,
    effects: VecDeque<Effect>,
    progress: Progress,
}

impl Machine {
    /// A machine that begins by asking for a connection.
    pub fn new(settings: Settings) -> Self {
        let effects = VecDeque::from([Effect::Reconnect { after: Duration::ZERO }]);
        Self { settings, effects, progress: Progress::default() }
    }

    /// Takes what happened at `now`.
    pub fn handle(&mut self, _now: Duration, input: Input) {
        if let Input::Stop = input {
            let outcome = Outcome { end: End::Stopped, counts: self.progress.counts.clone() };
            self.effects.push_back(Effect::Finished(Box::new(outcome)));
        }
    }

    /// The next thing to do, until `None`.
    pub fn poll(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// False while the upstream's messages must wait for the local side.
    pub fn wants_messages(&self) -> bool {
        true
    }

    /// What the operator decided.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Where the mirror stands.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }
}
