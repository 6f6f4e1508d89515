//! EVENT: what is handed on and what is refused, as data.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use serde_json::{Value, json};
use support::{NOW, World, spelled, text};
use zeolite_proto::{EventParser, Timestamp};
use zeolite_session::{Publisher, SessionLimits, check_event};
use zeolite_testkit::{Factory, canonical_id};

fn factory() -> Factory {
    Factory::unsigned(1)
}

fn note() -> Value {
    factory().note(0, NOW, "hello")
}

/// Sends one event; the answer must be `Ok`: it is handed on, or the text of the refusal.
fn check(rule: &str, limits: &SessionLimits, event: &str, expected: Result<(), &str>) {
    let effects = World::new(limits.clone()).step(&text(format!("[\"EVENT\",{event}]")));
    let id = serde_json::from_str::<Value>(event).map(|event| event["id"].clone());
    let wanted = match (expected, id.unwrap_or_default()) {
        (Ok(()), id) => format!("ingest {}", id.as_str().expect("an id")),
        (Err(reason), Value::String(id)) => json!(["OK", id, false, reason]).to_string(),
        (Err(reason), _) => json!(["NOTICE", reason]).to_string(),
    };
    assert_eq!(effects, [wanted], "{rule}: {event}");
}

/// An event with these members, whose id fits them.
fn with(members: Value) -> Value {
    let mut event = note();
    for (name, value) in members.as_object().expect("members") {
        event[name] = value.clone();
    }
    event["id"] = canonical_id(&event).into();
    event
}

/// R01-01, R01-10, R01-12, E-06, E-10 to E-12, E-33, case 37: one member spelled differently.
#[test]
fn members_have_their_types() {
    let hex = |digits| format!("\"{}\"", "a".repeat(digits));
    let rows: &[(&str, String, &str)] = &[
        ("id", String::new(), "event has no id"),
        ("pubkey", String::new(), "event has no pubkey"),
        ("created_at", String::new(), "event has no created_at"),
        ("kind", String::new(), "event has no kind"),
        ("tags", String::new(), "event has no tags"),
        ("content", String::new(), "event has no content"),
        ("sig", String::new(), "event has no sig"),
        ("id", "5".into(), "invalid type: integer `5`, expected a string as id"),
        ("id", "null".into(), "invalid type: null, expected a string as id"),
        ("id", hex(63), "id is not 64 lower-case hex digits"),
        ("id", hex(65), "id is not 64 lower-case hex digits"),
        ("id", format!("\"{}\"", "A".repeat(64)), "id is not 64 lower-case hex digits"),
        ("id", hex(64), "event id does not match its content"),
        ("pubkey", hex(63), "pubkey is not 64 lower-case hex digits"),
        ("pubkey", format!("\"{}\"", "A".repeat(64)), "pubkey is not 64 lower-case hex digits"),
        ("sig", hex(127), "sig is not 128 lower-case hex digits"),
        ("sig", "[]".into(), "invalid type: sequence, expected a string as sig"),
        ("created_at", "1.0".into(), "created_at is not a whole number of seconds"),
        ("created_at", "1e3".into(), "created_at is not a whole number of seconds"),
        ("created_at", "-1".into(), "created_at is negative"),
        ("created_at", "9223372036854775808".into(), "created_at is too far in the future"),
        ("created_at", "18446744073709551615".into(), "created_at is too far in the future"),
        (
            "created_at",
            "\"123\"".into(),
            "invalid type: string \"123\", expected whole seconds as created_at",
        ),
        (
            "created_at",
            "true".into(),
            "invalid type: boolean `true`, expected whole seconds as created_at",
        ),
        ("created_at", "null".into(), "invalid type: null, expected whole seconds as created_at"),
        ("kind", "65536".into(), "kind is above 65535"),
        ("kind", "-1".into(), "kind is negative"),
        ("kind", "1.0".into(), "kind is not an integer from 0 to 65535"),
        ("kind", "1e3".into(), "kind is not an integer from 0 to 65535"),
        ("tags", "{}".into(), "invalid type: map, expected an array of arrays of strings as tags"),
        ("tags", "[5]".into(), "invalid type: integer `5`, expected an array of strings as tag"),
        ("tags", "[[\"t\",5]]".into(), "invalid type: integer `5`, expected a string inside a tag"),
        ("tags", "[[\"t\",null]]".into(), "invalid type: null, expected a string inside a tag"),
        ("tags", "[[[\"t\"]]]".into(), "invalid type: sequence, expected a string inside a tag"),
        ("content", "{}".into(), "invalid type: map, expected a string as content"),
        ("content", "\"\\ud800\"".into(), "unexpected end of hex escape"),
    ];
    let limits = SessionLimits::default();
    for (member, spelling, reason) in rows {
        let reason = format!("invalid: {reason}");
        let event = spelled(&note(), member, spelling);
        let effects = World::new(limits.clone()).step(&text(format!("[\"EVENT\",{event}]")));
        let id = match (*member, spelling.trim_matches('"')) {
            ("id", text) if spelling.starts_with('"') => Some(text.to_owned()),
            ("id", _) => None,
            _ => Some(note()["id"].as_str().expect("an id").to_owned()),
        };
        let wanted = match id {
            Some(id) => json!(["OK", id, false, reason]),
            None => json!(["NOTICE", reason]),
        };
        assert_eq!(effects, [wanted.to_string()], "{member} as {spelling}");
    }
}

/// R01-02, R01-06, R01-08, R01-11, R01-12, R01-32 to R01-34, E-03, E-05, E-06, E-26, case 35,
/// case 36: how an event may be spelled, and what it may hold.
#[test]
fn spellings_of_one_event_are_equal() {
    let limits = SessionLimits::default();
    let plain = with(json!({"content": "a/é😀\n"}));
    let good = plain.to_string();
    let doubled = format!("{},\"kind\":1}}", &good[..good.len() - 1]);
    for (rule, event, expected) in [
        (
            "R01-08: escapes that need not be",
            good.replace("a/é😀", "\\u0061\\/\\u00e9\\ud83d\\ude00"),
            Ok(()),
        ),
        ("R01-12: more members", spelled(&plain, "kind", "1,\"seen\":{\"x\":[1]}"), Ok(())),
        ("E-06: a member twice", doubled, Err("invalid: event has kind twice")),
        ("E-08: white space", good.replace(",\"", " ,\n\""), Ok(())),
        (
            "E-03: a raw control character",
            good.replace("\\n", "\n"),
            Err("invalid: control character (\\u0000-\\u001F) found while parsing a string"),
        ),
        (
            "E-10: minus nothing",
            spelled(&with(json!({"created_at": 0})), "created_at", "-0"),
            Err("invalid: created_at is not a whole number of seconds"),
        ),
    ] {
        check(rule, &limits, &event, expected);
    }
    for (rule, members) in [
        ("R01-06: the seven escapes", json!({"content": "\n\"\\\r\t\u{8}\u{c}"})),
        (
            "E-03, E-04, E-05: other characters",
            json!({"content": "\0\u{1}\u{1f}\u{7f}\u{2028}\u{fdd1}\u{10ffff}"}),
        ),
        ("R01-07: in tags", json!({"tags": [["t", "\n\"\\\u{1}é"]]})),
        ("R01-11, case 35: odd tags", json!({"tags": [["d", ""], ["alone"], [], ["", "v"], [""]]})),
        ("R01-32: e and p that are no hex", json!({"tags": [["e", "x"], ["p", "AB"], ["p"]]})),
        ("R01-34: a long value", json!({"tags": [["t", "x".repeat(10_000)]]})),
        ("R01-20, R01-24: any kind", json!({"kind": 65535})),
        ("R59-06: any age", json!({"created_at": 0})),
        ("R40-06: an expiration that is none", json!({"tags": [["expiration", "abc"]]})),
    ] {
        check(rule, &limits, &with(members).to_string(), Ok(()));
    }
}

/// R11-09, R11-12, E-35: tags and characters at their limits, and one more.
#[test]
fn sizes_are_limited() {
    let limits =
        SessionLimits { event_tags_max: 2, content_chars_max: 3, ..SessionLimits::default() };
    for (members, expected) in [
        (json!({"content": "", "tags": [["a"], []]}), Ok(())),
        (
            json!({"content": "", "tags": [["a"], [], []]}),
            Err("invalid: event has more than 2 tags"),
        ),
        (json!({"content": "é😀\0"}), Ok(())),
        (json!({"content": "abcd"}), Err("invalid: content is longer than 3 characters")),
        (json!({"content": "éééé"}), Err("invalid: content is longer than 3 characters")),
    ] {
        check("E-35", &limits, &with(members).to_string(), expected);
    }
}

/// E-11, E-37, R59-06, R62-06, R62-12: the window of `created_at`, at both of its ends.
#[test]
fn times_are_limited() {
    const DAY: u64 = 24 * 60 * 60;
    let limits = SessionLimits {
        created_at_past_s_max: Some(1_000),
        created_at_future_s_max: Some(100),
        ephemeral_age_s_max: Some(60),
        ..SessionLimits::default()
    };
    let vanish = json!([["relay", "ALL_RELAYS"]]);
    let past = Err("invalid: created_at is too far in the past");
    let future = Err("invalid: created_at is too far in the future");
    for (kind, at, tags, expected) in [
        (1, NOW + 100, json!([]), Ok(())),
        (1, NOW + 101, json!([]), future),
        (1, 1 << 32, json!([]), future),
        (1, NOW - 1_000, json!([]), Ok(())),
        (1, NOW - 1_001, json!([]), past),
        (1, 0, json!([]), past),
        (1059, NOW - 1_000 - 2 * DAY, json!([]), Ok(())),
        (1059, NOW - 1_001 - 2 * DAY, json!([]), past),
        (62, 0, vanish.clone(), Ok(())),
        (62, NOW + 101, vanish, future),
        (20_001, NOW - 60, json!([]), Ok(())),
        (20_001, NOW - 61, json!([]), past),
        (20_001, NOW + 101, json!([]), future),
        (21_059, NOW - 60 - 2 * DAY, json!([]), Ok(())),
        (21_059, NOW - 61 - 2 * DAY, json!([]), past),
    ] {
        let event = with(json!({"kind": kind, "created_at": at, "tags": tags}));
        check("window", &limits, &event.to_string(), expected);
    }
    let open = SessionLimits {
        created_at_future_s_max: None,
        ephemeral_age_s_max: None,
        ..SessionLimits::default()
    };
    for (kind, at) in [(1, (1_u64 << 40) - 1), (1, 0), (20_001, 0)] {
        let event = with(json!({"kind": kind, "created_at": at}));
        check("E-11: no window", &open, &event.to_string(), Ok(()));
    }
}

/// R42-07, R62-01, R70-01, R70-04, R70-05, case 23, case 29: kinds and tags with duties.
#[test]
fn some_events_are_not_taken() {
    let protected = with(json!({"tags": [["-"]]})).to_string();
    let spaced = "{ \"tags\" : [ [ \"\\u002d\" , \"x\" ] ] }";
    let no_vanish = Err("invalid: a request to vanish needs a relay tag");
    let no_protected = Err("auth-required: only its author may publish a protected event");
    let no_repost = Err("blocked: reposts of protected events are not taken");
    for (rule, members, expected) in [
        ("R42-07", json!({"kind": 22242}), Err("invalid: kind 22242 belongs into an AUTH message")),
        ("R62-01", json!({"kind": 62}), no_vanish),
        ("R62-01", json!({"kind": 62, "tags": [["Relay", "x"]]}), no_vanish),
        ("R62-10", json!({"kind": 62, "tags": [["relay", "wss://elsewhere.example"]]}), Ok(())),
        ("R70-01", json!({"tags": [["t", "x"], ["-"]]}), no_protected),
        ("R70-05", json!({"tags": [["-", "more"]]}), no_protected),
        ("R70-05", json!({"tags": [["t", "-"]]}), Ok(())),
        (
            "R70-01: requests to vanish as well",
            json!({"kind": 62, "tags": [["relay", "ALL_RELAYS"], ["-"]]}),
            no_protected,
        ),
        ("R70-04", json!({"kind": 6, "content": protected}), no_repost),
        ("R70-04", json!({"kind": 16, "content": protected}), no_repost),
        ("R70-04: whatever its spelling", json!({"kind": 6, "content": spaced}), no_repost),
        (
            "R70-04: only where it is a tag's name",
            json!({"kind": 6, "content": "{\"tags\":[[\"t\",\"-\"]],\"content\":\"[\\\"-\\\"]\"}"}),
            Ok(()),
        ),
        ("R70-04: not in other kinds", json!({"kind": 1, "content": protected}), Ok(())),
        ("R70-04: text is no event", json!({"kind": 6, "content": "[\"-\"]"}), Ok(())),
        (
            "R70-04: broken JSON is no event",
            json!({"kind": 6, "content": "{\"tags\":[[\"-\"]"}),
            Ok(()),
        ),
        (
            "R70-04: tags that are none",
            json!({"kind": 6, "content": "{\"tags\":\"-\",\"x\":\"-\"}"}),
            Ok(()),
        ),
    ] {
        check(rule, &SessionLimits::default(), &with(members).to_string(), expected);
    }
}

/// Import uses the same rules without a session.
#[test]
fn the_rules_work_without_a_session() {
    let event = with(json!({"created_at": NOW + 10})).to_string();
    let event = EventParser::new().parse(&event).expect("an event");
    let limits = SessionLimits { created_at_future_s_max: Some(5), ..SessionLimits::default() };
    let check = |now| check_event(&limits, event.view(), Timestamp(now), Publisher::Carrier);
    let reason = check(NOW).expect_err("too early");
    assert_eq!(reason.to_string(), "invalid: created_at is too far in the future");
    assert_eq!(check(NOW + 5), Ok(()));
}

/// R70-06: whoever carries events of others brings no protected ones, unless the operator trusts it.
#[test]
fn protected_events_do_not_travel() {
    let event = with(json!({"tags": [["-"]]})).to_string();
    let event = EventParser::new().parse(&event).expect("an event");
    let limits = SessionLimits::default();
    let check = |publisher| check_event(&limits, event.view(), Timestamp(NOW), publisher);
    assert_eq!(check(Publisher::Trusted), Ok(()));
    let reason = check(Publisher::Carrier).expect_err("it is protected");
    assert_eq!(reason.to_string(), "blocked: protected events come from their authors");
}
