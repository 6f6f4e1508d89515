//! The map is full: new events are refused, all else goes on (case 58).

mod world;

use serde_json::{Value, json};
use world::World;
use zeolite_store::{Durability, Options, Outcome};
use zeolite_testkit::Factory;

const NOW: u64 = 2_000;

fn notes(factory: &mut Factory, from: u64) -> Vec<Value> {
    (from..from + 100).map(|at| factory.draft(0).at(at).padded_to(2_000).build()).collect()
}

/// Fills a store of 16 MiB with notes made from `start` on, and gives what was stored.
fn fill(world: &mut World, factory: &mut Factory, start: u64) -> Vec<Value> {
    let mut stored = Vec::new();
    for from in (start..).step_by(100) {
        let batch = notes(factory, from);
        let outcomes = world.admit(&batch, NOW);
        world.commit_all();
        let taken = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Stored(_))).count();
        assert!(taken == batch.len() || outcomes.iter().all(|o| *o == Outcome::Full));
        stored.extend(batch.into_iter().take(taken));
        if taken == 0 {
            return stored;
        }
        assert!(from < start + 20_000, "16 MiB do not hold that much");
    }
    unreachable!("the range has no end")
}

/// Case 58: refused with a clean answer, nothing half-written, reads and deletions work, and room
/// that deletions make is used again; also after the next start.
#[test]
fn a_full_store_reads_and_deletes() {
    let mut factory = Factory::unsigned(1);
    let mut world = World::new(Options {
        map_bytes: 16 << 20,
        head_events_max: 500,
        durability: Durability::Fast,
        ..Options::default()
    });
    let mut stored = fill(&mut world, &mut factory, 0);
    assert!(stored.len() > 3_000, "{} events of 2 kB in 16 MiB", stored.len());
    assert!(world.store().is_full());
    assert_eq!(world.all(NOW).len(), stored.len());
    world.reopen();
    assert!(world.store().is_full(), "known before the first commit");
    world.flush_all();
    world.assert_clean();
    for round in 0..3 {
        let ids: Vec<_> = stored.drain(..1_000).map(|event| json!(["e", event["id"]])).collect();
        for (at, tags) in ids.chunks(250).enumerate() {
            let at = 1_000_000 + 10 * round + at as u64;
            let request = factory.draft(0).kind(5).at(at).tags(tags.into()).build();
            assert!(matches!(world.admit(&[request], NOW)[..], [Outcome::Stored(_)]));
            world.commit_all();
        }
        world.flush_all();
        assert!(!world.store().is_full(), "1,000 events of 2 kB are gone");
        let refilled = fill(&mut world, &mut factory, 100_000 * (round + 1));
        assert!(refilled.len() >= 300, "round {round}: {} fit again", refilled.len());
        stored.extend(refilled);
        world.flush_all();
        world.assert_clean();
    }
}
