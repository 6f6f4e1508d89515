//! A query worker thread.

use std::sync::Arc;
use std::time::Instant;

use super::job::{Desk, Step};
use super::lane::Lanes;
use crate::clock;
use crate::hub::FanoutSender;
use crate::metrics::Metrics;

/// Runs jobs, a slice at a time, until the lanes are closed.
pub(crate) fn work(lanes: &Lanes, fanout: &FanoutSender, mut desk: Desk, metrics: &Arc<Metrics>) {
    while let Some((conn, mut job)) = lanes.next() {
        let start = Instant::now();
        let mut step = job.run(&mut desk, clock::now());
        metrics.query_slice_seconds.record(start.elapsed().as_secs_f64());
        if let Step::Done(message) = &mut step
            && let Some(message) = message.take()
        {
            // Without a fan-out thread the relay is stopping.
            let _stopping = fanout.blocking_send(message);
        }
        lanes.finish(&conn, job, &step);
    }
}
