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
        let mut done = Vec::new();
        for message in std::iter::once(first).chain(inbox.try_iter()) {
            batches.extend(message.pending);
            answers.extend(message.answers);
            done.extend(message.done);
        }
        if let Err(error) = commit_all(&mut committer, batches, metrics) {
            tracing::error!(%error, "commit failed; the store takes no more events");
            writable.store(false, Ordering::Relaxed);
            done.clear();
        }
        for done in done {
            // There is room, or nobody waits for it.
            let _ = done.try_send(());
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
    metrics.stored_bytes.set(committer.stored_bytes() as f64);
    metrics.archived_events.set(committer.archived_events() as f64);
    Ok(())
}

/// After a failure nothing is promised, not even a known event: it may have been part of the batch
/// that was lost.
fn send(mut answer: Answer, writable: bool, metrics: &Metrics) {
    if !writable && matches!(answer.verdict, Verdict::Stored | Verdict::Duplicate) {
        answer.verdict = Verdict::Failed;
    }
    metrics.verdict(&answer.verdict).increment(1);
    answer.send();
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use serde_json::Value;
    use tokio::sync::Semaphore;
    use zeolite_proto::{EventParser, Timestamp, Verified};
    use zeolite_session::LoginTerms;
    use zeolite_store::Options;
    use zeolite_testkit::Factory;

    use super::super::answer::{Client, Origin, Source};
    use super::*;
    use crate::clients::Visitor;
    use crate::conn::{Conn, ConnId};
    use crate::login::LoginDesk;
    use crate::outbox::OutboxBounds;

    const BYTES_MAX: usize = 1 << 24;
    const BOUNDS: OutboxBounds = OutboxBounds {
        results_high_bytes: BYTES_MAX,
        low_bytes: BYTES_MAX,
        live_bytes_max: BYTES_MAX,
        reply_bytes_max: BYTES_MAX,
        ingest_bytes_max: BYTES_MAX,
    };

    /// Admits notes of 2 kB, commits them as one batch, and gives the texts of their `OK`s.
    fn answers(notes: u64, map_bytes: usize) -> Vec<(Value, Value)> {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { map_bytes, ..Options::default() };
        let (_store, mut admitter, committer) = zeolite_store::open(dir.path(), options).unwrap();
        let desk = LoginDesk::new(LoginTerms::default(), Arc::default());
        let visitor = Visitor::free(Ipv4Addr::LOCALHOST.into());
        let conn = Arc::new(Conn::new(ConnId(1), visitor, &desk, BOUNDS));
        let permits = Arc::new(Semaphore::new(usize::try_from(notes).unwrap()));
        let mut factory = Factory::unsigned(1);
        let mut parser = EventParser::new();
        let events: Vec<_> = (0..notes)
            .map(|at| parser.parse(&factory.note(0, at, &"x".repeat(2000)).to_string()).unwrap())
            .map(Verified::trusted)
            .collect();
        let answers = events.iter().map(|event| {
            let permit = Arc::clone(&permits).try_acquire_owned().unwrap();
            let (conn, id) = (Arc::clone(&conn), event.view().id());
            conn.outbox.ingest_began(0);
            let client = Client { conn, cost_bytes: 0, _permit: permit };
            let origin = Origin { id, source: Source::Client(client) };
            Answer { origin, verdict: Verdict::Stored }
        });
        let answers = answers.collect();
        let admitted = admitter.admit(events, Timestamp(0)).unwrap();
        let stored =
            admitted.outcomes.iter().all(|o| matches!(o, zeolite_store::Outcome::Stored(_)));
        assert!(stored, "the store has room: {:?}", admitted.outcomes[0]);
        let (sender, inbox) = crossbeam_channel::unbounded();
        sender.send(CommitterIn { pending: Some(admitted.pending), answers, done: None }).unwrap();
        drop(sender);
        commit(committer, &inbox, &Arc::new(Metrics::new()), &AtomicBool::new(true));
        texts(&conn)
    }

    /// The third and fourth element of each message in the outbox.
    fn texts(conn: &Conn) -> Vec<(Value, Value)> {
        let mut frames = Vec::new();
        conn.outbox.take(&mut frames);
        let text = String::from_utf8_lossy(&frames);
        text.split_inclusive(']')
            .filter_map(|frame| serde_json::from_str(&frame[frame.find('[')?..]).ok())
            .map(|message: Value| (message[2].clone(), message[3].clone()))
            .collect()
    }

    /// E-36: `OK true` is said after the commit, and so never for a batch that could not be
    /// written; that one is answered `error:` as a whole.
    #[test]
    fn only_a_commit_is_acknowledged() {
        assert_eq!(answers(3, 1 << 26), vec![(true.into(), "".into()); 3]);
        let failed = answers(4000, 4 << 20);
        assert_eq!(failed.len(), 4000);
        for (accepted, text) in failed {
            assert_eq!(accepted, Value::Bool(false));
            assert!(text.as_str().is_some_and(|text| text.starts_with("error: ")), "{text}");
        }
    }
}
