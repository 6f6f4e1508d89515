//! The operator's rules over a socket, each beside what NIP-11 says of it.

use serde_json::{Value, json};
use zeolite_policy::KindRule;
use zeolite_proto::{Kind, PubKey};
use zeolite_relay::config::Config;
use zeolite_testkit::Factory;

use crate::support::{TestRelay, relay};

const TIME: u64 = 1_700_000_000;

fn limitation(relay: &TestRelay) -> (Value, Value) {
    let document = relay.document();
    (document["limitation"].clone(), document["supported_nips"].clone())
}

/// Starts a relay, checks a member of NIP-11's `limitation`, and what becomes of a note of author 0
/// and of author 1.
fn check(
    configure: impl FnOnce(&mut Config),
    (member, value): (&str, Value),
    texts: [(bool, &str); 2],
) {
    let relay = relay(configure);
    assert_eq!(limitation(&relay).0[member], value, "{member}");
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    for (author, (accepted, text)) in texts.into_iter().enumerate() {
        let note = factory.note(author, TIME, "hello");
        client.send(&json!(["EVENT", note]));
        client.expect(json!(["OK", note["id"], accepted, text]));
    }
}

fn author(number: usize) -> PubKey {
    PubKey::from_hex(&Factory::new(1).pubkey(number)).unwrap()
}

/// R11-11, R13-04, case 69: what the document says and what is done are the same, rule by rule.
#[test]
fn rules_are_told_and_enforced() {
    let good = (true, "");
    check(|_| {}, ("restricted_writes", json!(false)), [good, good]);
    check(
        |config| {
            config.policy.rules.authors_only = true;
            config.policy.rules.authors_allowed = [author(0)].into();
        },
        ("restricted_writes", json!(true)),
        [good, (false, "restricted: only some authors may write here")],
    );
    check(
        |config| config.policy.rules.authors_denied = [author(1)].into(),
        ("restricted_writes", json!(false)),
        [good, (false, "blocked: this author may not write here")],
    );
    let refused = (false, "blocked: events of kind 1 are not taken here");
    check(
        |config| config.policy.rules.kinds_denied = [Kind(1)].into(),
        ("restricted_writes", json!(false)),
        [refused, refused],
    );
    check(
        |config| config.policy.rules.kinds_allowed = [Kind(7)].into(),
        ("restricted_writes", json!(true)),
        [refused, refused],
    );
    let long = (false, "invalid: the content of kind 1 may have 3 bytes");
    check(
        |config| {
            let rule = KindRule { content_bytes_max: Some(3), ..KindRule::default() };
            config.policy.rules.kinds.insert(Kind(1), rule);
        },
        ("restricted_writes", json!(false)),
        [long, long],
    );
}

/// R13-01, R13-02, R13-04: the difficulty asked for is told, and so is the one that was found.
#[test]
fn work_is_told_and_enforced() {
    let relay = relay(|config| config.policy.rules.work_bits_min = 200);
    let (limits, nips) = limitation(&relay);
    assert_eq!(
        (&limits["min_pow_difficulty"], &limits["restricted_writes"]),
        (&json!(200), &json!(true))
    );
    assert!(nips.as_array().unwrap().contains(&json!(13)));
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let note = factory.note(0, TIME, "no work");
    client.send(&json!(["EVENT", note]));
    let answer = client.recv();
    let text = answer[3].as_str().unwrap();
    assert!(text.starts_with("pow: difficulty ") && text.ends_with(" is less than 200"), "{text}");
}

/// R59-06, R62-06: gift wraps and requests to vanish pass where only some may write.
#[test]
fn wraps_and_requests_to_vanish_pass() {
    let relay = relay(|config| config.policy.rules.authors_only = true);
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let recipient = factory.pubkey(0);
    client.publish(&factory.draft(1).at(TIME).kind(1059).tag(&["p", &recipient]).build());
    client.publish(&factory.draft(1).at(TIME).kind(62).tag(&["relay", "ALL_RELAYS"]).build());
    client.publish(&factory.draft(1).at(TIME + 1).kind(10_002).build());
}
