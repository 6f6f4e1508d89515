//! The oracle store against hand-made histories, and its independence of the order of arrival.

use rand::RngExt;
use rand::seq::SliceRandom;
use serde_json::{Value, json};
use zeolite_testkit::{Factory, OracleOutcome, OracleStore, Universe, run_seeds};

use OracleOutcome::{Deleted, Duplicate, Ephemeral, Expired, Stored, Superseded, Vanished};

const NOW: u64 = 1_000;

/// Publishes the events in every order; the same names must remain each time.
fn check(rule: &str, events: &[(&str, Value)], remain: &[&str]) {
    let mut expected: Vec<_> = remain.to_vec();
    expected.sort_unstable();
    let mut order: Vec<usize> = (0..events.len()).collect();
    permutations(&mut order, 0, &mut |order| {
        let mut store = OracleStore::new(&[Universe::OWN_URL]);
        for &at in order {
            store.publish(&events[at].1, NOW);
        }
        let name = |id: &String| {
            let named = events.iter().find(|(_, event)| event["id"] == id.as_str());
            named.expect("published").0
        };
        let set = store.effective_set(NOW);
        let mut left: Vec<_> = set.iter().map(name).collect();
        left.sort_unstable();
        let names: Vec<_> = order.iter().map(|&at| events[at].0).collect();
        assert_eq!(left, expected, "{rule}: in the order {names:?}");
    });
}

fn permutations(order: &mut Vec<usize>, fixed: usize, visit: &mut impl FnMut(&[usize])) {
    if fixed == order.len() {
        return visit(order);
    }
    for at in fixed..order.len() {
        order.swap(fixed, at);
        permutations(order, fixed + 1, visit);
        order.swap(fixed, at);
    }
}

fn id(event: &Value) -> &str {
    event["id"].as_str().expect("an id")
}

struct World(Factory);

impl World {
    fn new() -> Self {
        Self(Factory::unsigned(3))
    }

    fn make(&mut self, author: usize, at: u64, kind: u16, tags: Value) -> Value {
        self.0.draft(author).at(at).kind(kind).tags(tags).build()
    }

    fn article(&mut self, author: usize, at: u64, name: &str) -> Value {
        self.make(author, at, 30_023, json!([["d", name]]))
    }

    fn delete_id(&mut self, author: usize, at: u64, target: &Value) -> Value {
        self.make(author, at, 5, json!([["e", target["id"]]]))
    }

    fn delete_article(&mut self, author: usize, at: u64, owner: usize, name: &str) -> Value {
        let address = format!("30023:{}:{name}", self.0.pubkey(owner));
        self.make(author, at, 5, json!([["a", address]]))
    }
}

/// Deletion by id and by address: R09-02 to R09-12, E-40 to E-49, cases 2 to 6.
#[test]
fn deletions_do_not_depend_on_order() {
    let mut w = World::new();
    let (v1, v2) = (w.article(0, 100, "x"), w.article(0, 200, "x"));
    let by_address = w.delete_article(0, 150, 0, "x");
    check("E-40", &[("v1", v1.clone()), ("v2", v2.clone()), ("del", by_address)], &["v2", "del"]);
    let at_same_time = w.delete_article(0, 100, 0, "x");
    check("E-44", &[("v1", v1.clone()), ("del", at_same_time)], &["del"]);
    let by_id = w.delete_id(0, 50, &v2);
    let both = [("v1", v1.clone()), ("v2", v2.clone()), ("del", by_id)];
    check("E-41, E-49, R09-10", &both, &["del"]);
    let old_by_id = w.delete_id(0, 300, &v1);
    check("E-42", &[("v1", v1.clone()), ("v2", v2.clone()), ("del", old_by_id)], &["v2", "del"]);
    let strangers = w.delete_id(1, 300, &v1);
    check("E-43", &[("v1", v1.clone()), ("del", strangers)], &["v1", "del"]);
    let forged = w.delete_article(1, 300, 0, "x");
    check("case 2", &[("v1", v1.clone()), ("del", forged)], &["v1", "del"]);
    let other_name = w.delete_article(0, 300, 0, "x:y");
    check("E-46", &[("v1", v1.clone()), ("del", other_name)], &["v1", "del"]);
    let note = w.make(0, 100, 1, json!([]));
    let address_only = w.delete_article(0, 300, 0, "x");
    let history = [("note", note.clone()), ("v1", v1.clone()), ("del", address_only)];
    check("case 3", &history, &["note", "del"]);
    let request = w.delete_id(0, 300, &note);
    let against = w.delete_id(0, 301, &request);
    let chain = [("note", note.clone()), ("del", request), ("undo", against)];
    check("E-48", &chain, &["del", "undo"]);
    let owner = w.0.pubkey(0);
    let bad =
        json!([["e", "x"], ["a", "30023"], ["a", format!("1:{owner}:")], ["a", "30023:ab:x"]]);
    let bad = w.make(0, 300, 5, bad);
    check("E-45", &[("note", note), ("v1", v1), ("del", bad)], &["note", "v1", "del"]);
}

/// Gift wraps: R09-16, R62-04.
#[test]
fn recipients_may_delete_gift_wraps() {
    let mut w = World::new();
    let recipient = w.0.pubkey(1);
    let wrap = w.make(0, 100, 1059, json!([["p", &recipient]]));
    let recipients = w.delete_id(1, 50, &wrap);
    check("R09-16", &[("wrap", wrap.clone()), ("del", recipients)], &["del"]);
    let strangers = w.delete_id(2, 150, &wrap);
    check("R09-16", &[("wrap", wrap.clone()), ("del", strangers)], &["wrap", "del"]);
    let vanish = w.make(1, 100, 62, json!([["relay", "ALL_RELAYS"]]));
    let later = w.make(0, 101, 1059, json!([["p", recipient]]));
    let history = [("wrap", wrap), ("later", later), ("vanish", vanish)];
    check("R62-04", &history, &["later", "vanish"]);
}

/// Vanish requests: R62-02 to R62-10, E-52, E-53.
#[test]
fn vanish_requests_do_not_depend_on_order() {
    let mut w = World::new();
    let (old, new) = (w.make(0, 100, 1, json!([])), w.make(0, 101, 1, json!([])));
    for (url, acts) in [
        (Universe::OWN_URL, true),
        ("WSS://RELAY.example/", true),
        ("ALL_RELAYS", true),
        ("all_relays", false),
        ("wss://elsewhere.example", false),
    ] {
        let vanish = w.make(0, 100, 62, json!([["relay", "wss://x.example"], ["relay", url]]));
        let remain = if acts { &["new", "vanish"][..] } else { &["old", "new", "vanish"] };
        check(url, &[("old", old.clone()), ("new", new.clone()), ("vanish", vanish)], remain);
    }
    let vanish = w.make(0, 100, 62, json!([["relay", "ALL_RELAYS"]]));
    let earlier = w.make(0, 90, 62, json!([["relay", "ALL_RELAYS"]]));
    check("E-53", &[("earlier", earlier), ("vanish", vanish.clone())], &["vanish"]);
    let undo = w.delete_id(0, 200, &vanish);
    check("R62-08", &[("vanish", vanish.clone()), ("undo", undo)], &["vanish", "undo"]);
    let old_request = w.delete_id(0, 50, &new);
    let history = [("new", new), ("del", old_request), ("vanish", vanish)];
    check("R62-09", &history, &["vanish"]);
}

/// Replacement: R01-21, R01-23, R01-25, R01-28, case 9, case 11.
#[test]
fn versions_do_not_depend_on_order() {
    let mut w = World::new();
    let mut ties: Vec<_> =
        (0..3).map(|n| w.0.draft(0).kind(0).at(100).content(&n.to_string()).build()).collect();
    ties.sort_by(|one, other| id(one).cmp(id(other)));
    let [low, middle, high] = ties.try_into().expect("three");
    let ties = [("low", low.clone()), ("middle", middle.clone()), ("high", high)];
    check("R01-25", &ties, &["low"]);
    let del_low = w.delete_id(0, 1, &low);
    check("E-41 in one second", &[("low", low), ("middle", middle), ("del", del_low)], &["del"]);
    let none = w.make(0, 100, 30_000, json!([]));
    let valueless = w.make(0, 101, 30_000, json!([["d"], ["d", "b"]]));
    let empty = w.make(0, 102, 30_000, json!([["d", ""]]));
    let first = w.make(0, 103, 30_000, json!([["d", "b"], ["d", ""]]));
    let names = [("none", none), ("valueless", valueless), ("empty", empty), ("first", first)];
    check("case 11", &names, &["empty", "first"]);
}

/// Expiry: R40-02 to R40-07, E-47, E-51.
#[test]
fn expired_events_hide_and_still_block() {
    let mut w = World::new();
    let mut store = OracleStore::default();
    let old = w.make(0, 100, 0, json!([]));
    let brief = w.make(0, 200, 0, json!([["expiration", "300"]]));
    let odd = w.make(0, 200, 1, json!([["expiration", "abc"], ["expiration", "1"]]));
    let request = w.make(0, 200, 5, json!([["e", odd["id"]], ["expiration", "300"]]));
    assert_eq!(store.publish(&brief, 300), Expired);
    assert_eq!(store.publish(&old, 300), Stored, "a refused event has no effect");
    assert_eq!(store.publish(&brief, 299), Stored);
    assert_eq!(store.publish(&brief, 299), Duplicate);
    assert_eq!(store.effective_set(299), [id(&brief)]);
    assert_eq!(store.effective_set(300), [""; 0], "R40-06: reached is expired");
    assert_eq!(store.publish(&old, 300), Superseded);
    assert_eq!(store.publish(&odd, 300), Stored);
    assert_eq!(store.publish(&request, 299), Stored);
    assert_eq!(store.publish(&odd, 400), Deleted, "E-47");
}

/// The outcomes and the order of reasons.
#[test]
fn outcomes_name_the_first_reason() {
    let mut w = World::new();
    let mut store = OracleStore::new(&[]);
    let (v1, v2) = (w.article(0, 100, "x"), w.article(0, 200, "x"));
    let request = w.delete_id(0, 300, &v1);
    let vanish = w.make(0, 150, 62, json!([["relay", "ALL_RELAYS"]]));
    let live = w.make(0, 100, 20_001, json!([]));
    for (event, outcome) in [
        (&v2, Stored),
        (&v1, Superseded),
        (&request, Stored),
        (&v1, Deleted),
        (&vanish, Stored),
        (&v1, Vanished),
        (&live, Ephemeral),
        (&v2, Duplicate),
    ] {
        assert_eq!(store.publish(event, NOW), outcome, "{event}");
    }
    assert_eq!(store.get(id(&v2)), Some(&v2));
    assert_eq!(store.get(id(&v1)), None);
}

/// R01-76 to R01-78, R45-01, R45-05, case 39: each filter has its own limit, the union is in
/// order and without doubles, and counting ignores limits.
#[test]
fn queries_are_unions_in_order() {
    let mut w = World::new();
    let mut store = OracleStore::default();
    let notes: Vec<_> = (0..6).map(|at| w.make(at % 2, at as u64 / 2, 1, json!([]))).collect();
    for note in &notes {
        store.publish(note, NOW);
    }
    let author = w.0.pubkey(1);
    let filters =
        [json!({"limit": 2}), json!({"authors": [author], "limit": 2}), json!({"ids": []})];
    let found = store.query(&filters, NOW);
    let mut newest = [id(&notes[4]), id(&notes[5])];
    newest.sort_unstable();
    assert_eq!(found, [newest[0], newest[1], id(&notes[3])]);
    assert_eq!(store.count(&filters, NOW), 6);
    assert_eq!(store.count(&filters[1..], NOW), 3);
    assert_eq!(store.query(&[json!({"limit": 0})], NOW), [""; 0]);
}

/// E-34: any history of the universe ends in one state, whatever the order.
#[test]
fn random_histories_end_alike_in_any_order() {
    run_seeds("random_histories_end_alike_in_any_order", 400, |rng| {
        let mut universe = Universe::new(Factory::unsigned(rng.random()));
        let now = Universe::now(rng);
        let mut events = universe.shuffled(rng.random_range(1..40), rng);
        let run = |events: &[Value]| {
            let mut store = OracleStore::new(&[Universe::OWN_URL]);
            events.iter().for_each(|event| {
                store.publish(event, now);
            });
            store.effective_set(now)
        };
        let first = run(&events);
        for _ in 0..4 {
            events.shuffle(rng);
            assert_eq!(run(&events), first);
        }
    });
}

/// The universe is worth testing in: every outcome happens, filters match some and miss some.
#[test]
fn the_universe_is_interesting() {
    let mut outcomes = std::collections::HashMap::new();
    let (mut full, mut empty) = (0, 0);
    run_seeds("the_universe_is_interesting", 50, |rng| {
        let mut universe = Universe::new(Factory::unsigned(rng.random()));
        let mut store = OracleStore::new(&[Universe::OWN_URL]);
        let now = Universe::now(rng);
        for _ in 0..60 {
            let event = universe.event(rng);
            *outcomes.entry(format!("{:?}", store.publish(&event, now))).or_insert(0) += 1;
        }
        for _ in 0..20 {
            let filters = universe.filters(rng);
            *(if store.query(&filters, now).is_empty() { &mut empty } else { &mut full }) += 1;
        }
    });
    assert_eq!(outcomes.len(), 7, "{outcomes:?}");
    assert!(outcomes.values().all(|&n| n >= 50), "{outcomes:?}");
    assert!(full > 100 && empty > 100, "{full} answers, {empty} empty ones");
}
