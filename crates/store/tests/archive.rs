//! What the archive keeps, and what takes it out again.

mod world;

use serde_json::{Value, json};
use world::{World, archived_in};
use zeolite_proto::{EventId, PubKey, Seq};
use zeolite_store::ArchiveCause::{Deleted, Replaced};
use zeolite_store::{ArchiveCause, ArchivePart, Options, Outcome, Store};
use zeolite_testkit::{Factory, Universe};

const NOW: u64 = 2_000;

fn archive() -> World {
    World::new(Options { archive: true, map_bytes: 1 << 28, ..Options::default() })
}

fn id(event: &Value) -> String {
    event["id"].as_str().expect("an id").to_owned()
}

fn part(event: &Value) -> ArchivePart {
    ArchivePart::Event(EventId::from_hex(&id(event)).expect("hex"))
}

fn seq_of(world: &World, event: &Value) -> Seq {
    let id = EventId::from_hex(&id(event)).expect("hex");
    let snapshot = world.store().snapshot().expect("a snapshot");
    snapshot.by_id(&id).expect("a look-up").expect("it is there").0
}

fn author(factory: &mut Factory, at: usize) -> PubKey {
    PubKey::from_hex(&factory.pubkey(at)).expect("hex")
}

fn profile(factory: &mut Factory, author: usize, at: u64) -> Value {
    factory.draft(author).kind(0).at(at).build()
}

fn deletion(factory: &mut Factory, author: usize, at: u64, targets: &[&Value]) -> Value {
    let tags: Vec<_> = targets.iter().map(|target| json!(["e", target["id"]])).collect();
    factory.draft(author).kind(5).at(at).tags(tags.into()).build()
}

fn vanish(factory: &mut Factory, author: usize, at: u64) -> Value {
    factory.draft(author).kind(62).at(at).tag(&["relay", Universe::OWN_URL]).build()
}

#[track_caller]
fn check(world: &World, expected: &[(ArchiveCause, &Value)]) {
    let mut expected: Vec<_> = expected.iter().map(|(cause, event)| (*cause, id(event))).collect();
    let mut found = world.archived();
    expected.sort_unstable_by(|a, b| a.1.cmp(&b.1));
    found.sort_unstable_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(found, expected);
    world.assert_clean();
}

/// Each with its cause, out of the sight of every query, also where it comes and goes in one batch;
/// what the operator removes is not kept.
#[test]
fn what_was_replaced_or_deleted_is_kept() {
    for batch_events in [1, 2, 10] {
        let factory = &mut Factory::unsigned(1);
        let (old, new) = (profile(factory, 0, 100), profile(factory, 0, 200));
        let (gone, kept) = (factory.note(0, 100, "gone"), factory.note(0, 100, "kept"));
        let request = deletion(factory, 0, 300, &[&gone]);
        let key = factory.pubkey(1);
        let article = factory.draft(1).kind(30_023).at(100).tag(&["d", "x"]).build();
        let address = json!([["a", format!("30023:{key}:x")]]);
        let by_address = factory.draft(1).kind(5).at(300).tags(address).build();
        let late = profile(factory, 0, 50);
        let events = [&old, &new, &gone, &kept, &request, &article, &by_address, &late];
        let mut world = archive();
        for batch in events.map(Clone::clone).chunks(batch_events) {
            world.admit(batch, NOW);
        }
        world.commit_all();
        let expected = [(Replaced, &old), (Deleted, &gone), (Deleted, &article)];
        check(&world, &expected);
        assert_eq!(world.committer().archived_events(), 3);
        assert_eq!(world.all(NOW).len(), 4);
        assert_eq!(world.query(&[json!({"ids": [id(&old), id(&gone)]})], NOW), [""; 0]);
        world.reopen();
        check(&world, &expected);
        assert_eq!(world.store().stats().expect("stats").archived_events, 3);
        world.close();
        let read_only = Store::open_read_only(world.dir()).expect("a store");
        assert_eq!(archived_in(&read_only).len(), 3);
        drop(read_only);
        world.reopen();
        let seq = seq_of(&world, &kept);
        assert_eq!(world.remove(&[seq]), 1);
        world.commit_all();
        check(&world, &expected);
    }
}

/// Without the option nothing is kept; what was kept before stays.
#[test]
fn the_option_is_asked_for_what_goes_from_now_on() {
    let factory = &mut Factory::unsigned(2);
    let versions: Vec<_> = (1..=3).map(|at| profile(factory, 0, at)).collect();
    let mut world = archive();
    world.admit(&versions[..2], NOW);
    world.commit_all();
    world.options().archive = false;
    world.reopen();
    world.admit(&versions[2..], NOW);
    world.commit_all();
    check(&world, &[(Replaced, &versions[0])]);
}

/// NIP-40: who says when an event is to go does not want it kept for longer.
#[test]
fn what_expires_is_not_kept() {
    let factory = &mut Factory::unsigned(3);
    let mut expiring = |at: u64| {
        factory.draft(0).kind(0).at(at).tag(&["expiration", &(NOW + 10).to_string()]).build()
    };
    let versions = [expiring(1), expiring(2)];
    let mut world = archive();
    world.admit(&versions, NOW);
    world.expire(NOW + 10, 10);
    world.commit_all();
    check(&world, &[]);
    assert_eq!(world.all(NOW + 10), [""; 0]);
}

/// R62-03, R62-04: who vanishes leaves the archive too, with the gift wraps to them; at once for who
/// looks, and in slices for the tables; a restart in the middle goes on with it. What the author
/// publishes afterwards, and what is others', stays.
#[test]
fn who_vanishes_leaves_the_archive() {
    let factory = &mut Factory::unsigned(4);
    let own: Vec<_> = (0..3_000).map(|at| profile(factory, 0, 100 + at)).collect();
    let other = [profile(factory, 1, 100), profile(factory, 1, 200)];
    let key = factory.pubkey(0);
    let wrap = factory.draft(2).kind(1059).at(100).tag(&["p", &key]).build();
    let mention = factory.draft(2).kind(1).at(100).tag(&["p", &key]).build();
    let by_author = deletion(factory, 2, 150, &[&wrap, &mention]);
    let mut world = archive();
    for batch in [&own[..], &other, &[wrap, mention.clone(), by_author]] {
        world.admit(batch, NOW);
        world.commit_all();
    }
    assert_eq!(world.archived().len(), 2_999 + 3);
    let request = vanish(factory, 0, 3_098);
    world.admit(&[request], NOW);
    world.commit_all();
    let left = [(Replaced, &other[0]), (Deleted, &mention)];
    check(&world, &left);
    assert!(world.committer().archived_events() > 100, "one slice is not enough");
    world.reopen();
    check(&world, &left);
    for _ in 0..4 {
        world.commit(0);
    }
    assert_eq!(world.committer().archived_events(), 2);
    let newer = [profile(factory, 0, 4_000), profile(factory, 0, 4_001)];
    world.admit(&newer, NOW);
    world.commit_all();
    check(&world, &[left[0], left[1], (Replaced, &own[2_999]), (Replaced, &newer[0])]);
}

/// An operator takes out an event, or all that is by an author; gift wraps to that author stay.
#[test]
fn an_operator_wipes_the_archive() {
    let factory = &mut Factory::unsigned(5);
    let versions: Vec<_> = (0..5).map(|at| profile(factory, 0, at)).collect();
    let key = factory.pubkey(0);
    let wrap = factory.draft(1).kind(1059).at(100).tag(&["p", &key]).build();
    let by_recipient = deletion(factory, 0, 150, &[&wrap]);
    let mut world = archive();
    world.admit(&versions, NOW);
    world.admit(&[wrap.clone(), by_recipient], NOW);
    world.wipe_archive(&[part(&versions[1]), part(&versions[4])]);
    world.commit_all();
    let kept = [0, 2, 3].map(|at| (Replaced, &versions[at]));
    check(&world, &[kept[0], kept[1], kept[2], (Deleted, &wrap)]);
    assert!(world.all(NOW).contains(&id(&versions[4])), "it is not in the archive, but stored");
    world.wipe_archive(&[ArchivePart::Author(author(factory, 0))]);
    world.commit_all();
    check(&world, &[(Deleted, &wrap)]);
}

/// Case 58: a store that is full keeps nothing more, and goes on deleting.
#[test]
fn a_full_store_archives_nothing() {
    let factory = &mut Factory::unsigned(6);
    let mut world =
        World::new(Options { archive: true, map_bytes: 16 << 20, ..Options::default() });
    let mut notes = Vec::new();
    while !world.store().is_full() {
        let at = notes.len() as u64;
        let batch: Vec<_> =
            (at..at + 100).map(|at| factory.draft(0).at(at).padded_to(2_000).build()).collect();
        world.admit(&batch, NOW);
        world.commit_all();
        notes.extend(batch);
    }
    let targets: Vec<_> = notes[..200].iter().collect();
    let request = deletion(factory, 0, 5_000, &targets);
    assert!(matches!(world.admit(&[request], NOW)[..], [Outcome::Stored(_)]));
    world.commit_all();
    check(&world, &[]);
}
