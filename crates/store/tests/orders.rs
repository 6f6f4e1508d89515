//! Small sets in every order and every cut into batches: the same store comes out.

mod world;

use serde_json::{Value, json};
use world::World;
use zeolite_store::{Durability, Options};
use zeolite_testkit::{Factory, OracleStore, Universe};

const NOW: u64 = 2_000;

/// Every permutation of `0..count`.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for shorter in permutations(count - 1) {
        for at in 0..count {
            let mut longer = shorter.clone();
            longer.insert(at, count - 1);
            all.push(longer);
        }
    }
    all
}

fn fast() -> Options {
    Options { map_bytes: 1 << 26, durability: Durability::Fast, ..Options::default() }
}

/// Publishes the events in every order, one by one and in one batch, with and without commits and
/// flushes in between; `kept` are the positions of those that must be left.
fn check(name: &str, events: &[Value], kept: &[usize]) {
    let id = |at: &usize| events[*at]["id"].as_str().expect("an id").to_owned();
    let mut expected: Vec<_> = kept.iter().map(id).collect();
    expected.sort_unstable();
    for order in permutations(events.len()) {
        let events: Vec<_> = order.iter().map(|at| events[*at].clone()).collect();
        let mut oracle = OracleStore::new(&[Universe::OWN_URL]);
        for event in &events {
            oracle.publish(event, NOW);
        }
        let sorted = |mut ids: Vec<String>| {
            ids.sort_unstable();
            ids
        };
        assert_eq!(sorted(oracle.effective_set(NOW)), expected, "{name}: the oracle, {order:?}");
        for batch_events in [1, 2, events.len()] {
            for flush in [false, true] {
                let mut world = World::new(fast());
                for batch in events.chunks(batch_events) {
                    world.admit(batch, NOW);
                    if flush {
                        world.commit_all();
                        world.flush_all();
                    }
                }
                let found = sorted(world.all(NOW));
                assert_eq!(found, expected, "{name}: {order:?} by {batch_events}, {flush}");
                world.commit_all();
                world.assert_clean();
            }
        }
    }
}

fn article(factory: &mut Factory, author: usize, at: u64, d: &str) -> Value {
    factory.draft(author).kind(30_023).at(at).tag(&["d", d]).build()
}

fn deletion(factory: &mut Factory, author: usize, at: u64, tags: Value) -> Value {
    factory.draft(author).kind(5).at(at).tags(tags).build()
}

fn vanish(factory: &mut Factory, author: usize, at: u64, relay: &str) -> Value {
    factory.draft(author).kind(62).at(at).tag(&["relay", relay]).build()
}

/// E-40, case 4: an address deletion takes versions up to its time, whatever comes first.
#[test]
fn address_deletions() {
    let factory = &mut Factory::unsigned(1);
    let key = factory.pubkey(0);
    let v1 = article(factory, 0, 100, "x");
    let v2 = article(factory, 0, 200, "x");
    let at_same_time = article(factory, 0, 150, "x");
    let other_d = article(factory, 0, 100, "y");
    let request = deletion(factory, 0, 150, json!([["a", format!("30023:{key}:x")]]));
    check("v1, deletion, v2", &[v1.clone(), request.clone(), v2], &[1, 2]);
    check("E-44: equal times", &[at_same_time, request.clone()], &[1]);
    check("E-46: another d", &[v1, request, other_d], &[1, 2]);
    let profile = factory.draft(0).kind(0).at(100).build();
    let request = deletion(factory, 0, 150, json!([["a", format!("0:{key}:")]]));
    check("R09-04: a replaceable kind", &[profile, request], &[1]);
}

/// E-41, E-42, E-49: deletion by id of one version of an address.
#[test]
fn version_deletions() {
    let factory = &mut Factory::unsigned(2);
    let [v1, v2, v3] = [100, 200, 300].map(|at| article(factory, 0, at, "x"));
    let by_id =
        |factory: &mut Factory, of: &Value| deletion(factory, 0, 50, json!([["e", of["id"]]]));
    let request = by_id(factory, &v2);
    check("E-41: no older version", &[v1.clone(), v2.clone(), request.clone()], &[2]);
    check("a newer one lives", &[v2.clone(), v3.clone(), request], &[1, 2]);
    let request = by_id(factory, &v1);
    check("E-42: a superseded one", &[v1, v2, request], &[1, 2]);
}

/// R01-25, cases 9 and 11: ties, first `d` tag, missing `d`.
#[test]
fn replacements() {
    let factory = &mut Factory::unsigned(3);
    let mut tie: Vec<_> =
        ["a", "b", "c"].map(|text| factory.draft(0).kind(0).at(100).content(text).build()).into();
    tie.sort_by_key(|event| event["id"].as_str().expect("an id").to_owned());
    check("R01-25: the lowest id", &tie, &[0]);
    let request = deletion(factory, 0, 50, json!([["e", tie[1]["id"]]]));
    check("a tie whose loser is deleted", &[tie[0].clone(), tie[1].clone(), request], &[0, 2]);
    let request = deletion(factory, 0, 50, json!([["e", tie[0]["id"]]]));
    check("a tie whose winner is deleted", &[tie[0].clone(), tie[1].clone(), request], &[2]);
    let two_d = factory.draft(0).kind(30_000).at(1).tags(json!([["d", "b"], ["d", "a"]])).build();
    let d_b = factory.draft(0).kind(30_000).at(2).tags(json!([["d", "b"]])).build();
    check("case 11: the first d", &[two_d, d_b], &[1]);
    let no_d = factory.draft(0).kind(30_000).at(1).build();
    let empty_d = factory.draft(0).kind(30_000).at(2).tags(json!([["d", ""]])).build();
    check("R01-28: no d is an empty d", &[no_d, empty_d], &[1]);
}

/// E-43, E-45, E-48, cases 2, 3, 5, 6: who may delete what.
#[test]
fn rights_to_delete() {
    let factory = &mut Factory::unsigned(4);
    let (own, other) = (factory.pubkey(0), factory.pubkey(1));
    let note = factory.note(0, 100, "mine");
    let foreign = deletion(factory, 1, 150, json!([["e", note["id"]]]));
    check("E-43, case 6: a stranger", &[note.clone(), foreign], &[0, 1]);
    let request = deletion(factory, 0, 50, json!([["e", note["id"]]]));
    check("R09-10: no time bound", &[note.clone(), request.clone()], &[1]);
    let undo = deletion(factory, 0, 200, json!([["e", request["id"]]]));
    check("R09-09: no deletion of a deletion", &[note, request, undo], &[1, 2]);
    let article = article(factory, 1, 100, "x");
    let foreign = deletion(factory, 0, 150, json!([["a", format!("30023:{other}:x")]]));
    check("case 2: a foreign address", &[article, foreign], &[0, 1]);
    let keep = factory.note(0, 100, "keep");
    let bad = json!([["e", "short"], ["a", "1:x:y"], ["a", format!("30023:{own}")], ["e"], ["a"]]);
    let bad = deletion(factory, 0, 150, bad);
    check("R09-12, E-45, case 3: tags that name nothing", &[keep, bad], &[0, 1]);
    let wrap = factory.draft(2).kind(1059).at(100).tag(&["p", &own]).build();
    let by_recipient = deletion(factory, 0, 50, json!([["e", wrap["id"]]]));
    let by_stranger = deletion(factory, 1, 50, json!([["e", wrap["id"]]]));
    check("R09-16: the recipient", &[wrap.clone(), by_recipient], &[1]);
    check("R09-16: nobody else", &[wrap, by_stranger], &[0, 1]);
}

/// R62-02 to R62-09, E-52, E-53, case 45.
#[test]
fn requests_to_vanish() {
    let factory = &mut Factory::unsigned(5);
    let key = factory.pubkey(0);
    let old = factory.note(0, 100, "old");
    let at_once = factory.note(0, 150, "same second");
    let newer = factory.note(0, 151, "newer");
    let everywhere = vanish(factory, 0, 150, "ALL_RELAYS");
    check("old, newer", &[old.clone(), everywhere.clone(), newer.clone()], &[1, 2]);
    check("R62-03: inclusive", &[at_once, everywhere.clone()], &[1]);
    let here = vanish(factory, 0, 150, "WSS://relay.example:443/");
    check("E-52: our URL, spelt otherwise", &[old.clone(), here], &[1]);
    for elsewhere in ["wss://other.example", "all_relays", ""] {
        let elsewhere = vanish(factory, 0, 150, elsewhere);
        check("E-52: not to us", &[old.clone(), elsewhere], &[0, 1]);
    }
    let earlier = vanish(factory, 0, 120, "ALL_RELAYS");
    check("E-53: an older request", &[old.clone(), everywhere.clone(), earlier], &[1]);
    let again = factory.draft(0).kind(62).at(150).tags(json!([["relay", "ALL_RELAYS"], ["x"]]));
    let again = again.build();
    check("two of one second", &[old.clone(), everywhere.clone(), again], &[1, 2]);
    let request = deletion(factory, 0, 140, json!([["e", newer["id"]]]));
    check("a wiped deletion has acted", &[request, newer.clone(), everywhere.clone()], &[2]);
    let undo = deletion(factory, 0, 200, json!([["e", everywhere["id"]]]));
    check("R62-08: no way back", &[old, everywhere.clone(), undo], &[1, 2]);
    let wrap =
        |factory: &mut Factory, at| factory.draft(1).kind(1059).at(at).tag(&["p", &key]).build();
    let (old_wrap, new_wrap) = (wrap(factory, 100), wrap(factory, 160));
    check("R62-04: gift wraps", &[old_wrap, new_wrap, everywhere.clone()], &[1, 2]);
    let mention = factory.draft(1).at(100).tag(&["p", &key]).build();
    check("a mention is no gift wrap", &[mention, everywhere], &[0, 1]);
}

/// E-50, E-47, case 44: what has expired has no effect; what expires later had its effect.
#[test]
fn expirations() {
    let factory = &mut Factory::unsigned(6);
    let late = (NOW - 1).to_string();
    let note = factory.note(0, 100, "note");
    let gone = factory.draft(0).at(100).tag(&["expiration", &late]).build();
    check("E-50: refused", &[gone], &[]);
    let request = factory.draft(0).kind(5).at(100);
    let request = request.tags(json!([["e", note["id"]], ["expiration", NOW.to_string()]])).build();
    check("a deletion that came too late", &[note, request], &[0]);
    let v1 = factory.draft(0).kind(0).at(100).build();
    let v2 = factory.draft(0).kind(0).at(200).tag(&["expiration", &late]).build();
    check("a version that came too late", &[v1, v2], &[0]);
}
