//! Short histories of several clients: what each one sends and what each one sees.

use serde_json::{Value, json};
use zeolite_testkit::Factory;

use crate::client::{Client, with_relay};

/// One step of a history: client 0, 1, .. sends a text or must see a message that begins so.
enum Step {
    Send(usize, String),
    See(usize, String),
}

use Step::{See, Send};

/// Runs the history on a fresh relay; afterwards no client may have seen anything more.
fn check(rule: &str, steps: Vec<Step>) {
    with_relay(
        |_| {},
        |addr| {
            let mut clients = Vec::new();
            for (at, step) in steps.iter().enumerate() {
                let (Send(who, _) | See(who, _)) = step;
                while clients.len() <= *who {
                    clients.push(Client::connect(addr));
                }
                let context = format!("{rule}, step {at}");
                match step {
                    Send(who, text) => clients[*who].send(text),
                    See(who, start) => clients[*who].expect(&context, start),
                }
            }
            for (who, client) in clients.iter_mut().enumerate() {
                client.expect_silence(&format!("{rule}, client {who} at the end"));
            }
        },
    );
}

fn send(who: usize, text: impl Into<String>) -> Step {
    Send(who, text.into())
}

fn see(who: usize, start: impl Into<String>) -> Step {
    See(who, start.into())
}

/// Publishes an event, which is accepted.
fn publish(who: usize, event: &Value) -> [Step; 2] {
    publish_as(who, event, r#"true,""]"#)
}

/// Publishes an event; its OK goes on with `verdict`.
fn publish_as(who: usize, event: &Value, verdict: &str) -> [Step; 2] {
    let id = event["id"].as_str().expect("an id");
    [send(who, format!("[\"EVENT\",{event}]")), see(who, format!("[\"OK\",\"{id}\",{verdict}"))]
}

/// Sees an event, whole and as it was published.
fn see_event(who: usize, sub: &str, event: &Value) -> Step {
    let members = ["id", "pubkey", "created_at", "kind", "tags", "content", "sig"];
    let pairs: Vec<_> = members.map(|name| format!("\"{name}\":{}", event[name])).into();
    see(who, format!("[\"EVENT\",\"{sub}\",{{{}}}]", pairs.join(",")))
}

fn steps(parts: impl IntoIterator<Item = Vec<Step>>) -> Vec<Step> {
    parts.into_iter().flatten().collect()
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("after the epoch").as_secs()
}

/// R01-54, R01-57, R01-76, R45-01, R67-01, case 47: stored once, served newest first, counted.
#[test]
fn events_are_stored_and_served() {
    let mut factory = Factory::new(1);
    let (old, new) = (factory.note(0, 1_000, "old"), factory.note(1, 2_000, "new\n\u{1}\"é😀"));
    check(
        "store",
        steps([
            publish(0, &old).into(),
            publish(0, &new).into(),
            publish_as(0, &old, r#"true,"duplicate: "#).into(),
            publish_as(1, &new, r#"true,"duplicate: "#).into(),
            vec![
                send(1, r#"["REQ","all",{"kinds":[1]}]"#),
                see_event(1, "all", &new),
                see_event(1, "all", &old),
                see(1, r#"["EOSE","all",["finish"]]"#),
                send(1, r#"["REQ","one",{"limit":1},{"kinds":[1],"limit":1}]"#),
                see_event(1, "one", &new),
                see(1, r#"["EOSE","one""#),
                send(1, r#"["COUNT","n",{"limit":1},{"kinds":[1]}]"#),
                see(1, r#"["COUNT","n",{"count":2}]"#),
            ],
        ]),
    );
}

/// R01-50, R01-51, R01-75, R01-80, case 1, case 39, case 47, case 50: live events reach every
/// matching subscription once, by any filter of it, until CLOSE.
#[test]
fn live_events_reach_whoever_wants_them() {
    let mut factory = Factory::new(1);
    let wanted = factory.draft(0).at(now()).kind(9).tag(&["h", "room1"]).build();
    let other = factory.draft(0).at(now()).kind(9).tag(&["h", "room3"]).build();
    let shape = format!("{{\"kinds\":[9],\"#h\":[\"room1\",\"room2\"],\"since\":{}}}", now() - 60);
    check(
        "live",
        steps([
            vec![
                send(1, format!("[\"REQ\",\"a\",{shape}]")),
                see(1, r#"["EOSE","a""#),
                send(1, r#"["REQ","b",{"ids":[]},{"kinds":[9],"limit":0}]"#),
                see(1, r#"["EOSE","b""#),
                send(2, r#"["REQ","c",{"kinds":[1]}]"#),
                see(2, r#"["EOSE","c""#),
            ],
            publish(0, &other).into(),
            vec![see_event(1, "b", &other)],
            publish_as(0, &other, r#"true,"duplicate: "#).into(),
            vec![send(1, r#"["CLOSE","b"]"#)],
            vec![send(1, r#"["COUNT","done",{"ids":[]}]"#), see(1, r#"["COUNT","done""#)],
            publish(0, &wanted).into(),
            vec![see_event(1, "a", &wanted)],
        ]),
    );
}

/// R01-47, E-25, E-27, case 42: a REQ under a live id replaces it, and a bad one ends it.
#[test]
fn requests_replace_each_other() {
    let mut factory = Factory::new(1);
    let (one, two) = (factory.note(0, now(), "one"), factory.draft(0).at(now()).kind(7).build());
    let third = factory.note(0, now(), "three");
    check(
        "replace",
        steps([
            vec![
                send(1, r#"["REQ","s",{"kinds":[1]}]"#),
                see(1, r#"["EOSE","s""#),
                send(1, r#"["REQ","s",{"kinds":[7]}]"#),
                see(1, r#"["EOSE","s""#),
            ],
            publish(0, &one).into(),
            publish(0, &two).into(),
            vec![
                see_event(1, "s", &two),
                send(1, r#"["REQ","s",{"kinds":[1]},{"foo":1}]"#),
                see(1, r#"["CLOSED","s","unsupported: "#),
            ],
            publish(0, &third).into(),
        ]),
    );
}

/// R01-22, R01-58, E-37, case 46: ephemeral events are seen live and nowhere else.
#[test]
fn ephemeral_events_are_live_only() {
    let mut factory = Factory::new(1);
    let heard = factory.draft(0).at(now()).kind(20_001).content("heard").build();
    let unheard = factory.draft(0).at(now()).kind(20_002).content("unheard").build();
    check(
        "ephemeral",
        steps([
            vec![send(1, r#"["REQ","s",{"kinds":[20001]}]"#), see(1, r#"["EOSE","s""#)],
            publish(0, &heard).into(),
            vec![see_event(1, "s", &heard)],
            publish(0, &unheard).into(),
            vec![
                send(0, r#"["REQ","q",{"kinds":[20001,20002]}]"#),
                see(0, r#"["EOSE","q",["finish"]]"#),
                send(0, r#"["COUNT","n",{}]"#),
                see(0, r#"["COUNT","n",{"count":0}]"#),
            ],
        ]),
    );
}

/// R01-27, R09-07, R09-08, R09-17, R62-05, E-31, E-32, case 5: what replacement, deletion and
/// vanishing refuse, with what words, and that nothing refused is fanned out.
#[test]
fn what_is_gone_stays_gone() {
    let mut factory = Factory::new(1);
    let profile = |factory: &mut Factory, at| factory.draft(0).at(at).kind(0).build();
    let (old, new) = (profile(&mut factory, 1_000), profile(&mut factory, 2_000));
    let gone = factory.note(0, 3_000, "gone");
    let deletion = factory.draft(0).at(4_000).kind(5).tags(json!([["e", gone["id"]]])).build();
    let vanish = factory.draft(1).at(5_000).kind(62).tag(&["relay", "ALL_RELAYS"]).build();
    let (before, after) = (factory.note(1, 5_000, "before"), factory.note(1, 5_001, "after"));
    let blocked = r#"false,"blocked: deleted by its author"]"#;
    check(
        "gone",
        steps([
            vec![send(1, r#"["REQ","s",{"limit":0}]"#), see(1, r#"["EOSE","s""#)],
            publish(0, &new).into(),
            publish_as(0, &old, r#"false,"duplicate: a newer version is stored"]"#).into(),
            publish(0, &deletion).into(),
            publish_as(0, &gone, blocked).into(),
            publish(0, &vanish).into(),
            publish_as(0, &before, blocked).into(),
            publish(0, &after).into(),
            [&new, &deletion, &vanish, &after].map(|event| see_event(1, "s", event)).into(),
            vec![send(0, r#"["COUNT","n",{}]"#), see(0, r#"["COUNT","n",{"count":4}]"#)],
        ]),
    );
}

/// R40-02, R40-03, E-50: an event that expires is served until then.
#[test]
fn expired_events_are_hidden() {
    let mut factory = Factory::new(1);
    let soon = (now() + 600).to_string();
    let brief = factory.draft(0).at(now()).tag(&["expiration", &soon]).build();
    let late = factory.draft(0).at(now()).tag(&["expiration", &now().to_string()]).build();
    check(
        "expiration",
        steps([
            publish(0, &brief).into(),
            publish_as(0, &late, r#"false,"invalid: "#).into(),
            vec![
                send(0, r#"["REQ","s",{}]"#),
                see_event(0, "s", &brief),
                see(0, r#"["EOSE","s",["finish"]]"#),
            ],
        ]),
    );
}
