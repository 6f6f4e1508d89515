//! Readers beside a busy writer: a snapshot taken at any moment is complete.

mod world;

use crossbeam_channel::bounded;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use serde_json::Value;
use world::{all_of, verified};
use zeolite_proto::{EventId, Seq, Timestamp};
use zeolite_store::{Durability, Options, PendingBatch, SliceBudget, Store, open};
use zeolite_testkit::Factory;

const NOW: u64 = 2_000_000_000;
const EVENTS: u64 = 6_000;
const BATCH_EVENTS: usize = 7;
const LATEST_EVENTS: usize = 100;

fn options() -> Options {
    // So small that runs are merged, drained and dropped all the time.
    Options {
        head_events_max: 120,
        flush_keys_min: 50,
        durability: Durability::Fast,
        map_bytes: 1 << 30,
        ..Options::default()
    }
}

fn id(event: &Value) -> EventId {
    EventId::from_hex(event["id"].as_str().expect("an id")).expect("hex")
}

/// Everything admitted before a snapshot is in it, once: by id, by scan, and by replay.
fn assert_complete(store: &Store, events: &[Value], admitted: &AtomicU64) {
    let floor = admitted.load(Ordering::Acquire);
    let shown = all_of(store, NOW);
    assert!(shown.len() as u64 >= floor, "{} shown, {floor} admitted", shown.len());
    assert!(shown.windows(2).all(|pair| pair[0] != pair[1]), "nothing twice");
    let ceiling = store.snapshot().expect("a snapshot").ceiling();
    let (mut next, mut after) = (Seq(1), Seq::ZERO);
    while after < ceiling {
        let budget = SliceBudget { events_max: 500, ..SliceBudget::UNLIMITED };
        let mut sink = |seq: Seq, event: zeolite_proto::EventRef<'_>| {
            assert_eq!(seq, next, "no gap and nothing twice");
            assert_eq!(event.id(), id(&events[seq.0 as usize - 1]));
            next = next.next();
            true
        };
        after = store.read_log(after, ceiling, budget, &mut sink).expect("a replay");
    }
    assert_eq!(after, ceiling);
    for at in (0..floor).step_by(97) {
        let snapshot = store.snapshot().expect("a snapshot");
        let found = snapshot.by_id(&id(&events[at as usize])).expect("a look-up");
        assert_eq!(found.map(|(seq, _)| seq), Some(Seq(at + 1)));
    }
}

/// The latest events, whose keys are on their way from the head to LMDB, are always found. Many
/// short reads: one of them is interrupted while it takes its snapshot.
fn assert_latest_are_there(store: &Store, ids: &[EventId], admitted: &AtomicU64) {
    let newest = usize::try_from(admitted.load(Ordering::Acquire)).expect("few events");
    for id in ids[newest.saturating_sub(LATEST_EVENTS)..newest].iter().rev() {
        assert!(store.contains(id).expect("a look-up"), "{id} of {newest} is missing");
    }
}

/// Head pointer first, then the read transaction: nothing falls between the two while runs move
/// from the one to the other.
#[test]
fn snapshots_are_complete_at_any_moment() {
    let mut factory = Factory::unsigned(1);
    let events: Vec<_> = (0..EVENTS)
        .map(|at| factory.note(at as usize % 5, 1_000 + at * 7_919 % 3_001, &at.to_string()))
        .collect();
    let ids: Vec<_> = events.iter().map(id).collect();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (store, mut admitter, mut committer) = open(dir.path(), options()).expect("a store");
    let (admitted, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (sender, receiver) = bounded::<PendingBatch>(4);
    thread::scope(|scope| {
        scope.spawn(|| {
            while let Ok(first) = receiver.recv() {
                let batches = std::iter::once(first).chain(receiver.try_iter().take(2)).collect();
                committer.commit(batches).expect("a commit");
            }
            committer.flush_all().expect("a flush");
            is_over.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                assert_complete(&store, &events, &admitted);
            }
        });
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Acquire) {
                    assert_latest_are_there(&store, &ids, &admitted);
                }
            });
        }
        for batch in events.chunks(BATCH_EVENTS) {
            let batch: Vec<_> = batch.iter().map(verified).collect();
            let count = batch.len() as u64;
            let admitted_now = admitter.admit(batch, Timestamp(NOW)).expect("admission");
            admitted.fetch_add(count, Ordering::Release);
            sender.send(admitted_now.pending).expect("the committer listens");
        }
        drop(sender);
    });
    assert_complete(&store, &events, &admitted);
    let report = store.check(&mut |_| {}).expect("a check");
    assert!(report.is_clean(), "{report:?}");
}
