//! The whole road: publish, query, follow live, delete, count.

use serde_json::json;
use zeolite_testkit::Factory;

use crate::support::relay;

const NOW: u64 = 1_700_000_000;

/// R01-50, R01-51, R01-54, R67-01: stored events newest first, one EOSE that says whether that was
/// all, then live ones, on the subscription that asked.
#[test]
fn publish_query_and_follow() {
    let relay = relay(|_| {});
    let mut factory = Factory::new(1);
    let (mut alice, mut bob) = (relay.client(), relay.client());
    let notes: Vec<_> = (0..3).map(|at| factory.note(0, NOW + at, "hello")).collect();
    for note in &notes {
        alice.publish(note);
    }
    bob.send(&json!(["REQ", "all", {"kinds": [1]}]));
    for note in notes.iter().rev() {
        bob.expect(json!(["EVENT", "all", note]));
    }
    bob.expect(json!(["EOSE", "all", ["finish"]]));
    bob.send(&json!(["REQ", "two", {"kinds": [1], "limit": 2}]));
    bob.expect(json!(["EVENT", "two", notes[2]]));
    bob.expect(json!(["EVENT", "two", notes[1]]));
    bob.expect(json!(["EOSE", "two"]));
    bob.send(&json!(["CLOSE", "two"]));
    bob.send(&json!(["COUNT", "n", {"kinds": [1], "limit": 1}]));
    bob.expect(json!(["COUNT", "n", {"count": 3}]));
    let live = factory.note(1, NOW - 5, "live");
    alice.publish(&live);
    bob.expect(json!(["EVENT", "all", live]));
    let other = factory.draft(1).kind(7).at(NOW).build();
    alice.publish(&other);
    alice.send(&json!(["EVENT", live]));
    alice.expect(json!(["OK", live["id"], true, "duplicate: this event is stored already"]));
    bob.send(&json!(["COUNT", "n", {}]));
    bob.expect(json!(["COUNT", "n", {"count": 5}]));
}

/// R01-22, R01-58: an ephemeral event reaches who listens, and nobody later.
#[test]
fn ephemeral_events_are_delivered_and_not_stored() {
    let relay = relay(|config| config.limits.ephemeral_age_s_max = None);
    let mut factory = Factory::new(2);
    let (mut alice, mut bob) = (relay.client(), relay.client());
    assert!(bob.query("e", &json!({"kinds": [1, 20_001]})).is_empty());
    // A subscription is live when it was given something live: stored events are caught up with.
    let note = factory.note(0, NOW, "first");
    alice.publish(&note);
    bob.expect(json!(["EVENT", "e", note]));
    let event = factory.draft(0).kind(20_001).at(NOW).build();
    alice.publish(&event);
    bob.expect(json!(["EVENT", "e", event]));
    assert!(bob.query("e", &json!({"kinds": [20_001]})).is_empty());
}

/// R01-03, R01-27, R09-07: what is refused is refused with a reason, and not delivered.
#[test]
fn refusals_have_reasons() {
    let relay = relay(|_| {});
    let mut factory = Factory::new(3);
    let (mut alice, mut bob) = (relay.client(), relay.client());
    assert!(bob.query("all", &json!({})).is_empty());
    let mut forged = factory.note(0, NOW, "forged");
    forged["sig"] = "0".repeat(128).into();
    alice.send(&json!(["EVENT", forged]));
    alice.expect(json!(["OK", forged["id"], false, "invalid: the signature is wrong"]));
    let profile = factory.draft(0).kind(0).at(NOW).build();
    alice.publish(&profile);
    bob.expect(json!(["EVENT", "all", profile]));
    let older = factory.draft(0).kind(0).at(NOW - 1).build();
    alice.send(&json!(["EVENT", older]));
    alice.expect(json!(["OK", older["id"], false, "duplicate: a newer version is stored"]));
    let note = factory.note(0, NOW, "regretted");
    alice.publish(&note);
    bob.expect(json!(["EVENT", "all", note]));
    let id = note["id"].as_str().unwrap();
    let deletion = factory.draft(0).kind(5).at(NOW + 1).tag(&["e", id]).build();
    // In one go: the second copy must not pass for a duplicate of what was just deleted.
    alice.send_all(&[json!(["EVENT", deletion]), json!(["EVENT", note])]);
    alice.expect(json!(["OK", deletion["id"], true, ""]));
    alice.expect(json!(["OK", id, false, "blocked: deleted by its author"]));
    bob.expect(json!(["EVENT", "all", deletion]));
    bob.send(&json!(["COUNT", "n", {"kinds": [1]}]));
    bob.expect(json!(["COUNT", "n", {"count": 0}]));
}
