//! The seam between stored history and the live feed, under load.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::json;
use zeolite_testkit::Factory;

use crate::support::{Client, TestRelay, relay};

const NOW: u64 = 1_700_000_000;
const EVENTS: u64 = 3_000;
const READERS: usize = 8;

/// Subscribes again and again while events pour in; every subscription must see every event from
/// the first to the last once: stored ones newest first, then live ones in their order.
fn subscribe_until(relay: &TestRelay, done: &AtomicBool) -> usize {
    let mut client = relay.client();
    let mut rounds = 0;
    while !done.load(Ordering::Relaxed) || rounds == 0 {
        let sub = rounds.to_string();
        client.send(&json!(["REQ", sub, {"kinds": [1]}]));
        let mut times = read_to_eose(&mut client, &sub);
        assert!(times.is_sorted_by(|a, b| a > b), "stored events are newest first");
        times.reverse();
        let until = (times.len() + 100).min(EVENTS as usize);
        while times.len() < until {
            times.extend(read_time(&mut client, &sub).expect("one EOSE"));
        }
        let expected: Vec<u64> = (0..until as u64).collect();
        assert_eq!(times, expected, "each once, none left out");
        client.send(&json!(["CLOSE", sub]));
        rounds += 1;
    }
    rounds
}

fn read_to_eose(client: &mut Client, sub: &str) -> Vec<u64> {
    let mut times = Vec::new();
    while let Some(time) = read_time(client, sub) {
        times.extend(time);
    }
    times
}

/// The time of an event of this subscription; nothing for one of an earlier subscription, which
/// was on its way when that was closed; `None` for the EOSE.
fn read_time(client: &mut Client, sub: &str) -> Option<Option<u64>> {
    let message = client.recv();
    let ours = message[1] == sub;
    match message[0].as_str() {
        Some("EVENT") => Some(ours.then(|| time_of(&message[2]["created_at"]))),
        Some("EOSE") if ours => None,
        _ => panic!("unexpected {message}"),
    }
}

fn time_of(created_at: &serde_json::Value) -> u64 {
    created_at.as_u64().unwrap() - NOW
}

/// R01-47, R01-50, R01-82, case 49: nothing is lost, doubled or mixed up between a query's answer
/// and what follows live, however often the subscription is replaced meanwhile.
#[test]
fn nothing_is_lost_or_doubled_between_stored_and_live() {
    let relay = relay(|config| {
        config.query.default_limit = None;
        // So small that late subscriptions may have to be replayed from the log.
        config.live.recent_events_max = 4;
    });
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> =
            (0..READERS).map(|_| scope.spawn(|| subscribe_until(&relay, &done))).collect();
        let mut factory = Factory::new(11);
        let mut publisher = relay.client();
        for from in (0..EVENTS).step_by(50) {
            let notes: Vec<_> = (from..from + 50)
                .map(|at| json!(["EVENT", factory.note(0, NOW + at, "x")]))
                .collect();
            publisher.send_all(&notes);
            for note in &notes {
                publisher.expect(json!(["OK", note[1]["id"], true, ""]));
            }
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}
