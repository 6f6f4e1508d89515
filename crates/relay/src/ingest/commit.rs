//! The committer thread: one transaction for all batches that wait, then their answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crossbeam_channel::Receiver;
use zeolite_store::Committer;

use super::answer::{Answer, Verdict};
use crate::inbox::CommitterIn;
use crate::metrics::Metrics;

/// Runs until the admitter is gone. `writable` becomes false when a commit fails.
pub(crate) fn commit(
    mut committer: Committer,
    inbox: &Receiver<CommitterIn>,
    metrics: &Arc<Metrics>,
    writable: &AtomicBool,
) {
    while let Ok(first) = inbox.recv() {
        let mut batches = Vec::new();
        let mut answers = Vec::new();
        for CommitterIn { pending, answers: more } in std::iter::once(first).chain(inbox.try_iter())
        {
            batches.extend(pending);
            answers.extend(more);
        }
        if let Err(error) = commit_all(&mut committer, batches, metrics) {
            tracing::error!(%error, "commit failed; the store takes no more events");
            writable.store(false, Ordering::Relaxed);
        }
        for answer in answers {
            send(answer, writable.load(Ordering::Relaxed), metrics);
        }
    }
}

fn commit_all(
    committer: &mut Committer,
    batches: Vec<zeolite_store::PendingBatch>,
    metrics: &Metrics,
) -> Result<(), zeolite_store::CommitError> {
    if batches.is_empty() {
        return Ok(());
    }
    let events: usize = batches.iter().map(zeolite_store::PendingBatch::events).sum();
    let start = Instant::now();
    committer.commit(batches)?;
    metrics.commit_seconds.record(start.elapsed().as_secs_f64());
    metrics.commit_events.record(events as f64);
    Ok(())
}

/// After a failure nothing is promised, not even a known event: it may have been part of the batch
/// that was lost.
fn send(mut answer: Answer, writable: bool, metrics: &Metrics) {
    if !writable && matches!(answer.verdict, Verdict::Stored | Verdict::Duplicate) {
        answer.verdict = Verdict::Failed;
    }
    metrics.verdict(answer.verdict).increment(1);
    answer.send();
}
