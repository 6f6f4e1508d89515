//! What no input may do: panic, cost more than it weighs, or confuse the subscriptions.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rand::RngExt;
use support::{Step, World, text};
use zeolite_session::{Session, SessionLimits};
use zeolite_testkit::{Factory, Scheduler, run_seeds};

/// No answer is longer than its message and this: the frame of a reply and a text of the relay's
/// own, of which [`zeolite_proto::limits::ERROR_BYTES_MAX`] bytes can need six each in JSON.
const ANSWER_BYTES_MAX: usize = 6 * zeolite_proto::limits::ERROR_BYTES_MAX + 150;

/// Effects are few, replies are JSON arrays and short.
fn check_bounds(message: &[u8]) {
    let limits = SessionLimits { message_bytes_max: 4096, ..SessionLimits::default() };
    let effects = World::new(limits).step(&Step::Binary(message.to_vec()));
    assert!(effects.len() <= 2);
    for reply in effects.iter().filter(|effect| effect.starts_with('[')) {
        let parsed: serde_json::Value = serde_json::from_str(reply).expect("replies are JSON");
        assert!(parsed.as_array().is_some_and(|array| array.len() >= 2), "{reply}");
        assert!(reply.len() <= message.len() + ANSWER_BYTES_MAX, "{reply}");
    }
}

/// JSON of any shape, with the words of the protocol in it.
fn json() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("EVENT"),
        Just("REQ"),
        Just("CLOSE"),
        Just("COUNT"),
        Just("AUTH"),
        Just("NEG-OPEN"),
        Just("ids"),
        Just("kinds"),
        Just("#t"),
        Just("id"),
        Just("tags"),
    ];
    let string = prop_oneof![
        3 => word.prop_map(str::to_owned),
        1 => "\\PC{0,80}",
        1 => "[\"\\\\\u{0}-\u{1f}\u{200b}]{0,80}",
    ];
    let string = string.prop_map(|text| serde_json::Value::from(text).to_string());
    let leaf = prop_oneof![
        4 => string.clone(),
        1 => any::<i64>().prop_map(|number| number.to_string()),
        1 => any::<f32>().prop_map(|number| format!("{number:e}")),
        1 => Just("null".to_owned()),
        1 => Just("\"\\ud800\"".to_owned()),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let pair = (string.clone(), inner.clone()).prop_map(|(name, value)| format!("{name}:{value}"));
        prop_oneof![
            2 => prop::collection::vec(inner, 0..5).prop_map(|list| format!("[{}]", list.join(","))),
            1 => prop::collection::vec(pair, 0..5).prop_map(|list| format!("{{{}}}", list.join(","))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_get_a_bounded_answer(message in prop::collection::vec(any::<u8>(), 0..300)) {
        check_bounds(&message);
    }

    #[test]
    fn any_json_gets_a_bounded_answer(message in json()) {
        check_bounds(message.as_bytes());
    }

    #[test]
    fn any_command_gets_a_bounded_answer(
        verb in "(EVENT|REQ|CLOSE|COUNT|AUTH|NEG-OPEN|NEG-MSG|NEG-CLOSE)",
        rest in prop::collection::vec(json(), 0..4),
    ) {
        let mut message = format!("[\"{verb}\"");
        for element in rest {
            message.push(',');
            message.push_str(&element);
        }
        message.push(']');
        check_bounds(message.as_bytes());
    }

    #[test]
    fn any_damage_gets_a_bounded_answer(at in any::<prop::sample::Index>(), byte: u8) {
        let event = Factory::unsigned(1).draft(0).tag(&["t", "\"\\"]).content("\n\0é").build();
        let mut message = format!("[\"EVENT\",{event}]").into_bytes();
        let at = at.index(message.len());
        message[at] = byte;
        check_bounds(&message);
    }
}

/// Long strings in every place where a refusal could repeat them.
#[test]
fn refusals_are_no_longer_than_their_cause() {
    for long in ["x".repeat(1_000), "\\u0001\\\"\u{200b}".repeat(100), "\\n".repeat(900)] {
        for message in [
            format!("\"{long}\""),
            format!("[\"{long}\"]"),
            format!("[\"REQ\",\"{long}\",{{}}]"),
            format!("[\"REQ\",\"s\",\"{long}\"]"),
            format!("[\"REQ\",\"s\",{{\"{long}\":1}}]"),
            format!("[\"REQ\",\"s\",{{\"ids\":[\"{long}\"]}}]"),
            format!("[\"COUNT\",\"{long}\",\"{long}\"]"),
            format!("[\"EVENT\",{{\"id\":\"{long}\"}}]"),
            format!("[\"EVENT\",{{\"id\":\"{long}\",\"kind\":\"{long}\"}}]"),
            format!("[\"NEG-OPEN\",\"{long}\",\"{long}\"]"),
            format!("[\"NEG-OPEN\",\"n\",{{}},\"{long}\"]"),
            format!("[\"NEG-OPEN\",\"n\",{{\"{long}\":1}},\"61\"]"),
            format!("[\"NEG-MSG\",\"{long}\",\"61\"]"),
        ] {
            check_bounds(message.as_bytes());
        }
    }
}

/// Deeply nested JSON is refused without a deep stack (E-06).
#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}0{}", open.repeat(100_000), close.repeat(100_000));
        for message in [
            deep.clone(),
            format!("[\"REQ\",\"s\",{deep}]"),
            format!("[\"REQ\",\"s\",{{\"ids\":{deep}}}]"),
            format!("[\"EVENT\",{{\"tags\":{deep}}}]"),
            format!("[\"EVENT\",{{\"x\":{deep}}}]"),
        ] {
            let limits = SessionLimits { message_bytes_max: 1 << 20, ..SessionLimits::default() };
            let effects = World::new(limits).step(&text(message));
            let [reply] = &effects[..] else { panic!("{} effects", effects.len()) };
            assert!(reply.len() < ANSWER_BYTES_MAX, "{} bytes", reply.len());
            assert!(reply.contains("invalid: ") || reply.contains("unsupported: "), "{reply}");
        }
    }
}

/// The same subscriptions as a map that does what it is told, over random commands.
#[test]
fn subscriptions_follow_a_map() {
    run_seeds("subscriptions_follow_a_map", 200, |rng| {
        let limits = SessionLimits { subscriptions_max: 4, ..SessionLimits::default() };
        let mut world = World::new(limits);
        let mut open: BTreeMap<String, u64> = BTreeMap::new();
        let mut keys = BTreeSet::new();
        let mut scheduler = Scheduler::new(rng);
        for _ in 0..100 {
            let sub = format!("s{}", scheduler.rng().random_range(0..6));
            let step = scheduler.choose(&[
                ("REQ", 6),
                ("bad REQ", 1),
                ("CLOSE", 3),
                ("COUNT", 1),
                ("ended", 2),
            ]);
            scheduler.note(&sub);
            let mut expected = Vec::new();
            let input = match step {
                "REQ" => {
                    expected.extend(open.remove(&sub).map(|key| format!("unsubscribe #{key}")));
                    if open.len() < 4 {
                        let key = keys.len() as u64;
                        assert!(keys.insert(key));
                        open.insert(sub.clone(), key);
                        expected.push(format!("query #{key} {sub} of 1"));
                    } else {
                        expected.push(format!(
                            "[\"CLOSED\",\"{sub}\",\"blocked: more than 4 open subscriptions\"]"
                        ));
                    }
                    text(format!("[\"REQ\",\"{sub}\",{{}}]"))
                }
                "bad REQ" => {
                    expected.extend(open.remove(&sub).map(|key| format!("unsubscribe #{key}")));
                    let reason = "invalid: message ends before a filter";
                    expected.push(format!("[\"CLOSED\",\"{sub}\",\"{reason}\"]"));
                    text(format!("[\"REQ\",\"{sub}\"]"))
                }
                "CLOSE" => {
                    expected.extend(open.remove(&sub).map(|key| format!("unsubscribe #{key}")));
                    text(format!("[\"CLOSE\",\"{sub}\"]"))
                }
                "COUNT" => {
                    expected.push(format!("count {sub} of 1"));
                    text(format!("[\"COUNT\",\"{sub}\",{{}}]"))
                }
                _ => {
                    let key = scheduler.rng().random_range(0..keys.len() as u64 + 1);
                    open.retain(|_, open| *open != key);
                    Step::Ended(key)
                }
            };
            assert_eq!(world.step(&input), expected);
            assert_eq!(world.session().subscriptions(), open.len());
        }
    });
}

/// An idle session is small: its own size, and 4 entries of 32 bytes for the first subscription.
#[test]
fn idle_sessions_are_small() {
    assert!(size_of::<Session>() <= 200, "{} bytes", size_of::<Session>());
}
