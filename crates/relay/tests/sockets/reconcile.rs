//! Reconciliation over sockets, with the negentropy crate as the peer.

use std::collections::BTreeSet;

use negentropy::{Id, Negentropy, NegentropyStorageVector};
use serde_json::{Value, json};
use zeolite_testkit::Factory;

use crate::support::{Client, TestRelay, relay};

const NOW: u64 = 1_700_000_000;
/// Nothing but the version: a message that is answered by itself.
const DONE: &str = "61";
/// A message that says that the client has nothing.
const NOTHING: &str = "6100000200";

/// 600 events of three authors and two kinds, over 200 seconds.
fn events() -> Vec<Value> {
    let mut factory = Factory::new(77);
    let draft = |at: u64| {
        let author = (at % 3) as usize;
        let kind = if at.is_multiple_of(5) { 7 } else { 1 };
        factory.draft(author).kind(kind).at(NOW + at % 200).content(&at.to_string()).build()
    };
    (0..600).map(draft).collect()
}

fn publish(client: &mut Client, events: &[Value]) {
    let messages: Vec<_> = events.iter().map(|event| json!(["EVENT", event])).collect();
    client.send_all(&messages);
    for event in events {
        client.expect(json!(["OK", event["id"], true, ""]));
    }
}

fn id(event: &Value) -> String {
    event["id"].as_str().unwrap().to_owned()
}

fn ids<'e>(events: impl IntoIterator<Item = &'e Value>) -> BTreeSet<String> {
    events.into_iter().map(id).collect()
}

/// Reconciles as a client that holds `ours`. Gives what it has alone, and what it needs.
fn reconcile<'e>(
    client: &mut Client,
    filter: &Value,
    ours: impl IntoIterator<Item = &'e Value>,
    frame_bytes_max: u64,
) -> (BTreeSet<String>, BTreeSet<String>) {
    let mut storage = NegentropyStorageVector::new();
    for event in ours {
        let mut bytes = [0; 32];
        faster_hex::hex_decode(id(event).as_bytes(), &mut bytes).unwrap();
        storage.insert(event["created_at"].as_u64().unwrap(), Id::from_byte_array(bytes)).unwrap();
    }
    storage.seal().unwrap();
    let mut peer = Negentropy::owned(storage, frame_bytes_max).unwrap();
    let first = faster_hex::hex_string(&peer.initiate().unwrap());
    client.send(&json!(["NEG-OPEN", "n", filter, first]));
    let (mut have, mut need) = (Vec::new(), Vec::new());
    loop {
        let answer = client.recv();
        assert_eq!((&answer[0], &answer[1]), (&json!("NEG-MSG"), &json!("n")), "{answer}");
        let hex = answer[2].as_str().unwrap();
        assert!(hex.bytes().all(|digit| !digit.is_ascii_uppercase()));
        let mut message = vec![0; hex.len() / 2];
        faster_hex::hex_decode(hex.as_bytes(), &mut message).unwrap();
        let Some(next) = peer.reconcile_with_ids(&message, &mut have, &mut need).unwrap() else {
            break;
        };
        client.send(&json!(["NEG-MSG", "n", faster_hex::hex_string(&next)]));
    }
    client.send(&json!(["NEG-CLOSE", "n"]));
    let hex = |ids: Vec<Id>| ids.iter().map(|id| faster_hex::hex_string(&id.to_bytes())).collect();
    (hex(have), hex(need))
}

/// R77-01 to R77-03, R77-08, R77-09, R77-11: the set is what the filter matches, whichever way it
/// is had, and exactly the difference is found.
#[test]
fn sets_are_what_filters_match() {
    let relay = relay(|config| config.negentropy.frame_bytes_max = 4_096);
    let mut client = relay.client();
    let events = events();
    let (stored, only_here) = events.split_at(500);
    publish(&mut client, stored);
    let author = stored[0]["pubkey"].clone();
    let mut newest: Vec<&Value> = stored.iter().collect();
    newest.sort_by_key(|event| (std::cmp::Reverse(event["created_at"].as_u64()), id(event)));
    let in_time = |event: &Value, since: u64, until: u64| {
        (NOW + since..=NOW + until).contains(&event["created_at"].as_u64().unwrap())
    };
    for (filter, expected) in [
        (json!({}), ids(stored)),
        (
            json!({"since": NOW + 50, "until": NOW + 120}),
            ids(stored.iter().filter(|event| in_time(event, 50, 120))),
        ),
        (json!({"since": NOW + 1_000}), BTreeSet::new()),
        (json!({"kinds": [7]}), ids(stored.iter().filter(|event| event["kind"] == 7))),
        (json!({"authors": [author]}), ids(stored.iter().filter(|it| it["pubkey"] == author))),
        (json!({"limit": 33}), ids(newest[..33].iter().copied())),
        (json!({"limit": 0}), BTreeSet::new()),
        (
            json!({"kinds": [1, 7], "limit": 121, "until": NOW + 150}),
            ids(newest.iter().copied().filter(|event| in_time(event, 0, 150)).take(121)),
        ),
        (json!({"ids": []}), BTreeSet::new()),
    ] {
        for frame_bytes_max in [0, 4_096] {
            // Half of what is there, and some that only the client has.
            let ours: Vec<&Value> = stored.iter().step_by(2).chain(only_here).collect();
            let held = ids(ours.iter().copied());
            let found = reconcile(&mut client, &filter, ours, frame_bytes_max);
            let (have, need) = (&held - &expected, &expected - &held);
            assert_eq!(found, (have, need), "{filter}");
            let nothing = reconcile(&mut client, &filter, [], frame_bytes_max);
            assert_eq!(nothing, (BTreeSet::new(), expected.clone()), "{filter}");
        }
    }
    // What comes meanwhile belongs to the next session of a set that is kept.
    publish(&mut client, only_here);
    let all = reconcile(&mut client, &json!({}), &events, 0);
    assert_eq!(all, (BTreeSet::new(), BTreeSet::new()));
    relay.await_metric("zeolite_reconciliations", 0);
    relay.await_metric("zeolite_reconcile_set_bytes", 0);
    assert!(relay.metric("zeolite_jobs_total{kind=\"reconcile\"}") > 40);
    assert!(relay.metric("zeolite_reconcile_items_total") > 2_000);
}

/// A relay with twelve events of kind 1.
fn relay_with_twelve(configure: impl FnOnce(&mut zeolite_relay::config::Config)) -> TestRelay {
    let relay = relay(configure);
    let mut factory = Factory::new(5);
    let notes: Vec<_> = (0..12).map(|at| factory.note(0, NOW + at, "note")).collect();
    publish(&mut relay.client(), &notes);
    relay
}

/// E-63, R77-06, R77-07: messages that come before the set is ready wait their turn, a second open
/// ends the first, ids are apart from those of subscriptions, and nothing is left at the end.
#[test]
fn messages_wait_for_the_set_and_ids_are_apart() {
    let relay = relay_with_twelve(|_| {});
    let mut client = relay.client();
    client.send_all(&[
        json!(["NEG-OPEN", "n", {"kinds": [1]}, DONE]),
        json!(["NEG-MSG", "n", DONE]),
        json!(["REQ", "n", {"limit": 0}]),
        json!(["NEG-MSG", "n", DONE]),
    ]);
    let mut answers: Vec<Value> = (0..4).map(|_| client.recv()).collect();
    answers.retain(|answer| *answer != json!(["EOSE", "n"]));
    assert_eq!(answers, vec![json!(["NEG-MSG", "n", DONE]); 3]);
    assert_eq!(relay.metric("zeolite_reconciliations"), 1);
    client.send(&json!(["NEG-OPEN", "n", {}, "62aa"]));
    // N-01: another version is answered with ours.
    client.expect(json!(["NEG-MSG", "n", DONE]));
    assert_eq!(relay.metric("zeolite_reconciliations"), 1);
    client.send(&json!(["CLOSE", "n"]));
    client.send(&json!(["NEG-MSG", "n", "610000000"]));
    client.expect(json!(["NEG-ERR", "n", "invalid: message has an odd number of hex digits"]));
    relay.await_metric("zeolite_reconciliations", 0);
    client.send(&json!(["NEG-MSG", "n", DONE]));
    let unknown = json!(["NEG-ERR", "n", "closed: no reconciliation is open under this id"]);
    client.expect(unknown.clone());
    // E-64, R77-04: what is malformed ends the session and not the connection.
    for filter in [json!({}), json!({"kinds": [1]})] {
        client.send(&json!(["NEG-OPEN", "n", filter, "61000003"]));
        client.expect(json!(["NEG-ERR", "n", "invalid: message has a range of unknown mode 3"]));
        client.send(&json!(["NEG-MSG", "n", DONE]));
        client.expect(unknown.clone());
    }
    relay.await_metric("zeolite_reconcile_errors_total{reason=\"invalid\"}", 2);
    relay.await_metric("zeolite_reconciliations", 0);
}

/// Case 15, R77-05, R77-11: a set above the cap is refused with the cap; sets that need not be
/// built have none.
#[test]
fn sets_above_the_cap_are_refused_with_the_cap() {
    let relay = relay_with_twelve(|config| config.negentropy.items_max = 10);
    let mut client = relay.client();
    let too_many = json!(["NEG-ERR", "n", "blocked: more than 10 events match", 10]);
    for filter in [json!({"kinds": [1]}), json!({"limit": 11}), json!({"kinds": [1], "limit": 12})]
    {
        client.send(&json!(["NEG-OPEN", "n", filter, NOTHING]));
        client.expect(too_many.clone());
        client.send(&json!(["NEG-MSG", "n", DONE]));
        client.expect(json!(["NEG-ERR", "n", "closed: no reconciliation is open under this id"]));
    }
    relay.await_metric("zeolite_reconcile_errors_total{reason=\"too_many\"}", 3);
    relay.await_metric("zeolite_reconcile_set_bytes", 0);
    for (filter, items) in [
        (json!({}), 12),
        (json!({"since": NOW + 1}), 11),
        (json!({"kinds": [1], "limit": 10}), 10),
        (json!({"kinds": [1], "since": NOW + 2}), 10),
    ] {
        let found = reconcile(&mut client, &filter, [], 0);
        assert_eq!(found.1.len(), items, "{filter}");
    }
}

/// Built sets are counted: for the relay, and a quarter of it for one connection.
#[test]
fn memory_for_sets_is_bounded() {
    // One set of twelve takes 16 * 40 bytes while it grows, so a connection has room for two.
    let relay = relay_with_twelve(|config| config.negentropy.memory_bytes_max = 4 * 1_400);
    let mut client = relay.client();
    let open = |sub: &str| json!(["NEG-OPEN", sub, {"kinds": [1]}, DONE]);
    for sub in ["a", "b"] {
        client.send(&open(sub));
        client.expect(json!(["NEG-MSG", sub, DONE]));
    }
    let no_memory = json!(["NEG-ERR", "c", "closed: no memory for this set at the moment"]);
    client.send(&open("c"));
    client.expect(no_memory.clone());
    let mut others: Vec<Client> = (0..3).map(|_| relay.client()).collect();
    for other in &mut others {
        for sub in ["a", "b"] {
            other.send(&open(sub));
            other.expect(json!(["NEG-MSG", sub, DONE]));
        }
    }
    let full = relay.metric("zeolite_reconcile_set_bytes");
    assert!((8 * 480..=5_600).contains(&full), "{full} bytes");
    // What needs no memory is served all the same.
    client.send(&json!(["NEG-OPEN", "c", {}, DONE]));
    client.expect(json!(["NEG-MSG", "c", DONE]));
    // A set that is closed makes room, and so does a connection that goes.
    client.send(&json!(["NEG-CLOSE", "a"]));
    client.send(&open("c"));
    client.expect(json!(["NEG-MSG", "c", DONE]));
    drop(others);
    relay.await_metric("zeolite_reconciliations", 2);
    drop(client);
    relay.await_metric("zeolite_reconciliations", 0);
    relay.await_metric("zeolite_reconcile_set_bytes", 0);
}

/// R77-05: a client that goes silent loses its session and the memory of its set.
#[test]
fn idle_sessions_end() {
    let relay = relay_with_twelve(|config| config.negentropy.idle_s_max = 1);
    let mut client = relay.client();
    client.send(&json!(["NEG-OPEN", "n", {"kinds": [1]}, DONE]));
    client.expect(json!(["NEG-MSG", "n", DONE]));
    client.expect(json!(["NEG-ERR", "n", "closed: no message for 1 seconds"]));
    relay.await_metric("zeolite_reconciliations", 0);
    relay.await_metric("zeolite_reconcile_set_bytes", 0);
    relay.await_metric("zeolite_reconcile_errors_total{reason=\"idle\"}", 1);
    client.send(&json!(["NEG-MSG", "n", DONE]));
    client.expect(json!(["NEG-ERR", "n", "closed: no reconciliation is open under this id"]));
}

/// R77-13, case 16: what is switched off is refused by name, and not listed.
#[test]
fn what_is_off_is_refused_and_not_listed() {
    let relay = relay(|config| config.negentropy.enabled = false);
    let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                   Accept: application/nostr+json\r\n\r\n";
    let answer = relay.http(request);
    let (_, document) = answer.split_once("\r\n\r\n").unwrap();
    let document: Value = serde_json::from_str(document).unwrap();
    let nips = document["supported_nips"].as_array().unwrap();
    assert!(!nips.contains(&json!(77)) && nips.contains(&json!(45)), "{nips:?}");
    let mut client = relay.client();
    client.send(&json!(["NEG-OPEN", "n", {"kinds": [1]}, NOTHING]));
    client.expect(json!(["NEG-ERR", "n", "blocked: reconciliation is not offered"]));
}

/// Answers wait for a client that does not read: messages are read again when it does, and the
/// memory between is one answer.
#[test]
fn answers_wait_for_a_slow_reader() {
    let relay = relay(|_| {});
    let mut client = relay.client();
    publish(&mut client, &events());
    let rounds = 200;
    for round in 0..rounds {
        let verb = if round == 0 {
            json!(["NEG-OPEN", "n", {}, NOTHING])
        } else {
            json!(["NEG-MSG", "n", NOTHING])
        };
        client.send(&verb);
    }
    let mut answers = BTreeSet::new();
    for _ in 0..rounds {
        let answer = client.recv();
        assert_eq!(answer[0], "NEG-MSG");
        answers.insert(answer[2].as_str().unwrap().len());
    }
    // 600 ids as a list: version, bound, mode, two bytes of count.
    assert_eq!(answers, BTreeSet::from([2 * (1 + 2 + 1 + 2 + 600 * 32)]));
}
