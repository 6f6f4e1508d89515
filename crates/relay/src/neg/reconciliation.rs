//! One `NEG-OPEN` of a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use zeolite_proto::{Filter, Reason, RelayMsg, SubId};
use zeolite_reconcile::SortedSet;
use zeolite_session::NegKey;
use zeolite_store::{LiveSet, SetBuild};

use super::memory::Holding;
use super::open::Reconciliations;
use crate::conn::Conn;
use crate::outbox::{Room, Ticket};

/// One reconciliation, as reader and query workers share it.
pub struct Reconciliation {
    pub(super) all: Arc<Reconciliations>,
    pub(super) conn: Arc<Conn>,
    pub(super) key: NegKey,
    pub(super) sub: SubId,
    pub(super) filter: Filter,
    ticket: Ticket,
    /// Held by a worker while it answers.
    pub(super) held: Mutex<Held>,
    /// Bytes of the set as they were last counted.
    set_bytes: AtomicUsize,
    messages: Mutex<Messages>,
}

/// Where a session's items come from.
pub(super) enum Held {
    /// Nobody has asked for them yet, or nobody will again.
    Nothing,
    /// The store keeps the set.
    Live(LiveSet),
    /// The set is being built.
    Building(Box<SetBuild>, Holding),
    /// The set was built; its memory is given back with it.
    Built { set: SortedSet, _memory: Holding },
}

/// The alternation of messages and answers.
struct Messages {
    /// Messages without an answer.
    waiting: usize,
    /// When the last message came or was answered.
    last: Instant,
}

impl Reconciliation {
    pub(super) fn new(
        all: &Arc<Reconciliations>,
        conn: &Arc<Conn>,
        key: NegKey,
        sub: SubId,
        filter: Filter,
    ) -> Self {
        Self {
            all: Arc::clone(all),
            conn: Arc::clone(conn),
            key,
            sub,
            filter,
            ticket: Ticket::default(),
            held: Mutex::new(Held::Nothing),
            set_bytes: AtomicUsize::new(0),
            messages: Mutex::new(Messages { waiting: 0, last: Instant::now() }),
        }
    }

    /// Which of its connection's reconciliations it is.
    pub fn key(&self) -> NegKey {
        self.key
    }

    /// False once it was closed, replaced or ended.
    pub fn is_active(&self) -> bool {
        self.ticket.is_active()
    }

    /// A message came.
    pub(super) fn heard(&self) {
        let mut messages = self.messages.lock();
        messages.waiting += 1;
        messages.last = Instant::now();
    }

    /// A message was answered.
    pub(super) fn answered(&self) {
        let mut messages = self.messages.lock();
        messages.waiting -= 1;
        messages.last = Instant::now();
    }

    /// Whether it is the client's turn, and has been for so long.
    pub(super) fn is_idle(&self, now: Instant, idle_max: Duration) -> bool {
        let messages = self.messages.lock();
        messages.waiting == 0 && now.saturating_duration_since(messages.last) >= idle_max
    }

    pub(super) fn set_bytes(&self) -> usize {
        self.set_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn note_set_bytes(&self, bytes: usize) {
        self.set_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Adds encoded frames to the outbox, unless it has ended.
    pub(super) fn send(&self, frames: &mut Vec<u8>) -> Room {
        self.conn.outbox.results(&self.ticket, frames)
    }

    /// Ends it at the client's wish: nothing of it follows.
    pub(crate) fn end(&self) {
        self.conn.outbox.end(&self.ticket);
        self.let_go();
    }

    /// Ends it at the relay's wish with a `NEG-ERR`, whose fourth element is `items_max`.
    pub(super) fn end_with(&self, reason: Reason, items_max: Option<u64>) {
        let error = RelayMsg::NegErr(self.sub.as_str(), reason, items_max);
        self.conn.outbox.end_unnamed(&self.ticket, &error);
        self.let_go();
    }

    /// Drops the set. A worker that holds it at this moment drops it when it is through.
    fn let_go(&self) {
        self.all.forget(self.conn.id, self.key);
        self.note_set_bytes(0);
        if let Some(mut held) = self.held.try_lock() {
            *held = Held::Nothing;
        }
    }
}
