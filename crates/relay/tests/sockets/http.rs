//! What HTTP answers on the relay's address.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{TestRelay, exchange, relay};

fn get(relay: &TestRelay, path: &str, headers: &str) -> String {
    relay.http(&format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n"))
}

#[track_caller]
fn check(answer: &str, status: &str, parts: &[&str]) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    for part in parts {
        assert!(answer.contains(part), "no {part:?} in {answer}");
    }
}

/// R01-40, R11-01, R11-02, case 69: one address for sockets, browsers and monitors, the document
/// readable by every site.
#[test]
fn every_path_answers() {
    let relay = relay(|config| config.relay.name = Some("Test <relay>".to_owned()));
    let cors = [
        "access-control-allow-origin: *",
        "access-control-allow-headers: *",
        "access-control-allow-methods: GET, HEAD, OPTIONS",
    ];
    let accept =
        "Accept: text/html;q=0.1, application/nostr+json\r\nOrigin: https://else.where\r\n";
    let document = get(&relay, "/", accept);
    check(&document, "200", &cors);
    check(&document, "200", &["content-type: application/nostr+json"]);
    let (_, body) = document.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["name"], "Test <relay>");
    assert_eq!(body["limitation"]["max_message_length"], 512 * 1024);
    let preflight = "OPTIONS / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    check(&relay.http(preflight), "204", &cors);
    check(&get(&relay, "/", "Accept: text/html\r\n"), "200", &["<h1>Test &lt;relay&gt;</h1>"]);
    check(&get(&relay, "/health", ""), "200", &["ok"]);
    check(&get(&relay, "/metrics", ""), "200", &["zeolite_events_received_total 0"]);
    check(&get(&relay, "/elsewhere", ""), "404", &[]);
    let post = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    check(&relay.http(post), "405", &[]);
}

/// R01-40 and RFC 6455, 4.2: upgrades on `/` only, in the one version, and never with an
/// extension, whatever the client offers.
#[test]
fn only_a_plain_websocket_on_the_root_is_upgraded() {
    let relay = relay(|_| {});
    let upgrade = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n";
    let key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
    let version = "Sec-WebSocket-Version: 13\r\n";
    let ask = |path: &str, headers: &[&str]| {
        let headers = headers.concat();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
        exchange(&mut relay.raw(), &request)
    };
    let deflate = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
    let accepted = ask("/", &[upgrade, key, version, deflate]);
    check(&accepted, "101", &[]);
    assert!(!accepted.to_lowercase().contains("extensions"), "{accepted}");
    check(&ask("/other", &[upgrade, key, version]), "404", &[]);
    check(&ask("/", &[upgrade, version]), "400", &[]);
    let old = ask("/", &[upgrade, key, "Sec-WebSocket-Version: 8\r\n"]);
    check(&old, "426", &["sec-websocket-version: 13"]);
}

/// Case 55: who says nothing, or says it one byte at a time, is disconnected.
#[test]
fn silent_and_slow_sockets_are_dropped() {
    let relay = relay(|config| config.server.handshake_s_max = 1);
    let start = Instant::now();
    let (mut silent, mut slow) = (relay.raw(), relay.raw());
    slow.write_all(b"GET / HT").unwrap();
    let mut rest = Vec::new();
    silent.read_to_end(&mut rest).unwrap();
    slow.read_to_end(&mut rest).unwrap();
    assert!(start.elapsed() < Duration::from_secs(10));
    // One that has upgraded may be silent for as long as it likes.
    let mut client = relay.client();
    assert!(client.query("a", &serde_json::json!({})).is_empty());
}

/// One socket more than configured is told so, and a seat that is given back can be taken.
#[test]
fn connections_are_capped() {
    let relay = relay(|config| config.server.connections_max = 2);
    let first = relay.client();
    let _second = relay.client();
    let mut answer = String::new();
    relay.raw().read_to_string(&mut answer).unwrap();
    check(&answer, "503", &[]);
    drop(first);
    let start = Instant::now();
    loop {
        let socket = relay.raw();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        match socket.peek(&mut [0]) {
            Err(_) => break,
            Ok(_) => assert!(start.elapsed() < Duration::from_secs(10), "the seat stays taken"),
        }
    }
}

/// Case 67: what became of events is counted apart, and no client can make a series.
#[test]
fn metrics_count_what_they_say() {
    use serde_json::json;
    use zeolite_testkit::Factory;
    let relay = relay(|_| {});
    let series = |text: &str| text.lines().filter(|line| line.starts_with("zeolite")).count();
    let body = |relay: &TestRelay| get(relay, "/metrics", "");
    let before = series(&body(&relay));
    let mut factory = Factory::new(9);
    let mut client = relay.client();
    let note = factory.note(0, 1_700_000_000, "x");
    client.publish(&note);
    let mut forged = factory.note(0, 1_700_000_001, "y");
    forged["sig"] = "0".repeat(128).into();
    let mut unhashed = note.clone();
    unhashed["content"] = "z".into();
    let profile = |factory: &mut Factory, at| factory.draft(0).kind(0).at(at).build();
    client.publish(&profile(&mut factory, 1_700_000_002));
    let protected = factory.draft(0).at(1_700_000_003).tag(&["-"]).build();
    for event in [note, forged, unhashed, protected, profile(&mut factory, 1_700_000_001)] {
        client.send(&json!(["EVENT", event]));
        // A protected event is refused until its author logs in, so the challenge comes first.
        let challenged = event["tags"] == json!([["-"]]) && client.recv()[0] == "AUTH";
        assert_eq!(client.recv()[0], "OK", "challenged: {challenged}");
    }
    for verb in 0..100 {
        client.send(&json!([format!("NEG-{verb}"), "x"]));
        assert_eq!(client.recv()[0], "NOTICE");
    }
    let after = body(&relay);
    for line in [
        "zeolite_events_received_total 7",
        "zeolite_events_total{verdict=\"stored\"} 2",
        "zeolite_events_total{verdict=\"duplicate\"} 1",
        "zeolite_events_total{verdict=\"superseded\"} 1",
        "zeolite_events_total{verdict=\"invalid\"} 2",
        "zeolite_events_total{verdict=\"rejected\"} 1",
        "zeolite_connections 1",
    ] {
        assert!(after.lines().any(|found| found == line), "no {line} in {after}");
    }
    assert_eq!(series(&after), before);
}

/// The operators' page names every series, and none that does not exist.
#[test]
fn every_series_is_documented() {
    let relay = relay(|config| {
        // Of mirrors there are series only while there are mirrors. Nobody listens there.
        let address = zeolite_mirror::RelayAddress::parse("ws://127.0.0.1:9").ok();
        let draft = zeolite_relay::config::MirrorDraft { address, ..Default::default() };
        config.mirrors.push(draft.finish().unwrap());
    });
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
    let page = std::fs::read_to_string(path).unwrap();
    let documented: BTreeSet<&str> = page
        .split('`')
        .filter(|code| code.starts_with("zeolite_"))
        .map(|code| code.split('{').next().unwrap())
        .collect();
    let answer = get(&relay, "/metrics", "");
    let types = answer.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let served: BTreeSet<&str> = types.map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(documented, served);
}
