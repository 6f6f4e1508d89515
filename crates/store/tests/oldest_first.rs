//! The walk from the oldest event on, and the sum of what events take.

mod world;

use std::collections::BTreeMap;

use rand::RngExt;
use serde_json::Value;
use world::World;
use zeolite_proto::{Event, Seq, Timestamp};
use zeolite_store::{OldestFirst, Options, Outcome, SliceBudget, Store, event_bytes};
use zeolite_testkit::{Factory, TestRng, run_seeds};

const NOW: u64 = 10_000;

/// What must be stored, in the order of the walk: time and id, with the seq and the price.
type Expected = BTreeMap<(u64, String), (Seq, u64)>;

fn place(event: &Event) -> (u64, String) {
    (event.view().created_at().0, event.view().id().to_string())
}

/// The walk from a second on, in slices of a few events.
fn walk(store: &Store, from: u64, events_max: usize) -> Vec<(u64, String)> {
    let mut walk = OldestFirst::new(store, Timestamp(from));
    let budget = SliceBudget { events_max, ..SliceBudget::UNLIMITED };
    let mut found = Vec::new();
    loop {
        let has_more = walk.slice(budget, &mut |_, event| {
            found.push((event.created_at().0, event.id().to_string()));
            // Every tenth event ends its slice.
            found.len() % 10 != 0
        });
        if !has_more.expect("a slice") {
            return found;
        }
    }
}

#[track_caller]
fn check(store: &Store, expected: &Expected, rng: &mut TestRng) {
    let from = rng.random_range(0..60);
    let wanted: Vec<_> = expected.keys().filter(|(at, _)| *at >= from).cloned().collect();
    assert_eq!(walk(store, from, rng.random_range(1..9)), wanted, "from {from}");
    assert_eq!(walk(store, from, usize::MAX), wanted, "from {from}, whole");
}

fn sum(expected: &Expected) -> u64 {
    expected.values().map(|(_, bytes)| bytes).sum()
}

/// Random notes with few times, so that seconds are crowded and longer than a refill.
fn notes(factory: &mut Factory, rng: &mut TestRng) -> Vec<Value> {
    let mut note = |at: u64, size: usize| {
        let draft = factory.draft(rng.random_range(0..3)).at(at).padded_to(size);
        draft.tag(&["t", &rng.random_range(0..5_u8).to_string()]).build()
    };
    let sizes = [400, 400, 400, 3_000];
    (0..150).map(|n| note([7, 7, 7, 30, 50][n % 5] + (n as u64 / 50), sizes[n % 4])).collect()
}

/// After any mix of admissions, removals, returns, flushes and restarts the walk gives what is
/// stored, in order, wherever it is sliced; and the sum is that of what is committed.
#[test]
fn the_walk_and_the_sum_are_those_of_what_is_stored() {
    run_seeds("the_walk_and_the_sum_are_those_of_what_is_stored", 12, |rng| {
        let mut factory = Factory::unsigned(1);
        let options = Options { head_events_max: 64, ..Options::default() };
        let mut world = World::new(options);
        let mut expected = Expected::new();
        let mut gone: Vec<Value> = Vec::new();
        for _ in 0..6 {
            let mut fresh = notes(&mut factory, rng);
            fresh.append(&mut gone);
            let events: Vec<_> = fresh.iter().map(world::event).collect();
            for (event, outcome) in events.iter().zip(world.admit(&fresh, NOW)) {
                if let Outcome::Stored(seq) = outcome {
                    expected.insert(place(event), (seq, event_bytes(event.view())));
                }
            }
            check(world.store(), &expected, rng);
            let by_place: BTreeMap<_, _> = events.iter().map(place).zip(&fresh).collect();
            let removed: Vec<_> = by_place.keys().filter(|_| rng.random_bool(0.3)).collect();
            let seqs: Vec<_> = removed.iter().filter_map(|at| expected.remove(*at)).collect();
            world.remove(&seqs.iter().map(|(seq, _)| *seq).collect::<Vec<_>>());
            gone = removed.iter().take(5).map(|at| by_place[*at].clone()).collect();
            check(world.store(), &expected, rng);
            world.commit_all();
            assert_eq!(world.store().stored_bytes().expect("a sum"), sum(&expected));
            if rng.random_bool(0.4) {
                world.flush_all();
            }
            if rng.random_bool(0.3) {
                world.reopen();
            }
            check(world.store(), &expected, rng);
            assert_eq!(world.store().stored_bytes().expect("a sum"), sum(&expected));
            assert_eq!(world.committer().stored_bytes(), sum(&expected));
        }
        world.assert_clean();
    });
}

/// The sum is about what a compact file takes, and whoever only reads has the same one.
#[test]
fn the_sum_is_about_what_a_compact_file_takes() {
    let mut factory = Factory::unsigned(2);
    let mut world = World::new(Options::default());
    let events: Vec<_> = (0..20_000)
        .map(|at| {
            let draft = factory.draft(at % 50).at(at as u64).padded_to(500 + at % 400);
            draft.tag(&["p", &"ab".repeat(32)]).tag(&["t", &(at % 100).to_string()]).build()
        })
        .collect();
    world.admit(&events, 100_000);
    world.commit_all();
    world.flush_all();
    let bytes = world.store().stored_bytes().expect("a sum");
    let copies = tempfile::tempdir().expect("a directory");
    let copy = copies.path().join("copy");
    let file = world.store().compact(&copy).expect("a copy");
    let reader = Store::open_read_only(&copy).expect("a store");
    assert_eq!(reader.stored_bytes().expect("a sum"), bytes);
    let ratio = bytes as f64 / file as f64;
    assert!((0.75..1.35).contains(&ratio), "{bytes} for a file of {file}");
}
