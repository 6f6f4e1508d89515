//! Views of the kept set beside a busy writer: each is of one moment.

mod world;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::Value;
use world::sets::with_view;
use world::verified;
use zeolite_proto::{Filter, Timestamp};
use zeolite_reconcile::{Bound, Edge, Set, Sum};
use zeolite_store::{Durability, Options, Store, open};
use zeolite_testkit::Factory;

const NOW: u64 = 2_000_000_000;
const BATCHES: u64 = 1_500;
const AUTHORS: usize = 5;

/// Each batch has a note by two authors, and a new version of every author's profile.
fn batch(at: u64, factory: &mut Factory) -> Vec<Value> {
    let time = 1_000 + at * 7_919 % 3_001;
    let notes = (0..2).map(|author| factory.note(author, time, &at.to_string()));
    let notes: Vec<_> = notes.collect();
    let profiles = (0..AUTHORS).map(|author| factory.draft(author).kind(0).at(10_000 + at).build());
    notes.into_iter().chain(profiles).collect()
}

/// What an id belongs to: the batch of a note, or the author of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Note(u64),
    Profile(usize),
}

fn parts(batches: &[Vec<Value>]) -> HashMap<String, Part> {
    let id = |event: &Value| event["id"].as_str().expect("an id").to_owned();
    let parts = (0..).zip(batches).flat_map(|(at, batch)| {
        let of = move |n| if n < 2 { Part::Note(at) } else { Part::Profile(n - 2) };
        batch.iter().enumerate().map(move |(n, event)| (id(event), of(n)))
    });
    parts.collect()
}

/// Whole batches, one version of each profile, and sums that are those of the items.
fn assert_consistent(store: &Store, parts: &HashMap<String, Part>) -> usize {
    with_view(store, &Filter::default(), &[], NOW, |view| {
        let (mut notes, mut profiles) = (HashMap::new(), HashSet::new());
        let mut sum = Sum::ZERO;
        let mut visit = |item: &zeolite_reconcile::Item| {
            sum = sum.with(&item.id);
            match parts[&item.id.to_string()] {
                Part::Note(batch) => *notes.entry(batch).or_insert(0) += 1,
                Part::Profile(author) => assert!(profiles.insert(author), "two versions"),
            }
        };
        view.for_each(&Edge::START, view.len(), &mut visit).expect("a walk");
        assert!(notes.values().all(|count| *count == 2), "half a batch");
        assert!(view.is_empty() || profiles.len() == AUTHORS);
        assert_eq!(notes.len() * 2 + profiles.len(), view.len());
        let end = view.seek(&Edge::START, &Bound::INFINITY).expect("an edge");
        assert_eq!((end.index, end.sum), (view.len(), sum));
        notes.len()
    })
}

/// The head's sums, its runs and the read transaction are of one moment, while runs are merged,
/// drained and dropped, and graves are purged.
#[test]
fn views_are_of_one_moment() {
    let mut factory = Factory::unsigned(1);
    let batches: Vec<_> = (0..BATCHES).map(|at| batch(at, &mut factory)).collect();
    let parts = parts(&batches);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = Options {
        head_events_max: 120,
        flush_keys_min: 50,
        purge_events_min: 20,
        bucket_items: 8,
        durability: Durability::Fast,
        map_bytes: 1 << 30,
        ..Options::default()
    };
    let (store, mut admitter, mut committer) = open(dir.path(), options).expect("a store");
    let is_over = AtomicBool::new(false);
    let (sender, receiver) = crossbeam_channel::bounded(4);
    thread::scope(|scope| {
        scope.spawn(|| {
            while let Ok(first) = receiver.recv() {
                let batches = std::iter::once(first).chain(receiver.try_iter().take(2)).collect();
                committer.commit(batches).expect("a commit");
            }
            committer.flush_all().expect("a flush");
            is_over.store(true, Ordering::Release);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let mut seen = 0;
                while !is_over.load(Ordering::Acquire) {
                    let now = assert_consistent(&store, &parts);
                    assert!(now >= seen, "time goes forward");
                    seen = now;
                }
            });
        }
        for batch in &batches {
            let batch = batch.iter().map(verified).collect();
            let admitted = admitter.admit(batch, Timestamp(NOW)).expect("admission");
            sender.send(admitted.pending).expect("the committer listens");
        }
        drop(sender);
    });
    assert_eq!(assert_consistent(&store, &parts) as u64, BATCHES);
    let report = store.check(&mut |_| {}).expect("a check");
    assert!(report.is_clean(), "{report:?}");
}
