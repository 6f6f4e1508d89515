//! A real relay against the naive store: random events and filters over sockets.

use std::collections::HashSet;
use std::net::SocketAddr;

use rand::RngExt;
use serde_json::Value;
use zeolite_testkit::{Factory, OracleOutcome, OracleStore, Universe, oracle_matches, run_seeds};

use crate::client::{Client, Got, with_relay};

/// A relay for the events of a universe: they are years old, and some vanish requests name it.
fn with_relay_of_universe(body: impl FnOnce(SocketAddr)) {
    let change = |config: &mut zeolite_relay::config::Config| {
        config.limits.ephemeral_age_s_max = None;
        // The oracle's reader is the operator.
        config.auth.gated_kinds.clear();
        config.relay.urls = vec![Universe::OWN_URL.to_owned()];
    };
    with_relay(change, body);
}

/// All that a universe lets expire has expired long ago.
const NOW: u64 = 1_800_000_000;

/// How the OK of an event goes on.
fn verdict(outcome: OracleOutcome) -> &'static str {
    match outcome {
        OracleOutcome::Stored | OracleOutcome::Ephemeral => r#"true,""]"#,
        OracleOutcome::Duplicate => r#"true,"duplicate: "#,
        OracleOutcome::Superseded => r#"false,"duplicate: "#,
        OracleOutcome::Deleted | OracleOutcome::Vanished => r#"false,"blocked: "#,
        OracleOutcome::Expired => r#"false,"invalid: "#,
    }
}

fn id(event: &Value) -> &str {
    event["id"].as_str().expect("an id")
}

fn request(verb: &str, sub: &str, filters: &[Value]) -> String {
    let filters: Vec<_> = filters.iter().map(Value::to_string).collect();
    format!("[\"{verb}\",\"{sub}\",{}]", filters.join(","))
}

/// The ids of a stored answer, in order.
fn query(client: &mut Client, filters: &[Value]) -> Vec<String> {
    client.send(&request("REQ", "q", filters));
    let mut ids = Vec::new();
    loop {
        let Got::Text(text) = client.next() else { panic!("no end of the answer") };
        let message: Value = serde_json::from_str(&text).expect("JSON");
        match message[0].as_str() {
            Some("EVENT") => ids.push(id(&message[2]).to_owned()),
            Some("EOSE") => break,
            _ => panic!("{text}"),
        }
    }
    client.send(r#"["CLOSE","q"]"#);
    ids
}

/// One after the other: each OK, each answer, each count and each live event is the oracle's.
#[test]
fn a_relay_answers_like_the_oracle() {
    run_seeds("a_relay_answers_like_the_oracle", 6, |rng| {
        with_relay_of_universe(|addr| {
            let mut universe = Universe::new(Factory::new(rng.random()));
            let mut oracle = OracleStore::new(&[Universe::OWN_URL]);
            let (mut client, mut watcher) = (Client::connect(addr), Client::connect(addr));
            let live: Vec<_> = (0..3).map(|_| universe.filters(rng)).collect();
            for (at, filters) in live.iter().enumerate() {
                watcher.send(&request("REQ", &at.to_string(), filters));
                watcher.expect("the watcher", &format!("[\"EOSE\",\"{at}\""));
            }
            for _ in 0..150 {
                let event = universe.event(rng);
                let outcome = oracle.publish(&event, NOW);
                client.send(&format!("[\"EVENT\",{event}]"));
                let ok = format!("[\"OK\",\"{}\",{}", id(&event), verdict(outcome));
                client.expect(&format!("{outcome:?} {event}"), &ok);
                if matches!(outcome, OracleOutcome::Stored | OracleOutcome::Ephemeral) {
                    expect_live(&mut watcher, &live, &event);
                }
                let filters = universe.filters(rng);
                assert_eq!(
                    query(&mut client, &filters),
                    oracle.query(&filters, NOW),
                    "{filters:?}"
                );
                client.send(&request("COUNT", "n", &filters));
                let Got::Text(text) = client.next() else { panic!("no count") };
                let answer: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!((&answer[0], &answer[1]), (&"COUNT".into(), &"n".into()), "{text}");
                assert_eq!(answer[2]["count"], oracle.count(&filters, NOW), "{filters:?}");
            }
            watcher.expect_silence("nothing else was live");
        });
    });
}

/// The event comes once for each subscription with a matching filter, in any order of these.
fn expect_live(watcher: &mut Client, live: &[Vec<Value>], event: &Value) {
    let wants = |filters: &Vec<Value>| filters.iter().any(|filter| oracle_matches(event, filter));
    let mut expected: Vec<_> = (0..live.len()).filter(|&at| wants(&live[at])).collect();
    while !expected.is_empty() {
        let Got::Text(text) = watcher.next() else { panic!("{event} did not come") };
        let message: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&message[0], &message[2]), (&"EVENT".into(), event), "{text}");
        let sub: usize = message[1].as_str().and_then(|sub| sub.parse().ok()).expect("a number");
        let at = expected.iter().position(|&wanted| wanted == sub);
        expected.swap_remove(at.unwrap_or_else(|| panic!("twice or unwanted: {text}")));
    }
}

/// E-34: all at once over several connections, in whatever order they are admitted, and the end
/// is the oracle's. Every event gets its OK.
#[test]
fn a_crowd_ends_like_the_oracle() {
    run_seeds("a_crowd_ends_like_the_oracle", 10, |rng| {
        with_relay_of_universe(|addr| {
            let mut universe = Universe::new(Factory::new(rng.random()));
            let mut oracle = OracleStore::new(&[Universe::OWN_URL]);
            let events = universe.shuffled(200, rng);
            let mut clients: Vec<_> = (0..3).map(|_| Client::connect(addr)).collect();
            let mut waiting = vec![HashSet::new(); clients.len()];
            for event in &events {
                oracle.publish(event, NOW);
                let who = rng.random_range(0..clients.len());
                clients[who].send(&format!("[\"EVENT\",{event}]"));
                waiting[who].insert(id(event));
            }
            for (client, waiting) in clients.iter_mut().zip(&mut waiting) {
                while !waiting.is_empty() {
                    let Got::Text(text) = client.next() else { panic!("an OK is missing") };
                    let message: Value = serde_json::from_str(&text).expect("JSON");
                    assert_eq!(message[0], "OK");
                    let ok = message[1].as_str().expect("an id");
                    assert!(waiting.remove(ok), "one OK for each event, not {text}");
                }
            }
            let everything = [serde_json::json!({})];
            assert_eq!(query(&mut clients[0], &everything), oracle.effective_set(NOW));
            for _ in 0..20 {
                let filters = universe.filters(rng);
                assert_eq!(query(&mut clients[0], &filters), oracle.query(&filters, NOW));
            }
        });
    });
}
