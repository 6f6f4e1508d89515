//! What the clients of one address may hold and spend together, from several addresses of loopback.
//!
//! Budgets fill at one token a second, so what may pass in a test is what was saved up, and one more
//! for each second that the test took.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite;
use zeolite_relay::config::{ClientsConfig, Config};
use zeolite_testkit::Factory;

use crate::support::{Client, PATIENCE, TestRelay, dial_from, relay};

const TIME: u64 = 1_700_000_000;

/// Changes to what clients may spend.
fn clients(change: impl FnOnce(&mut ClientsConfig)) -> impl FnOnce(&mut Config) {
    |config| change(&mut config.clients)
}

/// Fails unless this many passed, or as many more as the time since then allows at this price.
#[track_caller]
fn check_passed(passed: u64, saved_up: u64, price: u64, since: Instant) {
    let at_most = saved_up + since.elapsed().as_secs() / price + 1;
    assert!((saved_up..=at_most).contains(&passed), "{passed} passed, not {saved_up}");
}

/// Sends notes of their own to each client and gives how many were accepted; the others were told
/// that they came too fast.
fn publish(clients: &mut [&mut Client], factory: &mut Factory, each: u64) -> u64 {
    let mut accepted = 0;
    for (number, client) in clients.iter_mut().enumerate() {
        let note = |at| factory.note(number, TIME + at, "x");
        let notes: Vec<_> = (0..each).map(note).collect();
        let messages: Vec<_> = notes.iter().map(|note| json!(["EVENT", note])).collect();
        client.send_all(&messages);
        let mut waiting: BTreeSet<_> = notes.iter().map(|note| note["id"].to_string()).collect();
        // A refusal does not wait for the disk and may come first.
        while !waiting.is_empty() {
            let answer = client.recv();
            assert!(answer[0] == "OK" && waiting.remove(&answer[1].to_string()), "{answer}");
            accepted += u64::from(answer[2] == true);
            let text = answer[3].as_str().unwrap();
            assert!(answer[2] == true || text.starts_with("rate-limited: "), "{answer}");
        }
    }
    accepted
}

/// R01-56: one address spends one budget over all its connections, another its own; what is
/// refused is counted, and leaving fills nothing.
#[test]
fn an_address_publishes_from_one_budget() {
    let relay = relay(clients(|clients| {
        clients.events_per_s = Some(1);
        clients.events_burst = 10;
    }));
    let start = Instant::now();
    let mut factory = Factory::new(1);
    let (mut one, mut two) =
        (relay.client_at("127.0.0.2").unwrap(), relay.client_at("127.0.0.2").unwrap());
    let accepted = publish(&mut [&mut one, &mut two], &mut factory, 30);
    check_passed(accepted, 10, 1, start);
    drop((one, two));
    let mut back = relay.client_at("127.0.0.2").unwrap();
    let again = publish(&mut [&mut back], &mut factory, 30);
    check_passed(accepted + again, 10, 1, start);
    let refused = 90 - accepted - again;
    assert_eq!(relay.metric(r#"zeolite_over_budget_total{what="events"}"#), refused);
    assert_eq!(relay.metric(r#"zeolite_events_total{verdict="rejected"}"#), refused);
    assert_eq!(relay.metric("zeolite_events_received_total"), 90);
    let mut other = relay.client_at("127.0.0.3").unwrap();
    assert_eq!(publish(&mut [&mut other], &mut factory, 10), 10);
}

/// A connection has a budget of its own within its address's: who opens more connections has more of
/// them, until the address has spent its own.
#[test]
fn a_connection_publishes_from_its_own_budget_too() {
    let relay = relay(clients(|clients| {
        clients.events_per_s = Some(1);
        clients.events_burst = 15;
        clients.connection_events_per_s = Some(1);
        clients.connection_events_burst = 6;
    }));
    let start = Instant::now();
    let mut factory = Factory::new(1);
    for (connections, saved_up) in [(1, 6), (2, 12), (3, 15), (4, 15)] {
        let mut client = relay.client_at("127.0.0.2").unwrap();
        publish(&mut [&mut client], &mut factory, 20);
        let refused = relay.metric(r#"zeolite_over_budget_total{what="events"}"#);
        check_passed(20 * connections - refused, saved_up, 1, start);
    }
    let mut other = relay.client_at("127.0.0.3").unwrap();
    let accepted = publish(&mut [&mut other], &mut factory, 20);
    check_passed(accepted, 6, 1, start);
}

/// An event beyond the budget is refused before it is read, under the id that it claims: whether it
/// is one does not matter then. What is malformed costs as much as what is not.
#[test]
fn malformed_events_cost_as_much() {
    let relay = relay(clients(|clients| {
        clients.events_per_s = Some(1);
        clients.events_burst = 5;
    }));
    let start = Instant::now();
    let mut client = relay.client_at("127.0.0.2").unwrap();
    let messages: Vec<_> = (0..50).map(|at| json!(["EVENT", {"id": format!("x{at}")}])).collect();
    client.send_all(&messages);
    let mut read = 0;
    for at in 0..50 {
        let answer = client.recv();
        assert_eq!(answer[1], format!("x{at}"), "{answer}");
        let text = answer[3].as_str().unwrap();
        read += u64::from(text.starts_with("invalid: "));
        assert!(text.starts_with("invalid: ") || text.starts_with("rate-limited: "), "{text}");
    }
    check_passed(read, 5, 1, start);
    // What no OK could name is told so, as ever.
    client.send(&json!(["EVENT", {}]));
    assert_eq!(client.recv()[0], "NOTICE");
}

/// Sends the messages, reads as many answers, and gives how many were not refused.
fn ask(client: &mut Client, messages: &[Value]) -> u64 {
    client.send_all(messages);
    let mut passed = 0;
    for _ in messages {
        let answer = client.recv();
        match answer[0].as_str().unwrap() {
            "EOSE" | "COUNT" | "NEG-MSG" => passed += 1,
            "CLOSED" | "NEG-ERR" => {
                let text = answer[2].as_str().unwrap();
                assert!(text.starts_with("rate-limited: "), "{answer}");
            }
            _ => panic!("unexpected {answer}"),
        }
    }
    passed
}

/// Case 51: queries are paid for by what they cost to answer, and are refused under their own id,
/// which is free again.
#[test]
fn queries_cost_by_their_class() {
    const SAVED_UP: u64 = 40;
    let relay = relay(clients(|clients| {
        clients.queries_per_s = Some(1);
        clients.queries_burst = SAVED_UP;
    }));
    let id = "ab".repeat(32);
    let all = "6100000200";
    let rows: [(u64, Value); 8] = [
        (1, json!(["REQ", "", {"ids": [id]}])),
        (1, json!(["REQ", "", {"authors": [id], "kinds": [1]}])),
        (1, json!(["REQ", "", {"limit": 0}])),
        (2, json!(["REQ", "", {"#t": ["x"]}])),
        (5, json!(["REQ", "", {"kinds": [1]}])),
        (4, json!(["COUNT", "", {"ids": [id]}])),
        (20, json!(["COUNT", "", {}])),
        (20, json!(["NEG-OPEN", "", {}, all])),
    ];
    for (row, (price, message)) in rows.into_iter().enumerate() {
        let start = Instant::now();
        let mut client = relay.client_at(&format!("127.0.1.{}", row + 1)).unwrap();
        let name = |at: usize| {
            let mut message = message.clone();
            message[1] = at.to_string().into();
            message
        };
        let messages: Vec<_> = (0..60).map(name).collect();
        let passed = ask(&mut client, &messages);
        check_passed(passed, SAVED_UP / price, price, start);
    }
    relay.await_metric("zeolite_subscriptions", 0);
    let mut other = relay.client_at("127.0.1.100").unwrap();
    assert!(other.query("q", &json!({})).is_empty());
}

/// Who asks again as soon as it is refused does not turn in a circle: between two refusals it is
/// not read for a while, and others do not notice (case 51).
#[test]
fn who_insists_has_to_wait() {
    let relay = relay(clients(|clients| {
        clients.queries_per_s = Some(1);
        clients.queries_burst = 1;
    }));
    let start = Instant::now();
    let mut client = relay.client_at("127.0.0.2").unwrap();
    for round in 0..4 {
        // Too dear at any time.
        client.send(&json!(["COUNT", "c", {}]));
        assert_eq!(client.recv()[0], "CLOSED", "{round}");
        // Answered whatever it costs, but only after the pause.
        client.send(&json!(["NONSENSE"]));
        assert_eq!(client.recv()[0], "NOTICE", "{round}");
    }
    assert!(start.elapsed().as_millis() >= 4 * 250, "{:?}", start.elapsed());
}

/// Bytes beyond the budget are read as they are paid for, over all connections of an address
/// together; nothing is lost, and another address does not wait.
#[test]
fn bytes_are_read_at_their_rate() {
    const PER_S: u64 = 400_000;
    let relay = relay(clients(|clients| {
        clients.bytes_per_s = Some(PER_S);
        clients.bytes_burst = 100_000;
    }));
    let start = Instant::now();
    let mut greedy = [(); 2].map(|()| relay.client_at("127.0.0.2").unwrap());
    let long = |at: usize| json!(["REQ", at.to_string(), {"#t": ["x".repeat(10_000)]}]);
    for client in &mut greedy {
        client.send_all(&(0..15).map(long).collect::<Vec<_>>());
    }
    let mut other = relay.client_at("127.0.0.3").unwrap();
    assert!(other.query("q", &json!({})).is_empty());
    for client in &mut greedy {
        for _ in 0..15 {
            assert_eq!(client.recv()[0], "EOSE");
        }
    }
    let owed_s = (300_000 - 100_000) as f64 / PER_S as f64;
    assert!(start.elapsed().as_secs_f64() >= owed_s, "{:?}", start.elapsed());
    assert!(relay.metric(r#"zeolite_over_budget_total{what="bytes"}"#) > 0);
}

/// Fails unless the handshake was refused with this status.
#[track_caller]
fn check_turned_away(result: tungstenite::Result<Client>, status: u16) {
    match result.err().unwrap() {
        tungstenite::Error::Http(answer) => assert_eq!(answer.status().as_u16(), status),
        other => panic!("{other}"),
    }
}

/// Tries until a place is free: the relay hears of an end a moment later.
fn enter(try_it: impl Fn() -> tungstenite::Result<Client>) -> Client {
    let start = Instant::now();
    loop {
        match try_it() {
            Ok(client) => return client,
            Err(error) => assert!(start.elapsed() < PATIENCE, "no place is free: {error}"),
        }
    }
}

/// An address has so many sockets and no more; a place that is given back can be taken.
#[test]
fn connections_of_an_address_are_capped() {
    let relay = relay(clients(|clients| clients.connections_max = Some(2)));
    let first = relay.client_at("127.0.0.2").unwrap();
    let _second = relay.client_at("127.0.0.2").unwrap();
    // It is told before it says anything.
    let mut answer = String::new();
    let mut third = dial_from(relay.addr, "127.0.0.2".parse().unwrap());
    std::io::Read::read_to_string(&mut third, &mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert_eq!(relay.metric("zeolite_connections_refused_total"), 1);
    let _other = relay.client_at("127.0.0.3").unwrap();
    drop(first);
    let _third = enter(|| relay.client_at("127.0.0.2"));
}

/// Whose account a connection uses: it can publish from what is left there.
fn publishes(relay: &TestRelay, source: &str, header: (&'static str, &str)) -> bool {
    let mut client = relay.client_with(source, Some(header)).unwrap();
    // Ephemeral and so never a duplicate; each row of a test publishes one.
    let event = Factory::new(1).draft(0).at(now()).kind(20_001).build();
    client.send(&json!(["EVENT", event]));
    client.recv()[2] == true
}

fn now() -> u64 {
    std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()
}

/// The word of a trusted proxy is taken for where a client is, nobody else's; of what it says, the
/// last that no trusted proxy added. An IPv6 client is its /64.
#[test]
fn only_trusted_proxies_say_where_clients_are() {
    const FORWARDED: &str = "x-forwarded-for";
    const PROXY: &str = "127.0.0.9";
    let relay = relay(clients(|clients| {
        clients.trusted_proxies = vec![PROXY.to_owned(), "10.0.0.0/8".to_owned()];
        clients.events_per_s = Some(1);
        clients.events_burst = 1;
    }));
    let start = Instant::now();
    let rows = [
        // Nobody can leave his account by claiming to be elsewhere.
        ("127.0.0.2", (FORWARDED, "198.51.100.1"), true),
        ("127.0.0.2", (FORWARDED, "198.51.100.2"), false),
        ("127.0.0.2", ("forwarded", "for=198.51.100.2"), false),
        // Nor spend somebody else's.
        (PROXY, (FORWARDED, "198.51.100.1"), true),
        (PROXY, (FORWARDED, "198.51.100.1"), false),
        (PROXY, (FORWARDED, "198.51.100.2"), true),
        // What a client wrote before the proxy did is not believed.
        (PROXY, (FORWARDED, "198.51.100.3, 198.51.100.1"), false),
        (PROXY, (FORWARDED, "198.51.100.3, 198.51.100.1, 10.1.2.3"), false),
        (PROXY, (FORWARDED, "198.51.100.3"), true),
        // An IPv6 client is its /64.
        (PROXY, (FORWARDED, "2001:db8::1"), true),
        (PROXY, (FORWARDED, "2001:db8::ffff:2"), false),
        (PROXY, (FORWARDED, "[2001:db8::3]:443"), false),
        (PROXY, (FORWARDED, "2001:db8:0:1::1"), true),
        // A proxy that says nothing of use speaks for itself.
        (PROXY, ("x-real-ip", "198.51.100.4"), true),
        (PROXY, (FORWARDED, "unknown"), false),
    ];
    for (source, header, expected) in rows {
        let found = publishes(&relay, source, header);
        let is_refilled = found && start.elapsed().as_secs() > 0;
        assert!(found == expected || is_refilled, "{header:?} of {source}: {found}");
    }
    let again = publishes(&relay, "127.0.0.10", (FORWARDED, "198.51.100.1"));
    assert!(again, "an address that never came has a full budget");
}

/// Clients behind a proxy are capped and blocked by their own addresses, the proxy is not, and the
/// header is the one that is configured.
#[test]
fn clients_behind_a_proxy_are_counted_apart() {
    let relay = relay(clients(|clients| {
        clients.trusted_proxies = vec!["127.0.0.9".to_owned()];
        clients.address_header = "x-real-ip".to_owned();
        clients.connections_max = Some(1);
    }));
    let enter_as = |address: &str| relay.client_with("127.0.0.9", Some(("x-real-ip", address)));
    let first = enter_as("198.51.100.1").unwrap();
    check_turned_away(enter_as("198.51.100.1"), 429);
    let _second = enter_as("198.51.100.2").unwrap();
    let _third = enter_as("2001:db8::1").unwrap();
    check_turned_away(enter_as("2001:db8::2"), 429);
    drop(first);
    let _again = enter(|| enter_as("198.51.100.1"));
    // The other header is a client's own word here.
    let _proxy = relay.client_with("127.0.0.9", Some(("x-forwarded-for", "198.51.100.9"))).unwrap();
    let twice = relay.client_with("127.0.0.9", Some(("x-forwarded-for", "198.51.100.10")));
    check_turned_away(twice, 429);
}

/// The names of all series, with their labels.
fn series(relay: &TestRelay) -> BTreeSet<String> {
    let page = relay.http("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let lines = page.lines().filter(|line| line.starts_with("zeolite_"));
    lines.map(|line| line.rsplit_once(' ').unwrap().0.to_owned()).collect()
}

/// Case 67: however many addresses come, with subscriptions, kinds and verbs of their own, within
/// their budgets and beyond, no series is added.
#[test]
fn no_client_makes_a_series() {
    let relay = relay(clients(|clients| {
        clients.trusted_proxies = vec!["127.0.0.9".to_owned()];
        clients.connections_max = Some(4);
        clients.events_per_s = Some(1);
        clients.events_burst = 1;
        clients.queries_per_s = Some(1);
        clients.queries_burst = 6;
    }));
    let before = series(&relay);
    let mut factory = Factory::new(1);
    for number in 0..300_u16 {
        let address = format!("198.51.{}.{}", number / 200, number % 200);
        let source = format!("127.1.{}.{}", number / 200, number % 200 + 1);
        let client = match number % 2 {
            0 => relay.client_at(&source),
            _ => relay.client_with("127.0.0.9", Some(("x-forwarded-for", &address))),
        };
        let mut client = client.unwrap();
        let kind = 2_000 + number;
        let event = factory.draft(0).at(TIME).kind(kind).build();
        let (sub, verb) = (format!("sub {number}"), format!("VERB-{number}"));
        let messages = [
            json!(["EVENT", event]),
            json!(["EVENT", event]),
            json!(["REQ", sub, {"kinds": [kind]}]),
            json!(["COUNT", sub, {"kinds": [kind]}]),
            json!([verb, sub]),
        ];
        client.send_all(&messages);
        let mut answers: Vec<_> = (0..messages.len() + 1)
            .map(|_| client.recv()[0].as_str().unwrap().to_owned())
            .collect();
        answers.sort();
        assert_eq!(answers, ["CLOSED", "EOSE", "EVENT", "NOTICE", "OK", "OK"], "{number}");
    }
    assert_eq!(series(&relay), before);
    let refused = relay.metric(r#"zeolite_over_budget_total{what="events"}"#);
    assert!(refused > 250, "{refused} of 300 second events were refused");
}
