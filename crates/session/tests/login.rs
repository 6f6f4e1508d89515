//! NIP-42 and what depends on it, as data.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use serde_json::{Value, json};
use support::{CHALLENGE, NOW, Step, World, check, text};
use zeolite_session::SessionLimits;
use zeolite_testkit::Factory;

const URL: &str = "wss://relay.example";

/// What the session answers to the event of `Step::Checked`.
const CHECKED: &str = "0707070707070707070707070707070707070707070707070707070707070707";

fn login(kind: u16, at: u64, tags: Value) -> Value {
    Factory::unsigned(1).draft(0).kind(kind).at(at).tags(tags).build()
}

fn key(author: usize) -> String {
    Factory::unsigned(1).pubkey(author)
}

/// A login of this author that the relay found to be signed.
fn logged_in(author: usize) -> Step {
    Step::Checked(key(author), true)
}

fn demand(message: &Value) -> String {
    format!("demand {message}")
}

/// R42-05, R42-06, E-60: what a login must say.
#[test]
fn logins_name_this_connection_and_this_relay() {
    let tags = |url: &str, challenge: &str| json!([["relay", url], ["challenge", challenge]]);
    let good = || tags(URL, CHALLENGE);
    let foreign = "invalid: the relay tag does not name this relay, \
                   wss://relay.example or ws://127.0.0.1:7447";
    let other = "invalid: the challenge is not the one of this connection";
    let late = "invalid: created_at is more than 10 minutes off";
    for (event, refusal) in [
        (login(22242, NOW, good()), None),
        (login(22242, NOW - 600, good()), None),
        (login(22242, NOW + 600, good()), None),
        (login(22242, NOW - 601, good()), Some(late)),
        (login(22242, NOW + 601, good()), Some(late)),
        (login(1, NOW, good()), Some("invalid: an AUTH message holds an event of kind 22242")),
        (login(22242, NOW, tags("WSS://Relay.Example:443/", CHALLENGE)), None),
        (login(22242, NOW, tags("ws://relay.example", CHALLENGE)), None),
        (login(22242, NOW, tags("ws://127.0.0.1:7447/", CHALLENGE)), None),
        (login(22242, NOW, tags("ws://127.0.0.1:7448", CHALLENGE)), Some(foreign)),
        (login(22242, NOW, tags("wss://relay.example.evil", CHALLENGE)), Some(foreign)),
        (login(22242, NOW, tags("wss://relay.example@evil", CHALLENGE)), Some(foreign)),
        (login(22242, NOW, tags("relay.example", CHALLENGE)), Some(foreign)),
        (login(22242, NOW, tags("", CHALLENGE)), Some(foreign)),
        (login(22242, NOW, json!([["challenge", CHALLENGE]])), Some(foreign)),
        (
            login(22242, NOW, json!([["relay", "x"], ["challenge", CHALLENGE], ["relay", URL]])),
            None,
        ),
        (login(22242, NOW, tags(URL, "")), Some(other)),
        (login(22242, NOW, tags(URL, &CHALLENGE[1..])), Some(other)),
        (login(22242, NOW, tags(URL, &CHALLENGE.to_uppercase())), Some(other)),
        (login(22242, NOW, json!([["relay", URL]])), Some(other)),
    ] {
        let message = json!(["AUTH", event]).to_string();
        let expected = match refusal {
            None => format!("check login {}", event["id"].as_str().expect("an id")),
            Some(refusal) => json!(["OK", event["id"], false, refusal]).to_string(),
        };
        check("R42-05", &SessionLimits::default(), &[text(message)], &[&*expected]);
    }
}

/// R42-03, R42-04: every good login counts, a bad one changes nothing, and there is a bound.
#[test]
fn logins_add_up() {
    let mut world = World::new(SessionLimits::default());
    let ok = json!(["OK", CHECKED, true, ""]).to_string();
    let forged = json!(["OK", CHECKED, false, "invalid: the signature is wrong"]).to_string();
    let many = json!(["OK", CHECKED, false, "blocked: more than 2 logins"]).to_string();
    for (step, effects) in [
        (logged_in(0), vec!["logged in with 1", &ok]),
        (Step::Checked(key(1), false), vec![&*forged]),
        (logged_in(1), vec!["logged in with 2", &ok]),
        (logged_in(0), vec!["logged in with 2", &ok]),
        (logged_in(2), vec![&*many]),
    ] {
        assert_eq!(world.step(&step), effects);
    }
}

/// R42-07: a login is no event; E-60 and R42-09: text is no login.
#[test]
fn logins_come_by_auth_only() {
    let event = login(22242, NOW, json!([["relay", URL], ["challenge", CHALLENGE]]));
    let refusal = "invalid: kind 22242 belongs into an AUTH message";
    let expected = json!(["OK", event["id"], false, refusal]).to_string();
    let message = json!(["EVENT", event]).to_string();
    check("R42-07", &SessionLimits::default(), &[text(message)], &[&*expected]);
    let effects = World::new(SessionLimits::default()).step(&text(r#"["AUTH","challenge"]"#));
    assert!(matches!(&effects[..], [one] if one.starts_with("[\"NOTICE\"")), "{effects:?}");
}

/// R42-08, R59-02, R45-03, E-61: what is refused at once, to nobody and to the wrong one.
#[test]
fn gated_kinds_are_for_who_has_logged_in() {
    let (me, other) = (key(0), key(1));
    let (needed, others) = (
        "auth-required: these events are for their recipients only",
        "restricted: these events are for others",
    );
    for (filter, anonymous, as_me) in [
        (json!({"kinds": [1]}), None, None),
        (json!({"kinds": [1, 1059]}), None, None),
        (json!({"kinds": [1059]}), Some(needed), None),
        (json!({"kinds": [4], "authors": [me]}), Some(needed), None),
        (json!({"kinds": [1059], "#p": [me]}), Some(needed), None),
        (json!({"kinds": [1059], "#p": [other]}), Some(needed), Some(others)),
    ] {
        for (login, refusal) in [(None, anonymous), (Some(logged_in(0)), as_me)] {
            let mut world = World::new(SessionLimits::default());
            login.iter().for_each(|login| drop(world.step(login)));
            let refused = |message: Value| match refusal {
                Some(text) if text.starts_with("auth") => Some(demand(&message)),
                Some(_) => Some(message.to_string()),
                None => None,
            };
            let closed = refused(json!(["CLOSED", "s", refusal]));
            let neg_err = refused(json!(["NEG-ERR", "s", refusal]));
            let query = closed.clone().unwrap_or("query #0 s of 1".into());
            assert_eq!(world.step(&text(json!(["REQ", "s", filter]).to_string())), [query]);
            let open = json!(["NEG-OPEN", "s", filter, "61"]).to_string();
            let answer = neg_err.unwrap_or("reconcile #0 s [61]".into());
            assert_eq!(world.step(&text(open)), [answer], "{filter}");
            let count = world.step(&text(json!(["COUNT", "c", filter]).to_string()));
            let counts =
                closed.is_none() && (filter["kinds"] != json!([1, 1059]) || login.is_some());
            assert_eq!(count == ["count c of 1"], counts, "{filter}: {count:?}");
        }
    }
    // One filter that can be answered is enough.
    let both = json!(["REQ", "s", {"kinds": [1059]}, {"kinds": [1]}]).to_string();
    check("E-61", &SessionLimits::default(), &[text(both)], &["query #0 s of 2"]);
}

/// R70-02, R70-03: a protected event is taken from its author alone.
#[test]
fn protected_events_come_from_their_authors() {
    let event = Factory::unsigned(1).draft(0).at(NOW).tag(&["-"]).build();
    let message = json!(["EVENT", event]).to_string();
    let refusal = |word: &str| {
        let reason = format!("{word}: only its author may publish a protected event");
        json!(["OK", event["id"], false, reason]).to_string()
    };
    let id = event["id"].as_str().expect("an id");
    let mut world = World::new(SessionLimits::default());
    assert_eq!(world.step(&text(&*message)), [refusal("auth-required")]);
    world.step(&logged_in(1));
    assert_eq!(world.step(&text(&*message)), [refusal("restricted")]);
    world.step(&logged_in(0));
    assert_eq!(world.step(&text(message)), [format!("ingest {id}")]);
}

/// R11-11: where logins are required nothing is answered before one.
#[test]
fn a_closed_relay_answers_nobody() {
    let reason = "auth-required: this relay answers only who has logged in";
    let note = Factory::unsigned(1).note(0, NOW, "");
    let rows = [
        (json!(["REQ", "s", {}]), demand(&json!(["CLOSED", "s", reason])), "query #0 s of 1"),
        (json!(["COUNT", "s", {}]), demand(&json!(["CLOSED", "s", reason])), "count s of 1"),
        (
            json!(["NEG-OPEN", "s", {}, "61"]),
            demand(&json!(["NEG-ERR", "s", reason])),
            "reconcile #0 s [61]",
        ),
        (
            json!(["EVENT", note]),
            json!(["OK", note["id"], false, reason]).to_string(),
            &*format!("ingest {}", note["id"].as_str().expect("an id")),
        ),
    ];
    let mut world = World::closed();
    for (message, refusal, _) in &rows {
        assert_eq!(world.step(&text(message.to_string())), [refusal.as_str()]);
    }
    world.step(&logged_in(5));
    for (message, _, effect) in &rows {
        assert_eq!(world.step(&text(message.to_string())), [*effect]);
    }
}
