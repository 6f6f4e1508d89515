//! Clients that read slowly, or not at all, and what the others notice of them: nothing.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use zeolite_testkit::Factory;

use crate::support::{Client, TestRelay, relay};

const NOW: u64 = 1_700_000_000;

/// Bytes of one event: many fill the kernel's buffers of a loopback connection.
const EVENT_BYTES: usize = 8_000;

fn publish_many(relay: &TestRelay, factory: &mut Factory, from: u64, count: u64) {
    let events: Vec<Value> = (from..from + count)
        .map(|at| factory.draft(0).at(NOW + at).padded_to(EVENT_BYTES).build())
        .map(|event| json!(["EVENT", event]))
        .collect();
    let mut client = relay.client();
    for some in events.chunks(100) {
        client.send_all(some);
        for _ in some {
            let ok = client.recv();
            assert_eq!(ok[2], true, "{ok}");
        }
    }
}

/// The `created_at` of each event up to `count` of them; the EOSE must come after `stored`.
fn read_all(client: &mut Client, stored: usize, count: usize) -> Vec<u64> {
    let mut times = Vec::new();
    let mut eose = 0;
    while times.len() < count || eose == 0 {
        let message = client.recv();
        if message[0] == "EOSE" {
            assert_eq!(times.len(), stored, "EOSE after the stored part");
            eose += 1;
        } else {
            assert_eq!(message[0], "EVENT", "{message}");
            times.push(message[2]["created_at"].as_u64().unwrap() - NOW);
        }
    }
    assert_eq!(eose, 1);
    times
}

/// Case 20, design section 5: a client that stops reading in the middle of a large answer, while
/// more is published than its outbox holds. It gets every stored event, one EOSE, and every later
/// event once, in order; the publisher waits for nothing.
#[test]
fn a_reader_that_pauses_gets_everything() {
    let relay = relay(|config| {
        config.query.default_limit = None;
        config.query.max_limit = None;
        config.live.outbox_bytes_max = 64 << 10;
        config.live.recent_events_max = 16;
    });
    let mut factory = Factory::new(5);
    publish_many(&relay, &mut factory, 0, 2_000);
    let mut slow = relay.client();
    slow.send(&json!(["REQ", "all", {"kinds": [1]}]));
    assert_eq!(slow.recv()[0], "EVENT");
    // 16 MB wait for a socket that takes at most some of it, and 8 MB more come.
    publish_many(&relay, &mut factory, 2_000, 1_000);
    let mut times = read_all(&mut slow, 1_999, 2_999);
    times.insert(0, 1_999);
    let stored: Vec<u64> = (0..2_000).rev().collect();
    let live: Vec<u64> = (2_000..3_000).collect();
    assert_eq!(times[..2_000], stored);
    assert_eq!(times[2_000..], live);
    assert!(relay.metric("zeolite_jobs_total{kind=\"replay\"}") > 0, "nothing was replayed");
}

/// A live subscription that falls behind its outbox and the ring is fed from the log later.
#[test]
fn a_live_reader_that_pauses_misses_nothing() {
    let relay = relay(|config| {
        config.live.outbox_bytes_max = 64 << 10;
        config.live.recent_events_max = 16;
    });
    let mut factory = Factory::new(6);
    let mut slow = relay.client();
    assert!(slow.query("all", &json!({"kinds": [1]})).is_empty());
    publish_many(&relay, &mut factory, 0, 3_000);
    let mut seen = HashSet::new();
    for at in 0..3_000 {
        let message = slow.recv();
        assert_eq!(message[2]["created_at"], NOW + at, "in order");
        assert!(seen.insert(message[2]["id"].to_string()), "once");
    }
    assert!(relay.metric("zeolite_live_total{outcome=\"lagged\"}") > 0, "nothing lagged");
    assert!(relay.metric("zeolite_jobs_total{kind=\"replay\"}") > 0, "nothing was replayed");
}

/// A client that reads all the time, so slowly that its answers to pings would come late, is alive.
/// It answers none here, and is closed when it has nothing to read any more.
#[test]
fn a_slow_reader_is_not_taken_for_dead() {
    use std::io::{Read, Write};
    let relay = relay(|config| {
        config.query.default_limit = None;
        config.live.outbox_bytes_max = 64 << 10;
        config.server.ping_s = 1;
    });
    publish_many(&relay, &mut Factory::new(13), 0, 4_000);
    let mut socket = relay.raw_websocket();
    let text = json!(["REQ", "s", {}]).to_string();
    let mut frame = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
    frame.extend_from_slice(text.as_bytes());
    socket.write_all(&frame).unwrap();
    let start = Instant::now();
    let mut bytes = vec![0; 400_000];
    let mut tail = Vec::new();
    loop {
        let read = socket.read(&mut bytes).unwrap();
        tail.extend_from_slice(&bytes[..read]);
        if tail.windows(7).any(|window| window == b"[\"EOSE\"") {
            break;
        }
        assert!(read > 0, "closed after {:?}", start.elapsed());
        tail.drain(..tail.len().saturating_sub(7));
        // 32 MB at this pace take as long as the relay waits for the dead, twice.
        std::thread::sleep(Duration::from_millis(80));
    }
    assert!(start.elapsed() > Duration::from_secs(5), "too fast to tell");
    socket.read_to_end(&mut tail).unwrap();
}

/// A subscription that lags too far is told so, once, and its id is free again.
#[test]
fn a_reader_that_is_far_too_slow_is_told() {
    let relay = relay(|config| {
        config.live.outbox_bytes_max = 64 << 10;
        config.live.recent_events_max = 16;
        config.live.lag_events_max = 100;
    });
    let mut factory = Factory::new(7);
    let mut slow = relay.client();
    assert!(slow.query("all", &json!({"kinds": [1]})).is_empty());
    publish_many(&relay, &mut factory, 0, 3_000);
    let mut events = 0;
    let closed = loop {
        let message = slow.recv();
        if message[0] != "EVENT" {
            break message;
        }
        events += 1;
    };
    assert_eq!((&closed[0], &closed[1]), (&json!("CLOSED"), &json!("all")));
    assert!(closed[2].as_str().unwrap().starts_with("error: too slow"), "{closed}");
    assert!(events < 3_000);
    assert_eq!(slow.query("all", &json!({"kinds": [1], "limit": 5})).len(), 5);
}

/// A client that publishes and never reads its OKs is not read from any more; the relay's memory
/// does not grow by it, and others are served.
#[test]
fn a_publisher_that_never_reads_is_held_back() {
    use std::io::Write;
    let relay = relay(|config| config.live.outbox_bytes_max = 64 << 10);
    let mut socket = relay.raw_websocket();
    socket.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    // Each bad message is answered by a NOTICE of about its size.
    let text = json!(["x".repeat(100)]).to_string();
    let mut frame = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
    frame.extend_from_slice(text.as_bytes());
    let burst = frame.repeat(1_000);
    let start = Instant::now();
    let mut sent = 0;
    while socket.write_all(&burst).is_ok() {
        sent += burst.len();
        assert!(sent < 1 << 30 && start.elapsed() < Duration::from_secs(60), "never held back");
    }
    let mut other = relay.client();
    assert!(other.query("a", &json!({})).is_empty());
}
