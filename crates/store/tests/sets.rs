//! Sets for reconciliation (NIP-77): what is in them, and what is not.

mod world;

#[path = "support/forge.rs"]
mod forge;

use forge::forged;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use world::World;
use world::sets::{assert_sets, built, scanned, with_view, without_kinds};
use zeolite_proto::{Filter, Kind};
use zeolite_reconcile::{Edge, Set};
use zeolite_store::{Durability, Options, ReconcileSet, SetOptions, SliceBudget, Store};
use zeolite_testkit::{Factory, TestRng, Universe};

const NOW: u64 = 2_000;
/// Kinds whose events do not replace one another.
const REGULAR: [u16; 4] = [1, 2, 4, 7];
const SMALL: SliceBudget =
    SliceBudget { events_max: 7, time_max: std::time::Duration::from_secs(9) };

fn options() -> Options {
    Options { map_bytes: 1 << 28, durability: Durability::Fast, ..Options::default() }
}

/// The ids of the unfiltered set, in its order.
fn ids(store: &Store, without: &[Kind], now: u64) -> Vec<String> {
    let mut ids = Vec::new();
    with_view(store, &Filter::default(), without, now, |view| {
        let mut visit = |item: &zeolite_reconcile::Item| ids.push(item.id.to_string());
        view.for_each(&Edge::START, view.len(), &mut visit).expect("a walk");
    });
    ids
}

fn sorted_ids<'e>(events: impl IntoIterator<Item = &'e Value>) -> Vec<String> {
    let mut events: Vec<_> = events.into_iter().collect();
    let id = |event: &Value| event["id"].as_str().expect("an id").to_owned();
    events.sort_by_key(|event| (event["created_at"].as_u64(), id(event)));
    events.into_iter().map(id).collect()
}

/// Case 12: of two versions in one batch the older one leaves no trace, whichever comes first; and
/// a deletion that deletes nothing changes nothing but that it is there itself.
#[test]
fn a_batch_that_replaces_its_own_events_leaves_one() {
    let mut factory = Factory::unsigned(1);
    let mut profile = |author, at| factory.draft(author).kind(0).at(at).build();
    let (first, second) = (profile(0, 1), profile(0, 2));
    let (late, early) = (profile(1, 4), profile(1, 3));
    let deletion = factory.draft(0).kind(5).at(9).tag(&["e", &"ab".repeat(32)]).build();
    let mut world = World::new(options());
    world.admit(&[first, second.clone(), late.clone(), early], NOW);
    assert_eq!(ids(world.store(), &[], NOW), sorted_ids([&second, &late]));
    world.admit(std::slice::from_ref(&deletion), NOW);
    let expected = sorted_ids([&second, &late, &deletion]);
    assert_eq!(ids(world.store(), &[], NOW), expected);
    world.commit_all();
    world.flush_all();
    world.reopen();
    assert_eq!(ids(world.store(), &[], NOW), expected);
    world.assert_clean();
}

/// R77-10, cases 21 and 44: what is expired is in no set, from its very second on and before it is
/// removed, and neither are kinds that are left out.
#[test]
fn expired_and_gated_events_are_left_out() {
    let mut factory = Factory::unsigned(1);
    let note = factory.note(0, 10, "");
    let gift = factory.draft(1).kind(1_059).at(11).build();
    let until = |at: u64| (NOW + at).to_string();
    let mut expiring =
        |kind, at: u64| factory.draft(0).kind(kind).at(12).tag(&["expiration", &until(at)]).build();
    let events = [note.clone(), gift.clone(), expiring(1, 1), expiring(1_059, 1), expiring(4, 2)];
    let gated = [Kind(4), Kind(1_059)];
    let mut world = World::new(Options { gated_kinds: gated.to_vec(), ..options() });
    world.admit(&events, NOW);
    for flush in [false, true] {
        if flush {
            world.commit_all();
            world.flush_all();
        }
        let store = world.store();
        assert_eq!(ids(store, &[], NOW), sorted_ids(&events));
        assert_eq!(ids(store, &[], NOW + 1), sorted_ids([&note, &gift, &events[4]]));
        assert_eq!(ids(store, &[], NOW + 2), sorted_ids([&note, &gift]));
        assert_eq!(ids(store, &gated, NOW), sorted_ids([&note, &events[2]]));
        assert_eq!(ids(store, &gated, NOW + 2), sorted_ids([&note]));
    }
    assert_eq!(world.expire(NOW + 2, 10), 3);
    assert_eq!(ids(world.store(), &[], NOW + 2), sorted_ids([&note, &gift]));
    assert_eq!(ids(world.store(), &gated, NOW + 2), sorted_ids([&note]));
}

/// Other kinds are gated than the last time: the sums are made anew when the store is opened.
#[test]
fn gated_kinds_may_change() {
    let mut factory = Factory::unsigned(1);
    let events: Vec<_> =
        (0..40).map(|at| factory.draft(0).kind(REGULAR[at % 4]).at(at as u64).build()).collect();
    let mut world = World::new(Options { bucket_items: 3, ..options() });
    world.admit(&events[..30], NOW);
    world.commit_all();
    world.flush_all();
    world.admit(&events[30..], NOW);
    world.commit_all();
    for gated in [vec![Kind(2)], vec![Kind(2), Kind(4)], Vec::new()] {
        world.options().gated_kinds = gated.clone();
        world.reopen();
        let is_open = |event: &&Value| {
            gated.iter().all(|kind| event["kind"].as_u64() != Some(u64::from(kind.0)))
        };
        let open = events.iter().filter(is_open);
        assert_eq!(ids(world.store(), &gated, NOW), sorted_ids(open));
        assert_eq!(ids(world.store(), &[], NOW), sorted_ids(&events));
        world.assert_clean();
    }
}

/// Case 60: while a request to vanish removes thousands of events in slices, none of them is in a
/// set.
#[test]
fn what_is_being_wiped_is_in_no_set() {
    let mut factory = Factory::unsigned(1);
    let own: Vec<_> = (0..1_500).map(|at| factory.note(0, at, &at.to_string())).collect();
    let other = factory.note(1, 700, "");
    let gift = factory.draft(1).kind(1_059).at(701);
    let gift = gift.tag(&["p", own[0]["pubkey"].as_str().expect("a key")]).build();
    let mut world = World::new(Options { head_events_max: 400, ..options() });
    for batch in own.chunks(300) {
        world.admit(batch, NOW);
        world.commit_all();
    }
    world.admit(&[other.clone(), gift], NOW);
    let request = factory.draft(0).kind(62).at(1_600).tag(&["relay", Universe::OWN_URL]).build();
    world.admit(std::slice::from_ref(&request), NOW);
    let mut rng = TestRng::seed_from_u64(1);
    let mut calls = 0;
    while world.admitter().has_unfinished_removals() {
        assert_eq!(ids(world.store(), &[], NOW), sorted_ids([&other, &request]));
        world.expire(NOW, 0);
        world.commit(1);
        calls += 1;
    }
    assert!(calls > 1, "it took several slices");
    assert_sets(world.store(), NOW, &mut rng);
    assert_eq!(ids(world.store(), &[], NOW), sorted_ids([&other, &request]));
}

/// Ten thousand events of one second, that come in no order, in the head, while they are flushed,
/// and flushed; then most of them go.
#[test]
fn a_dense_second_is_cut_inside() {
    let mut rng = TestRng::seed_from_u64(1);
    let mut world = World::new(Options {
        gated_kinds: vec![Kind(4)],
        bucket_items: 32,
        head_events_max: 12_000,
        flush_keys_min: 10_000,
        ..options()
    });
    let time = |at: usize| if at.is_multiple_of(500) { 900 + at as u64 / 500 } else { 1_000 };
    let events: Vec<_> =
        (0..10_000).map(|at| forged(rng.random(), 1, time(at), REGULAR[at % 4], &[])).collect();
    for batch in events.chunks(1_000) {
        world.admit_events(batch.to_vec(), NOW);
        world.commit_all();
    }
    assert_sets(world.store(), NOW, &mut rng);
    while world.store().stats().expect("figures").head_events > 0 {
        world.commit(0);
        world.flush_all();
    }
    assert_sets(world.store(), NOW, &mut rng);
    world.reopen();
    assert_sets(world.store(), NOW, &mut rng);
    let all: Vec<_> = (1..=10_000).map(zeolite_proto::Seq).filter(|seq| seq.0 % 9 != 0).collect();
    for seqs in all.chunks(3_000) {
        world.remove(seqs);
        assert_sets(world.store(), NOW, &mut rng);
    }
    world.commit_all();
    world.flush_all();
    world.reopen();
    assert_sets(world.store(), NOW, &mut rng);
    assert_eq!(ids(world.store(), &[], NOW).len(), 10_000 - all.len());
}

fn filter(json: &str) -> Filter {
    Filter::from_json(json).expect("a filter")
}

/// R77-11, case 15: sets that must be built have what a scan gives, up to the cap and not one item
/// more; a limit takes the newest, of one second the lowest ids, and what is left out does not use
/// it up.
#[test]
fn built_sets_keep_to_cap_and_limit() {
    let mut factory = Factory::unsigned(1);
    let kind = |at: u64| if at.is_multiple_of(4) { 4 } else { 1 };
    let events: Vec<_> = (0..60)
        .map(|at| factory.draft(0).kind(kind(at)).at(at / 5).content(&at.to_string()).build())
        .collect();
    let mut world = World::new(options());
    world.admit(&events, NOW);
    let store = world.store();
    let author = events[0]["pubkey"].as_str().expect("a key");
    let built = |json: &str, kinds: &[Kind], items_max| {
        let reader = without_kinds(kinds);
        let options = SetOptions { reader: &reader, items_max };
        built(store, &filter(json), options, NOW, SMALL)
    };
    for (json, count) in [
        (r#"{"kinds":[1]}"#.to_owned(), 45),
        (format!(r#"{{"authors":["{author}"]}}"#), 60),
        (r#"{"kinds":[4],"since":5}"#.to_owned(), 8),
        (r#"{"kinds":[9]}"#.to_owned(), 0),
    ] {
        let expected = scanned(store, &filter(&json), &[], NOW);
        assert_eq!(expected.len(), count);
        let set = built(&json, &[], count).expect("it is within the cap");
        assert_eq!(set.items(), expected.items(), "{json}");
        assert!(count == 0 || built(&json, &[], count - 1).is_none(), "{json} is above the cap");
    }
    for (limit, without) in [(0, &[][..]), (7, &[]), (7, &[Kind(4)]), (500, &[Kind(4)])] {
        let all = world.query(&[serde_json::json!({})], NOW);
        let is_open = |id: &&String| {
            let event = events.iter().find(|event| event["id"].as_str() == Some(id));
            without.is_empty() || event.expect("one of ours")["kind"] != 4
        };
        let mut newest: Vec<_> = all.iter().filter(is_open).take(limit).cloned().collect();
        let set = built(&format!(r#"{{"limit":{limit}}}"#), without, 60).expect("within the cap");
        let mut found: Vec<_> = set.items().iter().map(|item| item.id.to_string()).collect();
        newest.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, newest, "limit {limit} without {without:?}");
    }
    assert!(built(r#"{"limit":61}"#, &[], 59).is_none());
    let two = built(r#"{"limit":2}"#, &[], 1);
    assert!(two.is_none(), "a limit above the cap does not help");
}

/// Beside a writer nothing is kept: its removals would go unnoticed.
#[test]
fn whoever_reads_beside_a_writer_builds() {
    let mut world = World::new(options());
    world.admit(&[Factory::unsigned(1).note(0, 1, "")], NOW);
    world.commit_all();
    world.close();
    let reader = Store::open_read_only(world.dir()).expect("a store");
    let everything = without_kinds(&[]);
    let options = SetOptions { reader: &everything, items_max: 10 };
    let set = reader.reconcile_set(&Filter::default(), options).expect("a set");
    assert!(matches!(set, ReconcileSet::Build(_)));
    let set = built(&reader, &Filter::default(), options, NOW, SMALL).expect("within the cap");
    assert_eq!(set.len(), 1);
}
