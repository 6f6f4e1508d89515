//! One open `REQ`, as query workers and fan-out share it.

use std::fmt;
use std::sync::Arc;

use zeolite_proto::{Event, Filter, Reason, RelayMsg, SubId};
use zeolite_session::SubKey;

use crate::conn::{Conn, ConnId};
use crate::fanout::Feed;
use crate::outbox::{Offer, Room, Ticket};

/// One open `REQ`.
pub struct Subscription {
    conn: Arc<Conn>,
    key: SubKey,
    sub: SubId,
    filters: Arc<[Filter]>,
    /// What stands before the event in each of its messages.
    head: Box<[u8]>,
    ticket: Ticket,
}

impl Subscription {
    /// A subscription that has been sent nothing.
    pub fn new(conn: Arc<Conn>, key: SubKey, sub: SubId, filters: Arc<[Filter]>) -> Arc<Self> {
        let head = sub.event_head();
        Arc::new(Self { conn, key, sub, filters, head, ticket: Ticket::default() })
    }

    /// Which of its connection's subscriptions it is.
    pub fn key(&self) -> SubKey {
        self.key
    }

    /// Its id on the wire.
    pub fn sub(&self) -> &SubId {
        &self.sub
    }

    /// The connection it belongs to.
    pub fn conn(&self) -> &Arc<Conn> {
        &self.conn
    }

    /// What it wants.
    pub fn filters(&self) -> &Arc<[Filter]> {
        &self.filters
    }

    /// What stands before the event in each of its messages; `]` ends them.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// False once it was closed, replaced or ended.
    pub fn is_active(&self) -> bool {
        self.ticket.is_active()
    }

    /// Adds encoded frames of this subscription to the outbox; see
    /// [`Outbox::results`](crate::outbox::Outbox::results).
    pub fn results(&self, frames: &mut Vec<u8>) -> Room {
        self.conn.outbox.results(&self.ticket, frames)
    }

    /// Ends it at the client's wish: nothing of it follows.
    pub fn end(&self) {
        self.conn.outbox.end(&self.ticket);
    }

    /// Ends it at the relay's wish with a `CLOSED`.
    pub fn end_with(&self, reason: Reason) {
        let closed = RelayMsg::Closed(self.sub.as_str(), reason);
        self.conn.outbox.end_with(&self.ticket, self.key, &closed);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of connection {}", self.key, self.conn.id)
    }
}

impl Feed for Arc<Subscription> {
    fn conn(&self) -> ConnId {
        self.conn.id
    }

    fn key(&self) -> SubKey {
        self.key
    }

    fn filters(&self) -> &Arc<[Filter]> {
        &self.filters
    }

    /// Of a connection that is gone the fan-out was told before: it would not hear of it again.
    fn is_active(&self) -> bool {
        self.ticket.is_active() && !self.conn.outbox.is_closing()
    }

    fn may_read(&self, event: &Event) -> bool {
        self.conn.login.may_read(event)
    }

    fn offer(&self, event: &Event, at_once: bool) -> Offer {
        self.conn.outbox.live(&self.ticket, &[&self.head, event.json(), b"]"], at_once)
    }

    fn end_too_slow(&self) {
        self.end_with(Reason::error("too slow: the client reads less than it subscribed to"));
    }
}
