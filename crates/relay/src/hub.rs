//! What a connection's tasks need of the rest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, watch};
use zeolite_proto::Seq;
use zeolite_session::SessionLimits;

use crate::clients::Clients;
use crate::fanout::EphemeralCount;
use crate::inbox::FanoutIn;
use crate::ingest::Ingest;
use crate::metrics::Metrics;
use crate::neg::Reconciliations;
use crate::policy_cell::PolicyCell;
use crate::query::Lanes;
use crate::registry::Registry;
use crate::subscription::Subscription;

/// The sending end of the fan-out's inbox.
pub(crate) type FanoutSender = mpsc::Sender<FanoutIn<Arc<Subscription>>>;

/// The ways into the system. One for all connections.
pub(crate) struct Hub {
    pub(crate) session: Arc<SessionLimits>,
    pub(crate) ingest: Ingest,
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) reconciliations: Arc<Reconciliations>,
    pub(crate) fanout: FanoutSender,
    /// Where the admitter is with ephemeral events.
    pub(crate) ephemerals: EphemeralCount,
    /// The newest event that was fanned out.
    pub(crate) newest: watch::Receiver<Seq>,
    pub(crate) registry: Registry,
    pub(crate) clients: Clients,
    /// What may be written.
    pub(crate) policy: Arc<PolicyCell>,
    pub(crate) metrics: Arc<Metrics>,
    /// False once a commit has failed.
    pub(crate) writable: Arc<AtomicBool>,
}

impl Hub {
    /// Whether events can be stored.
    pub(crate) fn is_writable(&self) -> bool {
        self.writable.load(Ordering::Relaxed)
    }

    /// All metrics as they are at this moment.
    pub(crate) fn render_metrics(&self) -> String {
        self.metrics.connections.set(self.registry.len() as f64);
        self.metrics.reconcile_set_bytes.set(self.reconciliations.memory_bytes() as f64);
        self.metrics.render()
    }

    /// Waits while the inbox is full. Without a fan-out thread the relay is stopping.
    pub(crate) async fn tell_fanout(&self, message: FanoutIn<Arc<Subscription>>) {
        let _stopping = self.fanout.send(message).await;
    }
}
