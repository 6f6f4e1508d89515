//! Who is connected: the cap on sockets, and the list that a stop and the pings go through.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;
use tokio::sync::Notify;

use crate::clients::Visitor;
use crate::conn::{Conn, ConnId};
use crate::login::LoginDesk;
use crate::outbox::OutboxBounds;

/// Pings without any sign of life after which a client is closed.
const PINGS_UNANSWERED_MAX: u8 = 2;

/// All sockets of this process.
pub(crate) struct Registry {
    seats_max: usize,
    seats_taken: Arc<AtomicUsize>,
    next_id: AtomicU64,
    outbox: Arc<OutboxBounds>,
    conns: Mutex<HashMap<ConnId, Arc<Conn>, FxBuildHasher>>,
    left: Notify,
    stopping: AtomicBool,
}

/// The right to hold a socket, given back on drop.
pub(crate) struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Registry {
    pub(crate) fn new(seats_max: usize, outbox: OutboxBounds) -> Self {
        Self {
            seats_max,
            seats_taken: Arc::default(),
            next_id: AtomicU64::new(1),
            outbox: outbox.into(),
            conns: Mutex::default(),
            left: Notify::new(),
            stopping: AtomicBool::new(false),
        }
    }

    /// A seat for one more socket, unless all are taken.
    pub(crate) fn seat(&self) -> Option<Seat> {
        let taken = self.seats_taken.fetch_add(1, Ordering::Relaxed);
        let seat = Seat(Arc::clone(&self.seats_taken));
        (taken < self.seats_max).then_some(seat)
    }

    /// Enters an upgraded socket.
    pub(crate) fn enter(
        &self,
        _seat: &Seat,
        visitor: Visitor,
        logins: &Arc<LoginDesk>,
    ) -> Arc<Conn> {
        let id = ConnId(self.next_id.fetch_add(1, Ordering::Relaxed));
        let conn = Arc::new(Conn::new(id, visitor, logins, Arc::clone(&self.outbox)));
        self.conns.lock().insert(id, Arc::clone(&conn));
        conn
    }

    pub(crate) fn leave(&self, id: ConnId) {
        self.conns.lock().remove(&id);
        if self.is_stopping() {
            self.left.notify_one();
        }
    }

    /// From here on readers take no further message.
    pub(crate) fn stop_reading(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Waits until everyone has left.
    pub(crate) async fn empty(&self) {
        while self.len() > 0 {
            self.left.notified().await;
        }
    }

    /// WebSocket connections.
    pub(crate) fn len(&self) -> usize {
        self.conns.lock().len()
    }

    /// Pings the silent and closes the dead, among every `of`-th connection from the `nth`: so
    /// thousands of pings do not go out at once.
    pub(crate) fn ping_silent(&self, nth: u64, of: u64) {
        for conn in self.select(|id| id.0 % of == nth % of) {
            match conn.silent_rounds() {
                0 => {}
                1..=PINGS_UNANSWERED_MAX => conn.outbox.ping(),
                _ => conn.outbox.close(1001, "no answer to pings"),
            }
        }
    }

    /// Closes every connection: what waits goes out first.
    pub(crate) fn close_all(&self) {
        for conn in self.select(|_| true) {
            conn.outbox.close(1001, "relay is stopping");
        }
    }

    /// Closes the connections from these addresses.
    pub(crate) fn close_where(&self, is_there: impl Fn(IpAddr) -> bool, reason: &'static str) {
        let conns = self.conns.lock();
        for conn in conns.values().filter(|conn| is_there(conn.visitor.address)) {
            conn.outbox.close(1008, reason);
        }
    }

    fn select(&self, wanted: impl Fn(ConnId) -> bool) -> Vec<Arc<Conn>> {
        let conns = self.conns.lock();
        conns.iter().filter(|(id, _)| wanted(**id)).map(|(_, conn)| Arc::clone(conn)).collect()
    }
}
