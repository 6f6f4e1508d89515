//! Letting go of the map of the file changes nothing that is read, not even what is held meanwhile.

mod world;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use world::World;
use zeolite_proto::{EventId, Seq};
use zeolite_store::{Durability, Options};
use zeolite_testkit::Factory;

const EVENTS: u64 = 2_000;

fn world(mapped_bytes_max: usize) -> World {
    let options = Options {
        mapped_bytes_max,
        durability: Durability::Fast,
        map_bytes: 1 << 28,
        ..Options::default()
    };
    let mut factory = Factory::unsigned(1);
    let events: Vec<_> = (0..EVENTS).map(|at| factory.note(0, at, &"x".repeat(500))).collect();
    let mut world = World::new(options);
    for batch in events.chunks(200) {
        world.admit(batch, EVENTS);
        world.commit_all();
    }
    world.flush_all();
    world
}

/// Above the bound the map is let go, again and again, beside threads that read; references into it
/// stay good.
#[test]
fn whoever_reads_does_not_notice() {
    // The program itself is mapped too, and more than this.
    let world = world(1);
    let store = world.store();
    let ids: Vec<EventId> = (1..=EVENTS)
        .map(|seq| {
            let snapshot = store.snapshot().expect("a snapshot");
            snapshot.get(Seq(seq)).expect("a read").expect("it is stored").id()
        })
        .collect();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                assert!(store.bound_mapped(), "more than a byte is mapped");
            }
        });
        let snapshot = store.snapshot().expect("a snapshot");
        let held = snapshot.get(Seq(7)).expect("a read").expect("it is stored");
        let record = held.record().to_vec();
        for (at, id) in ids.iter().enumerate() {
            let (seq, event) = snapshot.by_id(id).expect("a read").expect("it is stored");
            assert_eq!((seq, event.id()), (Seq(at as u64 + 1), *id));
        }
        is_over.store(true, Ordering::Release);
        assert_eq!(held.record(), record);
    });
    world.assert_clean();
}

#[test]
fn a_small_store_stays_mapped() {
    assert!(!world(usize::MAX).store().bound_mapped());
}
