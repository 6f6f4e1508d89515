//! One WebSocket connection.
//!
//! `read` turns frames into messages and runs the session; `write` empties the outbox into the
//! socket and owns the connection's end. Everything else reaches the client through its [`Conn`].

mod message;
mod meter;
mod purse;
mod read;
mod write;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

pub(crate) use write::run;

use crate::clients::Visitor;
use crate::login::{Login, LoginDesk};
use crate::outbox::{Outbox, OutboxBounds};
use crate::query::Lane;

/// A connection of this process; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

impl fmt::Display for ConnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What others may know of a connection.
pub struct Conn {
    /// Its name.
    pub id: ConnId,
    /// Where the client is, and what it may spend.
    pub visitor: Box<Visitor>,
    /// Who the client has shown to be.
    pub login: Login,
    /// What waits for its socket.
    pub outbox: Outbox,
    /// What the query workers have to do for it.
    pub lane: Lane,
    /// Looks at a client that has not been heard of since.
    silent_rounds: AtomicU8,
}

impl Conn {
    /// A connection that has neither sent nor asked anything.
    pub fn new(
        id: ConnId,
        visitor: Visitor,
        desk: &Arc<LoginDesk>,
        bounds: impl Into<Arc<OutboxBounds>>,
    ) -> Self {
        let silent_rounds = AtomicU8::new(0);
        Self {
            id,
            visitor: Box::new(visitor),
            login: Login::new(desk),
            outbox: Outbox::new(bounds),
            lane: Lane::default(),
            silent_rounds,
        }
    }

    /// Sends what refuses something until the client has logged in, and the challenge before it.
    pub(crate) fn demand_login(&self, refusal: impl FnOnce(&Outbox)) {
        self.login.challenge(self.id, &self.outbox);
        refusal(&self.outbox);
    }

    pub(crate) fn mark_heard(&self) {
        self.silent_rounds.store(0, Ordering::Relaxed);
    }

    /// How many calls there were before this one since the client was heard of.
    pub(crate) fn silent_rounds(&self) -> u8 {
        self.silent_rounds.fetch_add(1, Ordering::Relaxed)
    }
}
