//! All reconciliations of the relay: their bounds, their memory, and the end of idle ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use zeolite_proto::{Filter, Prefix, Reason, SubId};
use zeolite_reconcile::FrameLimit;
use zeolite_session::NegKey;

use super::memory::Purse;
use super::reconciliation::Reconciliation;
use crate::conn::{Conn, ConnId};
use crate::limits::NEG_SHARE_OF_CONNECTION;
use crate::metrics::Metrics;

/// What an operator allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NegBounds {
    /// Items of a set that must be built. A larger one is refused with this number.
    pub items_max: usize,
    /// Bytes of an answer, before they become hex.
    pub frame: FrameLimit,
    /// How long a client may be silent between an answer and its next message.
    pub idle_max: Duration,
    /// Bytes of all built sets together.
    pub memory_bytes_max: usize,
}

/// Every open reconciliation.
pub struct Reconciliations {
    pub(super) bounds: NegBounds,
    pub(super) metrics: Arc<Metrics>,
    /// Bytes of built sets.
    purse: Arc<Purse>,
    open: Mutex<BTreeMap<(ConnId, NegKey), Arc<Reconciliation>>>,
}

impl Reconciliations {
    pub(crate) fn new(bounds: NegBounds, metrics: Arc<Metrics>) -> Arc<Self> {
        let purse = Arc::new(Purse::new(bounds.memory_bytes_max));
        Arc::new(Self { bounds, metrics, purse, open: Mutex::default() })
    }

    /// Opens one. The session sees to it that a connection has not too many.
    pub(crate) fn open(
        self: &Arc<Self>,
        conn: &Arc<Conn>,
        key: NegKey,
        sub: SubId,
        filter: Filter,
    ) -> Arc<Reconciliation> {
        let opened = Reconciliation::new(self, conn, key, sub, filter);
        let opened = Arc::new(opened);
        self.open.lock().insert((conn.id, key), Arc::clone(&opened));
        self.metrics.reconciliations.increment(1.0);
        opened
    }

    /// It has ended.
    pub(super) fn forget(&self, conn: ConnId, key: NegKey) {
        if self.open.lock().remove(&(conn, key)).is_some() {
            self.metrics.reconciliations.decrement(1.0);
        }
    }

    /// Ends those whose clients have been silent for too long. Called every second or so.
    pub(crate) fn end_idle(&self, now: Instant) {
        let idle_max = self.bounds.idle_max;
        let is_idle = |one: &&Arc<Reconciliation>| one.is_idle(now, idle_max);
        let idle: Vec<_> = self.open.lock().values().filter(is_idle).cloned().collect();
        for reconciliation in idle {
            let text = format!("no message for {} seconds", idle_max.as_secs());
            self.metrics.neg_errors.idle.increment(1);
            reconciliation.end_with(Reason::new(Prefix::Closed, text), None);
        }
    }

    /// Bytes of built sets.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.purse.bytes()
    }

    pub(super) fn purse(&self) -> Arc<Purse> {
        Arc::clone(&self.purse)
    }

    /// Whether the sets of this connection leave room for one of `bytes` in place of `key`'s.
    pub(super) fn is_fair(&self, conn: ConnId, key: NegKey, bytes: usize) -> bool {
        let open = self.open.lock();
        let of_conn = open.range((conn, NegKey(0))..=(conn, NegKey(u64::MAX)));
        let others = of_conn.filter(|((_, other), _)| *other != key);
        let held: usize = others.map(|(_, other)| other.set_bytes()).sum();
        held + bytes <= self.bounds.memory_bytes_max / NEG_SHARE_OF_CONNECTION
    }
}
