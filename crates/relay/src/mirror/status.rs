//! Where a mirror stands: for the operator's page and the metrics.

use std::sync::Arc;

use tokio::sync::watch;
use zeolite_mirror::{Counts, Direction, Phase, Progress};

use crate::config::MirrorConfig;
use crate::metrics::{Metrics, MirrorMetrics};

/// One mirror, seen from outside.
#[derive(Clone)]
pub(crate) struct MirrorStatus {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) direction: Direction,
    pub(crate) progress: watch::Receiver<Progress>,
}

impl MirrorStatus {
    /// A mirror that is about to start, and where it is to say how it goes.
    pub(crate) fn new(mirror: &MirrorConfig) -> (Self, watch::Sender<Progress>) {
        let (sender, progress) = watch::channel(Progress::default());
        let status = Self {
            name: mirror.name.clone(),
            url: mirror.address.to_string(),
            direction: mirror.direction,
            progress,
        };
        (status, sender)
    }

    /// A line for people.
    pub(crate) fn line(&self) -> String {
        let progress = self.progress.borrow();
        let arrow = match self.direction {
            Direction::Down => "from",
            Direction::Up => "to",
            Direction::Both => "from and to",
        };
        let trouble = progress.trouble.as_deref().map(|why| format!(" ({why})"));
        format!("{arrow} {}: {}{}", self.url, progress.phase.name(), trouble.unwrap_or_default())
    }
}

/// Carries a mirror's progress over into its metrics, until the mirror is gone.
pub(crate) async fn measure(metrics: Arc<Metrics>, mut status: MirrorStatus) {
    let series = metrics.mirror(&status.name);
    loop {
        apply(&series, &status.progress.borrow_and_update());
        if status.progress.changed().await.is_err() {
            return;
        }
    }
}

fn apply(series: &MirrorMetrics, progress: &Progress) {
    let is_connected = !matches!(progress.phase, Phase::Connecting | Phase::Finished);
    series.connected.set(f64::from(is_connected));
    series.live.set(f64::from(progress.phase == Phase::Live));
    series.waiting_down.set(progress.need_waiting as f64);
    series.waiting_up.set(progress.have_waiting as f64);
    series.connections.absolute(progress.counts.connections);
    series.rounds.absolute(progress.counts.rounds);
    for (outcome, count) in outcomes(&progress.counts) {
        series.outcome(outcome).absolute(count);
    }
}

/// What became of events, under the names that metrics and reports use.
pub(crate) fn outcomes(counts: &Counts) -> [(&'static str, u64); 13] {
    [
        ("received", counts.received),
        ("stored", counts.stored),
        ("duplicate", counts.duplicate),
        ("ephemeral", counts.ephemeral),
        ("outdated", counts.outdated),
        ("blocked", counts.blocked),
        ("invalid", counts.invalid),
        ("failed", counts.failed),
        ("gone", counts.gone),
        ("unasked", counts.unasked),
        ("sent", counts.sent),
        ("accepted", counts.accepted + counts.accepted_duplicate),
        ("refused", counts.refused),
    ]
}
