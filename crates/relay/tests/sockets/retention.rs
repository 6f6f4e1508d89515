//! Retention in a running relay.

use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use negentropy::{Id, Negentropy, NegentropyStorageVector};
use serde_json::{Value, json};
use zeolite_policy::RetentionRule;
use zeolite_proto::PubKey;
use zeolite_relay::config::Config;
use zeolite_testkit::Factory;

use crate::support::{Client, PATIENCE, TestRelay, relay, relay_in};

const DAY: u64 = 86_400;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn author(number: usize) -> PubKey {
    PubKey::from_hex(&Factory::new(1).pubkey(number)).unwrap()
}

fn count(client: &mut Client, filter: Value) -> u64 {
    client.send(&json!(["COUNT", "count", filter]));
    client.recv()[2]["count"].as_u64().unwrap()
}

/// Author 0's events stay; others' kind 7 goes after a day.
fn by_age(config: &mut Config) {
    let kept = RetentionRule { authors: [author(0)].into(), ..RetentionRule::default() };
    let reactions = RetentionRule {
        kinds: ["7".parse().unwrap()].into_iter().collect(),
        age_s_max: Some(DAY),
        ..RetentionRule::default()
    };
    config.policy.rules.retention.rules = vec![kept, reactions];
    config.store.retention_s = 1;
}

/// Fills a store with `count` reactions each of two authors, half of them two days old, and a few
/// notes.
fn fill(dir: &Path, count: u64) -> Vec<Value> {
    let relay = relay_in(dir, |_| {});
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let mut events = Vec::new();
    for at in 0..count {
        let time = now() - at % 2 * 2 * DAY - 60 - at;
        for author in [0, 1] {
            events.push(factory.draft(author).kind(7).at(time).build());
        }
    }
    events.extend((0..10).map(|at| factory.note(1, now() - 10 * DAY - at, "old")));
    let messages: Vec<_> = events.iter().map(|event| json!(["EVENT", event])).collect();
    client.send_all(&messages);
    for event in &events {
        client.expect(json!(["OK", event["id"], true, ""]));
    }
    relay.relay.unwrap().stop();
    events
}

/// What NIP-77 finds in the whole set, by an independent implementation.
fn reconciled(client: &mut Client) -> usize {
    let mut storage = NegentropyStorageVector::new();
    storage.seal().unwrap();
    let mut negentropy = Negentropy::owned(storage, 0).unwrap();
    let mut message = negentropy.initiate().unwrap();
    client.send(&json!(["NEG-OPEN", "n", {}, faster_hex::hex_string(&message)]));
    let (mut have, mut need): (Vec<Id>, Vec<Id>) = (Vec::new(), Vec::new());
    loop {
        let answer = client.recv();
        assert_eq!(answer[0], "NEG-MSG", "{answer}");
        let hex = answer[2].as_str().unwrap();
        message = vec![0; hex.len() / 2];
        faster_hex::hex_decode(hex.as_bytes(), &mut message).unwrap();
        match negentropy.reconcile_with_ids(&message, &mut have, &mut need).unwrap() {
            Some(next) => {
                client.send(&json!(["NEG-MSG", "n", faster_hex::hex_string(&next)]));
            }
            None => break,
        }
    }
    client.send(&json!(["NEG-CLOSE", "n"]));
    need.len()
}

fn removed(relay: &TestRelay, rule: &str) -> u64 {
    relay.metric(&format!("zeolite_retention_removed_total{{rule=\"{rule}\"}}"))
}

/// What is too old goes in the background, what is exempt stays, and every way to read agrees on
/// it. Offered again it is refused (M-04), so that no mirror brings it back. Stopping in the middle
/// loses nothing, and the next start goes on.
#[test]
fn the_old_go_and_stay_away() {
    let dir = tempfile::tempdir().unwrap();
    let events = fill(dir.path(), 1_500);
    // A short life, with luck in the middle of the work.
    let relay = relay_in(dir.path(), by_age);
    let start = Instant::now();
    while removed(&relay, "2") == 0 {
        assert!(start.elapsed() < PATIENCE, "retention never begins");
    }
    relay.relay.unwrap().stop();
    let relay = relay_in(dir.path(), by_age);
    let mut client = relay.client();
    let start = Instant::now();
    while count(&mut client, json!({"kinds": [7]})) != 2_250 {
        assert!(start.elapsed() < PATIENCE, "750 of author 1 should go");
        std::thread::yield_now();
    }
    let of = |author: usize| json!({"kinds": [7], "authors": [self::author(author).to_string()]});
    assert_eq!((count(&mut client, of(0)), count(&mut client, of(1))), (1_500, 750));
    assert_eq!(client.query("all", &json!({"kinds": [1]})).len(), 10, "no rule is about notes");
    assert_eq!(reconciled(&mut client), 2_260);
    assert_eq!(removed(&relay, "1") + removed(&relay, "size"), 0);
    // Old, young, exempt: offered again.
    let old = |event: &Value| event["created_at"].as_u64().unwrap() < now() - DAY;
    let is_of = |event: &Value, author: usize| event["pubkey"] == self::author(author).to_string();
    let pick = |author, is_old| {
        events.iter().find(|event| is_of(event, author) && old(event) == is_old).unwrap()
    };
    for (event, accepted, text) in [
        (pick(1, true), false, "blocked: older than this relay keeps"),
        (pick(1, false), true, "duplicate: this event is stored already"),
        (pick(0, true), true, "duplicate: this event is stored already"),
    ] {
        client.send(&json!(["EVENT", event]));
        client.expect(json!(["OK", event["id"], accepted, text]));
    }
    relay.relay.unwrap().stop();
    let store = zeolite_store::Store::open_read_only(&dir.path().join("store")).unwrap();
    let report = store.check(&mut |_| {}).unwrap();
    assert!(report.is_clean() && report.events == 2_260, "{report:?}");
}

/// Above the bound the oldest go while events come in, and what would be older still is refused,
/// also after a restart.
#[test]
fn the_oldest_make_room() {
    let dir = tempfile::tempdir().unwrap();
    let by_size = |config: &mut Config| {
        config.policy.rules.retention.bytes_max = Some(1 << 20);
        config.store.retention_s = 1;
    };
    let relay = relay_in(dir.path(), by_size);
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let start = now() - 100_000;
    let mut send = |client: &mut Client, from: u64| {
        let notes: Vec<_> = (from..from + 1_000)
            .map(|at| factory.draft(0).at(start + at).padded_to(1_000).build())
            .collect();
        let messages: Vec<_> = notes.iter().map(|note| json!(["EVENT", note])).collect();
        client.send_all(&messages);
        notes.iter().for_each(|note| client.expect(json!(["OK", note["id"], true, ""])));
        notes
    };
    let first = send(&mut client, 0);
    let second = send(&mut client, 1_000);
    let since = Instant::now();
    while relay.metric("zeolite_stored_bytes") > 1 << 20 {
        assert!(since.elapsed() < PATIENCE, "it never fits");
    }
    let left = count(&mut client, json!({}));
    assert_eq!(removed(&relay, "size"), 2_000 - left);
    let bytes = relay.metric("zeolite_stored_bytes");
    assert!(bytes > (1 << 20) - (1 << 16) - 3_000, "not more than needed: {bytes}");
    let newest = second.last().unwrap();
    let check = |client: &mut Client| {
        client.send(&json!(["EVENT", first[0]]));
        let blocked = "blocked: older than this relay keeps";
        client.expect(json!(["OK", first[0]["id"], false, blocked]));
        assert_eq!(client.query("new", &json!({"ids": [newest["id"]]})).len(), 1);
    };
    check(&mut client);
    relay.relay.unwrap().stop();
    let relay = relay_in(dir.path(), by_size);
    check(&mut relay.client());
    relay.relay.unwrap().stop();
    // With room for four times as much, old events are welcome.
    let relay = relay_in(dir.path(), |config| {
        config.policy.rules.retention.bytes_max = Some(4 << 20);
    });
    relay.client().publish(&first[0]);
}

/// Nothing configured, nothing removed: however old it is.
#[test]
fn by_default_everything_is_kept() {
    let relay = relay(|_| {});
    let mut client = relay.client();
    let note = Factory::new(1).note(0, 1, "from the first day");
    client.publish(&note);
    client.send(&json!(["EVENT", note]));
    client.expect(json!(["OK", note["id"], true, "duplicate: this event is stored already"]));
    assert_eq!(removed(&relay, "size"), 0);
}
