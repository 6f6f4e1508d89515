//! Removals that take their time, and what they leave behind.

mod world;

use serde_json::{Value, json};
use world::{World, all_of};
use zeolite_proto::{EventId, Seq};
use zeolite_store::{Options, Outcome, Store};
use zeolite_testkit::{Factory, Universe};

const NOW: u64 = 2_000;

fn id(event: &Value) -> EventId {
    EventId::from_hex(event["id"].as_str().expect("an id")).expect("hex")
}

fn small_world() -> World {
    World::new(Options { map_bytes: 1 << 28, head_events_max: 200, ..Options::default() })
}

/// R62-03, case 60: an author with thousands of events vanishes at once for readers, and in
/// bounded slices for the tables; a restart in the middle goes on with it.
#[test]
fn a_large_author_vanishes_in_slices() {
    let mut factory = Factory::unsigned(1);
    let own: Vec<_> =
        (0..3_000).map(|at| factory.note(0, 100 + at % 900, &at.to_string())).collect();
    let others: Vec<_> = (0..10).map(|at| factory.note(1, 500, &at.to_string())).collect();
    let mut world = small_world();
    for batch in own.chunks(500).chain([&others[..]]) {
        world.admit(batch, NOW);
        world.commit_all();
    }
    let request = factory.draft(0).kind(62).at(1_000).tag(&["relay", Universe::OWN_URL]).build();
    world.admit(std::slice::from_ref(&request), NOW);
    assert!(world.admitter().has_unfinished_removals(), "one slice is not enough");
    let mut left: Vec<_> =
        others.iter().chain([&request]).map(|event| id(event).to_string()).collect();
    left.sort_unstable();
    let shown = |world: &World| {
        let mut shown = world.all(NOW);
        shown.sort_unstable();
        shown
    };
    assert_eq!(shown(&world), left);
    assert_eq!(world.replay().len(), left.len());
    assert!(!world.store().contains(&id(&own[7])).expect("a look-up"));
    assert_eq!(world.admit(&own[..1], NOW), [Outcome::Vanished]);
    world.commit_all();
    world.close();
    let read_only = Store::open_read_only(world.dir()).expect("a store");
    assert_eq!(all_of(&read_only, NOW).len(), left.len(), "whoever reads beside it sees the same");
    drop(read_only);
    world.reopen();
    assert!(world.admitter().has_unfinished_removals(), "the next process goes on");
    assert_eq!(shown(&world), left);
    let mut calls = 0;
    while world.admitter().has_unfinished_removals() {
        world.expire(NOW, 0);
        world.commit_all();
        calls += 1;
    }
    assert!(calls < 20, "{calls} slices for 3,000 events");
    assert_eq!(shown(&world), left);
    world.flush_all();
    world.assert_clean();
    let stats = world.store().stats().expect("stats");
    assert_eq!((stats.events, stats.graveyard_events), (left.len() as u64, 0));
    world.reopen();
    assert!(!world.admitter().has_unfinished_removals());
    assert_eq!(shown(&world), left);
}

/// E-51, R40-07: the sweep of an expired version leaves its address barred for older ones, and
/// open for newer ones.
#[test]
fn swept_versions_still_block_older_ones() {
    let mut factory = Factory::unsigned(2);
    let mut version = |at: u64| factory.draft(0).kind(0).at(at).build();
    let (older, newer) = (version(100), version(300));
    let expiring = factory.draft(0).kind(0).at(200).tag(&["expiration", "2500"]).build();
    let mut world = small_world();
    world.admit(std::slice::from_ref(&expiring), NOW);
    assert_eq!(world.admit(std::slice::from_ref(&older), NOW), [Outcome::Superseded]);
    assert_eq!(world.expire(2_499, 10), 0);
    assert_eq!(world.expire(2_500, 10), 1);
    assert_eq!(world.admit(std::slice::from_ref(&older), 2_500), [Outcome::Superseded]);
    world.commit_all();
    world.flush_all();
    world.reopen();
    assert_eq!(world.admit(&[older, expiring], 2_500), [Outcome::Superseded, Outcome::Expired]);
    assert!(matches!(world.admit(&[newer], 2_500)[..], [Outcome::Stored(_)]));
}

/// NIP-40: everything whose time is over is found, a bounded number at a time, also behind
/// entries that are dead and not purged.
#[test]
fn expiry_goes_on_where_it_stopped() {
    let mut factory = Factory::unsigned(3);
    let events: Vec<_> = (0..300)
        .map(|at| factory.draft(0).at(at).tag(&["expiration", &(3_000 + at).to_string()]).build())
        .collect();
    let mut world = World::new(Options::default());
    world.admit(&events, NOW);
    world.commit_all();
    // 4 per call look at 32 entries: dead ones in front must not hide the rest.
    let mut removed = 0;
    for _ in 0..200 {
        removed += world.expire(3_199, 4);
        world.commit_all();
    }
    assert_eq!(removed, 200);
    assert_eq!(world.all(3_199).len(), 100);
    world.assert_clean();
}

/// An operator's removal leaves no tombstone: the event may come back, under another seq, and the
/// purge of its first life does not touch the second, be it in the head or on disk.
#[test]
fn removed_events_may_come_back() {
    for is_flushed in [false, true] {
        remove_and_return(is_flushed);
    }
}

fn remove_and_return(is_flushed: bool) {
    let mut factory = Factory::unsigned(4);
    let note = factory.note(0, 100, "again");
    let mut world = small_world();
    let [Outcome::Stored(first)] = world.admit(std::slice::from_ref(&note), NOW)[..] else {
        panic!("the note is new");
    };
    world.commit_all();
    if is_flushed {
        world.flush_all();
    }
    assert_eq!(world.remove(&[first, Seq(99)]), 1);
    assert_eq!(world.remove(&[first]), 0);
    let [Outcome::Stored(second)] = world.admit(std::slice::from_ref(&note), NOW)[..] else {
        panic!("the note is welcome");
    };
    assert!(second > first);
    world.commit_all();
    world.flush_all();
    world.assert_clean();
    assert_eq!(world.all(NOW), [id(&note).to_string()]);
    let snapshot = world.store().snapshot().expect("a snapshot");
    let found = snapshot.by_id(&id(&note)).expect("a look-up").map(|(seq, _)| seq);
    assert_eq!(found, Some(second));
}

/// E-34: what a batch stores and removes again is accepted and never published.
#[test]
fn a_batch_does_not_publish_what_it_removes() {
    let mut factory = Factory::unsigned(5);
    let note = factory.note(0, 100, "note");
    let request = factory.draft(0).kind(5).at(150).tags(json!([["e", note["id"]]])).build();
    let (v1, v2) = (factory.draft(0).kind(0).at(1).build(), factory.draft(0).kind(0).at(2).build());
    let mut world = small_world();
    let events = [note, v1, request.clone(), v2.clone()];
    let batch = events.iter().map(world::verified).collect();
    let admitted = world.admitter().admit(batch, zeolite_proto::Timestamp(NOW)).expect("admission");
    assert!(admitted.outcomes.iter().all(|outcome| matches!(outcome, Outcome::Stored(_))));
    let published: Vec<_> = admitted.stored.iter().map(|(_, event)| event.view().id()).collect();
    assert_eq!(published, [id(&request), id(&v2)]);
    world.committer().commit(vec![admitted.pending]).expect("a commit");
    world.assert_clean();
}
