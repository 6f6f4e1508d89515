//! The thread around the fan-out machine.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use zeolite_proto::Seq;

use crate::fanout::{Fanout, Replay};
use crate::inbox::FanoutIn;
use crate::metrics::Metrics;
use crate::query::{Job, Lanes};
use crate::subscription::Subscription;

/// Runs until every sender is gone. Whoever follows the log is told by `newest`.
pub(crate) fn run(
    mut fanout: Fanout<Arc<Subscription>>,
    mut inbox: mpsc::Receiver<FanoutIn<Arc<Subscription>>>,
    newest: &watch::Sender<Seq>,
    lanes: &Lanes,
    metrics: &Metrics,
) {
    let mut replay = |replay: Replay<Arc<Subscription>>| {
        metrics.replays.increment(1);
        let conn = Arc::clone(replay.feed.conn());
        lanes.push(&conn, Job::Replay(replay));
    };
    while let Some(message) = inbox.blocking_recv() {
        fanout.handle(message, inbox.is_empty(), &mut replay);
        newest.send_if_modified(|seq| std::mem::replace(seq, fanout.cursor()) != fanout.cursor());
        metrics.add_live(fanout.take_stats());
        metrics.live_subscriptions.set(fanout.subscriptions() as f64);
    }
}
