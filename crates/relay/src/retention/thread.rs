//! Retention in a running relay: a pass from time to time, which gives way to everything else.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use zeolite_policy::Retention;
use zeolite_proto::Timestamp;
use zeolite_store::Store;

use super::floor;
use super::pass::{Cause, Pass, Report, Slice, Target};
use crate::clock;
use crate::inbox::AdmitterIn;
use crate::ingest::Queue;
use crate::limits::{RETENTION_PAUSE_FACTOR, RETENTION_PAUSE_FACTOR_BUSY, RETENTION_REST_FACTOR};
use crate::metrics::RetentionMetrics;
use crate::policy_cell::PolicyCell;

/// What the thread owns.
pub(crate) struct RetentionThread {
    pub(crate) store: Store,
    pub(crate) policy: Arc<PolicyCell>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) admitter: Sender<AdmitterIn>,
    pub(crate) metrics: RetentionMetrics,
    /// Where the floor is kept.
    pub(crate) dir: PathBuf,
    /// From the end of a pass to the next one.
    pub(crate) period: Duration,
    /// Is disconnected when the relay stops.
    pub(crate) stop: Receiver<()>,
}

impl RetentionThread {
    /// Passes until the relay stops.
    pub(crate) fn run(self) {
        let retention = self.policy.current().rules.retention.clone();
        // What came in while the floor rose may lie below it, so the first search begins at the
        // beginning.
        let mut from = Timestamp(0);
        let mut was_above = false;
        loop {
            let start = Instant::now();
            match self.pass(&retention, from) {
                Ok(report) => {
                    self.settle(&retention, &report);
                    if report.is_cut_short {
                        return;
                    }
                    tell(&report, &mut was_above);
                    from = report.reached.unwrap_or(from);
                }
                Err(error) => tracing::error!(%error, "a pass of retention failed"),
            }
            let rest = self.period.max(start.elapsed() * RETENTION_REST_FACTOR);
            if self.stop.recv_timeout(rest) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    fn pass(&self, retention: &Retention, from: Timestamp) -> anyhow::Result<Report> {
        let now = clock::now();
        let pass = Pass { store: &self.store, retention, from, now, is_dry: false };
        pass.run(&mut Removal { thread: self, began: Instant::now() })
    }

    /// Writes the floor down, or lifts it where there is room again.
    fn settle(&self, retention: &Retention, report: &Report) {
        let Some(bytes_max) = retention.bytes_max else { return };
        let floor = self.policy.current().floor;
        let stored_bytes = self.store.stored_bytes();
        let is_upheld = stored_bytes.is_ok_and(|bytes| retention.upholds_floor(bytes));
        if floor.is_some() && !is_upheld {
            self.policy.set_floor(None);
        } else if report.reached.is_none() {
            return;
        }
        if let Err(error) = floor::write(&self.dir, bytes_max, self.policy.current().floor) {
            tracing::warn!(%error, "how far retention came could not be written down");
        }
    }
}

/// Logs what a pass came to, where there is news.
fn tell(report: &Report, was_above: &mut bool) {
    let total = report.total();
    if total.events > 0 {
        tracing::info!(events = total.events, bytes = total.bytes, "retention removed events");
    }
    let is_above = report.kept_excess_bytes > 0;
    if is_above && !*was_above {
        let bytes = report.kept_excess_bytes;
        tracing::warn!(
            bytes,
            "the store stays above store.events_bytes_max: the rules keep what is too much"
        );
    }
    *was_above = is_above;
}

/// Hands slices to the admitter, one at a time.
struct Removal<'a> {
    thread: &'a RetentionThread,
    /// When the last slice was done.
    began: Instant,
}

impl Target for Removal<'_> {
    fn take(&mut self, slice: Slice) -> anyhow::Result<bool> {
        let thread = self.thread;
        if slice.len() > 0 {
            if slice.cause == Cause::Size {
                let floor = thread.policy.current().floor.max(Some(slice.newest));
                thread.policy.set_floor(floor);
            }
            let events = slice.len() as u64;
            let (done, is_done) = bounded(1);
            let message = match slice.cause {
                Cause::Archive => {
                    AdmitterIn::WipeArchive { parts: slice.archived, done: Some(done) }
                }
                Cause::Rule(_) | Cause::Size => AdmitterIn::Retire { seqs: slice.seqs, done },
            };
            if thread.admitter.send(message).is_err() || is_done.recv().is_err() {
                anyhow::bail!("the store takes no changes");
            }
            thread.metrics.removed(slice.cause).increment(events);
        }
        let factor = match thread.queue.is_idle() {
            true => RETENTION_PAUSE_FACTOR,
            false => RETENTION_PAUSE_FACTOR_BUSY,
        };
        let pause = self.began.elapsed() * factor;
        let is_stopping = thread.stop.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
        self.began = Instant::now();
        Ok(!is_stopping)
    }
}
