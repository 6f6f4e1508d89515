//! NIP-11 says what is done, and nothing else: each feature and limit is set, read in the document,
//! and tried (R11-08, R11-09, R11-11, R11-12, case 69).

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::Message;
use zeolite_proto::{Kind, PubKey};
use zeolite_relay::config::Config;
use zeolite_testkit::Factory;

use crate::support::{Client, TestRelay, relay};

fn now() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()
}

/// Publishes and gives the text of the answer: empty if the event was accepted.
fn publish(client: &mut Client, event: &Value) -> String {
    client.send(&json!(["EVENT", event]));
    let answer = client.recv();
    assert_eq!((&answer[0], &answer[1]), (&json!("OK"), &event["id"]), "{answer}");
    let text = answer[3].as_str().unwrap();
    assert_eq!(answer[2] == true, text.is_empty(), "{answer}");
    text.to_owned()
}

/// Whether the text is a refusal with this prefix, or none where the prefix is empty.
#[track_caller]
fn check_prefix(text: &str, prefix: &str, what: &str) {
    assert!(text.starts_with(prefix) && text.is_empty() == prefix.is_empty(), "{what}: {text:?}");
}

/// The verb of the first answer to a message.
fn answer_verb(client: &mut Client, message: &Value) -> String {
    client.send(message);
    client.recv()[0].as_str().unwrap().to_owned()
}

/// A limit: how it is set, what `limitation` then holds, and what is done.
struct Limit {
    set: fn(&mut Config),
    told: &'static [(&'static str, Option<u64>)],
    holds: fn(&TestRelay),
}

const LIMITS: &[Limit] = &[
    Limit {
        set: |config| config.limits.message_bytes_max = 2_000,
        told: &[("max_message_length", Some(2_000))],
        holds: |relay| {
            let of_bytes = |bytes: usize| format!("{:bytes$}", r#"["REQ","a",{}]"#);
            let mut client = relay.client();
            client.socket.send(Message::text(of_bytes(2_000))).unwrap();
            assert!(client.until_eose("a").is_empty());
            client.socket.send(Message::text(of_bytes(2_001))).unwrap();
            assert_eq!(client.close_code(), 1009);
        },
    },
    Limit {
        set: |config| config.limits.subscriptions_max = 3,
        told: &[("max_subscriptions", Some(3))],
        holds: |relay| {
            let mut client = relay.client();
            let verb_of = |client: &mut Client, sub| answer_verb(client, &json!(["REQ", sub, {}]));
            let verbs = ["a", "b", "c", "d"].map(|sub| verb_of(&mut client, sub));
            assert_eq!(verbs, ["EOSE", "EOSE", "EOSE", "CLOSED"]);
            // Each connection has its own.
            assert_eq!(verb_of(&mut relay.client(), "a"), "EOSE");
        },
    },
    Limit {
        set: |config| config.limits.filters_max = 2,
        // R11-07: there is no field for it any more.
        told: &[("max_filters", None)],
        holds: |relay| {
            let mut client = relay.client();
            assert_eq!(answer_verb(&mut client, &json!(["REQ", "a", {}, {}])), "EOSE");
            assert_eq!(answer_verb(&mut client, &json!(["REQ", "a", {}, {}, {}])), "CLOSED");
        },
    },
    Limit {
        set: |_| {},
        told: &[("max_subid_length", Some(64))],
        holds: |relay| {
            let mut client = relay.client();
            for (chars, verb) in [(64, "EOSE"), (65, "CLOSED")] {
                // Characters, not bytes.
                let message = json!(["REQ", "é".repeat(chars), {}]);
                assert_eq!(answer_verb(&mut client, &message), verb, "{chars}");
            }
        },
    },
    Limit {
        set: |config| {
            config.query.max_limit = Some(5);
            config.query.default_limit = Some(3);
        },
        told: &[("max_limit", Some(5)), ("default_limit", Some(3))],
        holds: |relay| check_pages(relay, [3, 4, 5, 5]),
    },
    Limit {
        set: |config| {
            config.query.max_limit = None;
            config.query.default_limit = None;
        },
        told: &[("max_limit", None), ("default_limit", None)],
        holds: |relay| check_pages(relay, [8, 4, 5, 8]),
    },
    Limit {
        set: |config| config.limits.event_tags_max = 3,
        told: &[("max_event_tags", Some(3))],
        holds: |relay| {
            let (mut client, mut factory) = (relay.client(), Factory::new(1));
            for (tags, prefix) in [(3, ""), (4, "invalid: ")] {
                let event = factory.draft(0).tags(json!(vec![["t", "x"]; tags])).build();
                check_prefix(&publish(&mut client, &event), prefix, "tags");
            }
        },
    },
    Limit {
        set: |config| config.limits.content_chars_max = 10,
        told: &[("max_content_length", Some(10))],
        holds: |relay| {
            let (mut client, mut factory) = (relay.client(), Factory::new(1));
            for (chars, prefix) in [(10, ""), (11, "invalid: ")] {
                let event = factory.note(0, now(), &"é".repeat(chars));
                check_prefix(&publish(&mut client, &event), prefix, "content");
            }
        },
    },
    Limit {
        set: |config| {
            config.limits.created_at_past_s_max = Some(1_000);
            config.limits.created_at_future_s_max = Some(1_000);
        },
        told: &[("created_at_lower_limit", Some(1_000)), ("created_at_upper_limit", Some(1_000))],
        holds: |relay| check_times(relay, "invalid: "),
    },
    Limit {
        set: |config| {
            config.limits.created_at_past_s_max = None;
            config.limits.created_at_future_s_max = None;
        },
        told: &[("created_at_lower_limit", None), ("created_at_upper_limit", None)],
        holds: |relay| check_times(relay, ""),
    },
    Limit {
        set: |config| config.policy.rules.work_bits_min = 4,
        told: &[("min_pow_difficulty", Some(4))],
        holds: |relay| check_work(relay, "pow: "),
    },
    Limit {
        set: |_| {},
        told: &[("min_pow_difficulty", None)],
        holds: |relay| check_work(relay, ""),
    },
];

/// Stores eight notes; then a filter without limit, and with limits of 4, 5 and 100, gives so many.
fn check_pages(relay: &TestRelay, expected: [usize; 4]) {
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let now = now();
    (0..8).for_each(|at| client.publish(&factory.note(0, now - at, "x")));
    let filters = [json!({}), json!({"limit": 4}), json!({"limit": 5}), json!({"limit": 100})];
    let found = filters.map(|filter| client.query("q", &filter).len());
    assert_eq!(found, expected);
    // Case 30: a page is no bound for a number.
    client.send(&json!(["COUNT", "c", {}]));
    client.expect(json!(["COUNT", "c", {"count": 8}]));
}

/// What lies within 1,000 s is taken; what does not has this answer.
fn check_times(relay: &TestRelay, beyond: &str) {
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let now = now();
    for (at, prefix) in [
        (now - 900, ""),
        (now + 900, ""),
        (now - 1_100, beyond),
        (now + 1_100, beyond),
        (1, beyond),
        (now + 10_000_000, beyond),
    ] {
        check_prefix(&publish(&mut client, &factory.note(0, at, "x")), prefix, &at.to_string());
    }
}

/// An id with four bits of work is taken; one that has none has this answer.
fn check_work(relay: &TestRelay, without: &str) {
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    let worked = factory.draft(0).at(now()).with_id_prefix("0");
    check_prefix(&publish(&mut client, &worked), "", "work");
    let lazy = factory.draft(0).at(now()).with_id_prefix("f");
    check_prefix(&publish(&mut client, &lazy), without, "no work");
}

#[test]
fn limits_are_told_and_hold() {
    for Limit { set, told, holds } in LIMITS {
        let relay = relay(set);
        let limitation = relay.document()["limitation"].take();
        for (member, value) in *told {
            let found = limitation.get(member).map(|value| value.as_u64().unwrap());
            assert_eq!(found, *value, "{member}");
        }
        holds(&relay);
    }
}

/// R11-05: every member of `limitation` is one that this test, or that of the rules, has tried.
#[test]
fn no_limit_is_told_that_was_not_tried() {
    let numbers = LIMITS.iter().flat_map(|limit| limit.told).map(|(member, _)| *member);
    // Of these there is one value or two; see `policy.rs` and below.
    let truths = ["auth_required", "payment_required", "restricted_writes"];
    let tried: Vec<_> = numbers.chain(truths).collect();
    let all = relay(|config| {
        config.policy.rules.work_bits_min = 1;
        config.limits.created_at_past_s_max = Some(1_000);
    });
    for member in all.document()["limitation"].as_object().unwrap().keys() {
        assert!(tried.contains(&member.as_str()), "{member} is told and was not tried");
    }
}

/// R11-11: nothing asks for a login or a payment, so everything works without.
#[test]
fn what_is_not_required_is_not_asked_for() {
    let relay = relay(|_| {});
    let limitation = relay.document()["limitation"].take();
    for member in ["auth_required", "payment_required", "restricted_writes"] {
        assert_eq!(limitation[member], false, "{member}");
    }
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    client.publish(&factory.note(0, now(), "x"));
    assert_eq!(client.query("q", &json!({})).len(), 1);
}

/// R11-11: where a login is required, nothing goes without one, and everything with one.
#[test]
fn what_is_required_is_asked_for() {
    let relay = relay(|config| config.auth.is_required = true);
    assert_eq!(relay.document()["limitation"]["auth_required"], true);
    let note = Factory::new(1).note(0, now(), "x");
    for (message, at) in
        [(json!(["EVENT", note]), 3), (json!(["REQ", "q", {}]), 2), (json!(["COUNT", "c", {}]), 2)]
    {
        let mut client = relay.client();
        client.send(&message);
        assert_eq!(client.recv()[0], "AUTH", "{message}");
        check_prefix(client.recv()[at].as_str().unwrap(), "auth-required: ", &message.to_string());
    }
    let mut client = logged_in(&relay).unwrap();
    client.publish(&note);
    assert_eq!(client.query("q", &json!({})).len(), 1);
}

/// R42-01: a client may be asked for a login as soon as it connects, and need not give one.
#[test]
fn a_login_can_be_asked_for_at_once() {
    let relay = relay(|config| config.auth.is_prompted = true);
    assert_eq!(relay.document()["limitation"]["auth_required"], false);
    let (mut client, mut factory) = (relay.client(), Factory::new(1));
    assert_eq!(client.recv()[0], "AUTH");
    client.publish(&factory.note(0, now(), "x"));
    assert_eq!(client.query("q", &json!({})).len(), 1);
}

/// What is different, and how.
type Configuration = (&'static str, fn(&mut Config));

/// A NIP, and whether a relay does as it says, found out over its address.
type Feature = (u16, fn(&TestRelay) -> bool);

const FEATURES: &[Feature] = &[
    // The basis: an event that is published is found.
    (1, |relay| {
        let (mut client, mut factory) = (relay.client(), Factory::new(1));
        let note = worked(&mut factory, 1, json!([]));
        client.publish(&note);
        client.query("q", &json!({"ids": [note["id"]]})) == [note]
    }),
    // A follow list is replaced by a newer one.
    (2, |relay| {
        let (mut client, mut factory) = (relay.client(), Factory::new(2));
        client.publish(&worked(&mut factory, 3, json!([["p", "1"]])));
        let newer = factory.draft(0).at(now() + 1).kind(3).with_id_prefix("0");
        client.publish(&newer);
        client.query("q", &json!({"kinds": [3], "authors": [newer["pubkey"]]})) == [newer]
    }),
    (4, |relay| is_kept_back(relay, 4)),
    // A deleted event is gone.
    (9, |relay| {
        let (mut client, mut factory) = (relay.client(), Factory::new(3));
        let note = worked(&mut factory, 1, json!([]));
        client.publish(&note);
        client.publish(&worked(&mut factory, 5, json!([["e", note["id"]]])));
        client.query("q", &json!({"ids": [note["id"]]})).is_empty()
    }),
    (11, |relay| relay.document()["limitation"].is_object()),
    // Work is asked for.
    (13, |relay| {
        let lazy = Factory::new(4).draft(0).at(now()).with_id_prefix("f");
        publish(&mut relay.client(), &lazy).starts_with("pow: ")
    }),
    (17, |relay| is_kept_back(relay, 1059)),
    // An expired event is not taken.
    (40, |relay| {
        let expired = worked(&mut Factory::new(5), 1, json!([["expiration", "1000"]]));
        publish(&mut relay.client(), &expired).starts_with("invalid: ")
    }),
    (42, |relay| logged_in(relay).is_some()),
    (45, |relay| answer_verb(&mut relay.client(), &json!(["COUNT", "c", {}])) == "COUNT"),
    (50, |relay| answer_verb(&mut relay.client(), &json!(["REQ", "q", {"search": "x"}])) == "EOSE"),
    (59, |relay| is_kept_back(relay, 1059) && is_kept_back(relay, 21_059)),
    // Everything of an author goes when he asks for it.
    (62, |relay| {
        let (mut client, mut factory) = (relay.client(), Factory::new(6));
        let note = worked(&mut factory, 1, json!([]));
        client.publish(&note);
        client.publish(&worked(&mut factory, 62, json!([["relay", "ALL_RELAYS"]])));
        client.query("q", &json!({"ids": [note["id"]]})).is_empty()
    }),
    // EOSE tells whether there is more.
    (67, |relay| {
        let mut client = relay.client();
        client.send(&json!(["REQ", "q", {"kinds": [9]}]));
        client.recv() == json!(["EOSE", "q", ["finish"]])
    }),
    // A protected event is taken of its author.
    (70, |relay| {
        let Some(mut client) = logged_in(relay) else { return false };
        let protected = worked(&mut Factory::new(7), 1, json!([["-"]]));
        publish(&mut client, &protected).is_empty()
    }),
    (77, |relay| {
        let open = json!(["NEG-OPEN", "n", {}, "6100000200"]);
        answer_verb(&mut relay.client(), &open) == "NEG-MSG"
    }),
    // Orders are read, and this one is not signed.
    (86, |relay| {
        let answer = relay.http(
            "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\
             Content-Type: application/nostr+json+rpc\r\n\r\n{}",
        );
        answer.starts_with("HTTP/1.1 401")
    }),
];

/// An event of author 0 with the little work that some of these relays ask for.
fn worked(factory: &mut Factory, kind: u16, tags: Value) -> Value {
    factory.draft(0).at(now()).kind(kind).tags(tags).with_id_prefix("0")
}

/// Whether events of this kind, which is for somebody, are shown to nobody in particular.
fn is_kept_back(relay: &TestRelay, kind: u16) -> bool {
    let (mut client, mut factory) = (relay.client(), Factory::new(8));
    let recipient = factory.pubkey(1);
    client.send(&json!(["EVENT", worked(&mut factory, kind, json!([["p", recipient]]))]));
    // It may be a duplicate.
    assert_eq!(client.recv()[2], true);
    client.send(&json!(["REQ", "q", {"kinds": [kind]}]));
    loop {
        let answer = client.recv();
        match answer[0].as_str().unwrap() {
            "AUTH" => {}
            "EVENT" | "EOSE" => return false,
            _ => {
                assert_eq!((&answer[0], &answer[1]), (&json!("CLOSED"), &json!("q")), "{answer}");
                check_prefix(answer[2].as_str().unwrap(), "auth-required: ", "kept back");
                return true;
            }
        }
    }
}

/// A client that is logged in as author 0 of seed 7, where the relay offers that (NIP-42, NIP-70): a
/// protected event is answered with a challenge.
fn logged_in(relay: &TestRelay) -> Option<Client> {
    let (mut client, mut factory) = (relay.client(), Factory::new(7));
    client.send(&json!(["EVENT", worked(&mut factory, 1, json!([["-"], ["t", "login"]]))]));
    let challenge = client.recv();
    if challenge[0] != "AUTH" {
        return None;
    }
    assert_eq!(client.recv()[0], "OK");
    let url = format!("ws://{}", relay.addr);
    let tags = json!([["relay", url], ["challenge", challenge[1]]]);
    let login = factory.draft(0).at(now()).kind(22_242).tags(tags).build();
    client.send(&json!(["AUTH", login]));
    let answer = client.recv();
    assert_eq!((&answer[0], &answer[1]), (&json!("OK"), &login["id"]), "{answer}");
    (answer[2] == true).then_some(client)
}

/// R11-08, R77-13, R13-04: with features on and off, the NIPs that are listed are those that the
/// relay does, and each that is listed was tried.
#[test]
fn nips_are_listed_and_done() {
    let configurations: [Configuration; 8] = [
        ("as it comes", |_| {}),
        ("nothing is private", |config| config.auth.gated_kinds.clear()),
        ("direct messages are private", |config| config.auth.gated_kinds = [Kind(4)].into()),
        ("stored wraps are private", |config| config.auth.gated_kinds = [Kind(1059)].into()),
        ("no reconciliation", |config| config.negentropy.enabled = false),
        ("with administrators", |config| {
            config.admin.pubkeys = [PubKey([1; 32])].into();
        }),
        ("with work", |config| config.policy.rules.work_bits_min = 4),
        ("everything", |config| {
            config.admin.pubkeys = [PubKey([1; 32])].into();
            config.policy.rules.work_bits_min = 4;
        }),
    ];
    for (name, configure) in configurations {
        let relay = relay(configure);
        let document = relay.document();
        let listed: Vec<_> = document["supported_nips"].as_array().unwrap().clone();
        let done = FEATURES.iter().filter(|(_, is_done)| is_done(&relay));
        let done: Vec<_> = done.map(|(nip, _)| json!(nip)).collect();
        assert_eq!(listed, done, "{name}");
    }
}
