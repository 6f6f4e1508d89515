//! The shell around a pair: two relays, neither of them ours, and nothing kept of either.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zeolite_proto::{FromRelay, Timestamp};

use super::link::{Arrived, Link, LinkEvent};
use super::{Ended, Refusals, look_at_progress, publish, until};
use crate::address::RelayAddress;
use crate::login::SignsLogins;
use crate::machine::{Effect, Input, Outcome, Pair, Progress, Settings, Side};
use crate::socket::Connector;

/// What a mirror between two relays is made of.
pub struct PairMirror {
    /// Where "down" comes from, and how to connect to it.
    pub from: (RelayAddress, Connector),
    /// Where it goes to.
    pub into: (RelayAddress, Connector),
    /// Signs logins at both, where there is a key.
    pub login: Option<Arc<dyn SignsLogins>>,
    /// What to do.
    pub settings: Settings,
    /// The time of day.
    pub clock: fn() -> Timestamp,
    /// Is told where the mirror stands.
    pub progress: watch::Sender<Progress>,
}

struct PairWorker {
    pair: Pair,
    login: Option<Arc<dyn SignsLogins>>,
    start: Instant,
    clock: fn() -> Timestamp,
    deadline: Option<Instant>,
    from: Link,
    into: Link,
    progress: watch::Sender<Progress>,
    refusals: Refusals,
    outcome: Option<Outcome>,
}

impl PairMirror {
    /// Runs the mirror until it ends by itself or `stop` is cancelled.
    pub async fn run(self, stop: CancellationToken) -> Ended {
        let mut worker = PairWorker {
            pair: Pair::new(Settings { has_key: self.login.is_some(), ..self.settings }),
            login: self.login,
            start: Instant::now(),
            clock: self.clock,
            deadline: None,
            from: Link::new(self.from.0, self.from.1),
            into: Link::new(self.into.0, self.into.1),
            progress: self.progress,
            refusals: Refusals::default(),
            outcome: None,
        };
        let mut is_stopping = false;
        let mut look = look_at_progress();
        loop {
            worker.carry_out_all();
            if let Some(outcome) = worker.outcome.take() {
                tokio::join!(worker.from.close(), worker.into.close());
                return Ended { outcome, refusals: worker.refusals };
            }
            let wants_from = worker.pair.wants_messages(Side::From);
            let wants_into = worker.pair.wants_messages(Side::Into);
            tokio::select! {
                () = stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    worker.handle(Side::From, Input::Stop);
                }
                () = until(worker.deadline) => {
                    worker.deadline = None;
                    worker.handle(Side::From, Input::DeadlineReached);
                }
                _ = look.tick() => publish(&worker.progress, worker.pair.progress()),
                event = worker.into.next(wants_into) => worker.heard(Side::Into, event),
                event = worker.from.next(wants_from) => worker.heard(Side::From, event),
            }
        }
    }
}

impl PairWorker {
    fn handle(&mut self, side: Side, input: Input) {
        self.pair.handle(self.start.elapsed(), side, input);
    }

    fn heard(&mut self, side: Side, event: LinkEvent) {
        match event {
            LinkEvent::Up(peer) => {
                let wall = (self.clock)();
                self.handle(side, Input::Connected { wall, peer });
            }
            LinkEvent::Down(reason) => self.handle(side, Input::Disconnected { reason }),
            LinkEvent::Arrived(batch) => {
                for arrived in batch {
                    self.arrived(side, arrived);
                }
            }
        }
    }

    fn arrived(&mut self, side: Side, arrived: Arrived) {
        if let Arrived::Message(FromRelay::Ok { accepted: false, text, .. }) = &arrived {
            self.refusals.count_said(side == Side::Into, text);
        }
        self.handle(
            side,
            match arrived {
                Arrived::Message(message) => Input::Received(message),
                Arrived::Unreadable(error) => Input::Unreadable(error),
            },
        );
    }

    fn carry_out_all(&mut self) {
        while let Some((side, effect)) = self.pair.poll() {
            self.carry_out(side, effect);
        }
        self.from.send_all();
        self.into.send_all();
    }

    fn carry_out(&mut self, side: Side, effect: Effect) {
        let link = match side {
            Side::From => &mut self.from,
            Side::Into => &mut self.into,
        };
        match effect {
            Effect::Send(text) => link.push(text),
            Effect::LogIn { challenge } => {
                if let Some(login) = link.sign(self.login.as_deref(), &challenge) {
                    self.handle(side, Input::Signed(login));
                }
            }
            Effect::Reconnect { after } => link.reconnect(after),
            Effect::Deadline(at) => self.deadline = Some(self.start + at),
            Effect::Report(progress) => _ = self.progress.send_replace(*progress),
            Effect::Finished(outcome) => self.outcome = Some(*outcome),
            // A pair asks nothing of a local side: it has none.
            other => debug_assert!(false, "not of a pair: {other:?}"),
        }
    }
}
