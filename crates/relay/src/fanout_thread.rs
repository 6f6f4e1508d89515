//! The thread around the fan-out machine.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::fanout::{Fanout, Replay};
use crate::inbox::FanoutIn;
use crate::metrics::Metrics;
use crate::query::{Job, Lanes};
use crate::subscription::Subscription;

/// Runs until every sender is gone.
pub(crate) fn run(
    mut fanout: Fanout<Arc<Subscription>>,
    mut inbox: mpsc::Receiver<FanoutIn<Arc<Subscription>>>,
    lanes: &Lanes,
    metrics: &Metrics,
) {
    let mut replay = |replay: Replay<Arc<Subscription>>| {
        metrics.replays.increment(1);
        let conn = Arc::clone(replay.feed.conn());
        lanes.push(&conn, Job::Replay(replay));
    };
    while let Some(message) = inbox.blocking_recv() {
        fanout.handle(message, &mut replay);
        metrics.add_live(fanout.take_stats());
        metrics.live_subscriptions.set(fanout.subscriptions() as f64);
    }
}
