//! Between two relays, neither of which is ours.

use std::collections::VecDeque;
use std::time::Duration;

use super::Machine;
use super::bridge::{Bridge, BridgeEffect};
use super::effect::Effect;
use super::input::Input;
use super::progress::Progress;
use super::settings::Settings;

/// Which relay of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The one that a mirror's "down" comes from.
    From,
    /// The one that takes the place of the local side.
    Into,
}

/// Mirrors between two relays. Driven like a [`Machine`], with these differences: inputs and effects
/// name their side; of the effects only `Send`, `LogIn`, `Reconnect`, `Deadline`, `Report` and `Finished`
/// come, and of the inputs only `Signed`, `Connected`, `Disconnected`, `Received`, `Unreadable`,
/// `DeadlineReached` and `Stop` go. `Deadline` and `DeadlineReached` concern both sides, whichever
/// they name; `Report` and `Finished` come from [`Side::From`].
pub struct Pair {
    machine: Machine,
    bridge: Bridge,
    effects: VecDeque<(Side, Effect)>,
    now: Duration,
    deadline: Option<Duration>,
    is_stale: bool,
    is_over: bool,
}

impl Pair {
    /// A pair that begins by asking for both connections.
    pub fn new(settings: Settings) -> Self {
        let bridge = Bridge::new(&settings);
        let mut machine = Machine::new(settings);
        machine.is_local_lost = true;
        Self {
            machine,
            bridge,
            effects: VecDeque::new(),
            now: Duration::ZERO,
            deadline: None,
            is_stale: true,
            is_over: false,
        }
    }

    /// Where the mirror stands; `stored` counts what the other relay took.
    pub fn progress(&self) -> &Progress {
        self.machine.progress()
    }

    /// False while this side's messages must wait.
    pub fn wants_messages(&self, side: Side) -> bool {
        side == Side::Into || self.machine.wants_messages()
    }

    /// Takes what happened at `now`.
    pub fn handle(&mut self, now: Duration, side: Side, input: Input) {
        self.now = now.max(self.now);
        self.is_stale = true;
        match (side, input) {
            (_, Input::DeadlineReached) => {
                self.deadline = None;
                self.machine.handle(self.now, Input::DeadlineReached);
            }
            (Side::From, input) | (_, input @ Input::Stop) => self.machine.handle(self.now, input),
            (Side::Into, Input::Connected { wall, peer }) => {
                self.bridge.context.now = self.now;
                self.bridge.connected(wall, peer);
            }
            (Side::Into, Input::Disconnected { reason }) => self.bridge.lose(reason),
            (Side::Into, Input::Received(message)) => {
                self.bridge.context.now = self.now;
                self.bridge.received(message);
            }
            (Side::Into, Input::Signed(login)) => self.bridge.context.log_in(&login),
            // What cannot be read moves nothing; what is answered by it runs into its time limit.
            (Side::Into, _) => {}
        }
    }

    /// The next thing to do, until `None`.
    pub fn poll(&mut self) -> Option<(Side, Effect)> {
        if self.effects.is_empty() && std::mem::take(&mut self.is_stale) && !self.is_over {
            self.settle();
            self.set_deadline();
        }
        self.effects.pop_front()
    }

    /// Lets both parts talk until neither has anything to say.
    fn settle(&mut self) {
        loop {
            self.bridge.advance(self.now);
            if let Some(text) = self.bridge.context.auth_wanted.take() {
                self.machine.context.auth_wanted = Some(text);
            }
            // What was compared before a login at the far relay may have been too little.
            self.machine.far_login_until = self.bridge.context.login.deadline();
            if self.bridge.context.login.take_shows_more() {
                self.machine.context.login.note_more();
            }
            let mut is_quiet = true;
            while let Some(effect) = self.bridge.poll() {
                is_quiet = false;
                match effect {
                    BridgeEffect::Far(effect) => self.effects.push_back((Side::Into, effect)),
                    BridgeEffect::Tell(input) => self.machine.handle(self.now, input),
                }
            }
            while let Some(effect) = self.machine.poll() {
                is_quiet &= !self.route(effect);
            }
            if is_quiet || self.is_over {
                return;
            }
        }
    }

    /// True if the bridge has something to do now.
    fn route(&mut self, effect: Effect) -> bool {
        match effect {
            // Both parts' deadlines are worked out together.
            Effect::Deadline(_) => false,
            Effect::Send(_)
            | Effect::Reconnect { .. }
            | Effect::LogIn { .. }
            | Effect::Report(_) => {
                self.effects.push_back((Side::From, effect));
                false
            }
            Effect::Finished(_) => {
                self.is_over = true;
                self.effects.push_back((Side::From, effect));
                false
            }
            local => {
                self.bridge.take(local);
                true
            }
        }
    }

    fn set_deadline(&mut self) {
        let next = [self.machine.deadline, self.bridge.deadline()].into_iter().flatten().min();
        if let Some(at) = next.filter(|at| self.deadline != Some(*at) && !self.is_over) {
            self.effects.push_back((Side::From, Effect::Deadline(at)));
        }
        self.deadline = next;
    }
}
