//! A relay that is killed while it takes events.

use std::collections::HashSet;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, client};
use zeolite_testkit::{Factory, TestRng, run_seeds};

use crate::support::{Place, signal};

const PUBLISHERS: usize = 3;
const EVENTS_EACH: usize = 400;
/// Kills of the same store.
const KILLS: usize = 4;
/// Unanswered events of a publisher.
const WINDOW: usize = 50;

/// Case 61, E-36: whatever was answered `OK true` before the relay was killed is there afterwards,
/// and the store is whole.
#[test]
fn what_was_acknowledged_survives_a_kill() {
    run_seeds("what_was_acknowledged_survives_a_kill", 1, |rng| {
        let place = Place::new();
        let mut acknowledged = Vec::new();
        for kill in 0..KILLS {
            let corpora: Vec<_> = (0..PUBLISHERS).map(|at| notes(kill * 10 + at)).collect();
            acknowledged.extend(publish_until_killed(&place, &corpora, rng));
        }
        assert!(acknowledged.len() >= KILLS, "something was acknowledged before each kill");
        place.ok("check --db db");
        let exported: HashSet<Value> = place
            .export("db")
            .iter()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["id"].clone())
            .collect();
        let lost = acknowledged.iter().filter(|id| !exported.contains(*id)).count();
        assert_eq!(lost, 0, "lost of {} acknowledged", acknowledged.len());
    });
}

fn notes(seed: usize) -> Vec<Value> {
    let mut factory = Factory::new(seed as u64);
    (0..EVENTS_EACH as u64).map(|at| factory.note(0, 1_700_000_000 + at, "x")).collect()
}

/// The ids that were acknowledged until the relay was killed in the middle of its work.
fn publish_until_killed(place: &Place, corpora: &[Vec<Value>], rng: &mut TestRng) -> Vec<Value> {
    let enough = rng.random_range(1..PUBLISHERS * EVENTS_EACH / 2);
    let relay = place.serve("db");
    let answers = AtomicUsize::new(0);
    thread::scope(|scope| {
        let publishers: Vec<_> = corpora
            .iter()
            .map(|events| scope.spawn(|| publish(&relay.url, events, &answers)))
            .collect();
        let patience = Instant::now() + Duration::from_secs(60);
        while answers.load(Ordering::Relaxed) < enough && Instant::now() < patience {
            thread::yield_now();
        }
        assert!(signal(relay.pid(), "KILL"), "the relay runs until it is killed");
        let ends = publishers.into_iter().map(|publisher| publisher.join());
        ends.flat_map(|ids| ids.expect("a publisher ends with its connection")).collect()
    })
}

/// Publishes until the connection breaks or all is answered.
fn publish(url: &str, events: &[Value], answers: &AtomicUsize) -> Vec<Value> {
    let stream = TcpStream::connect(url.trim_start_matches("ws://")).expect("the relay listens");
    stream.set_nodelay(true).expect("a socket has options");
    let Ok((mut socket, _)) = client(url, stream) else { return Vec::new() };
    let mut acknowledged = Vec::new();
    let mut unsent = events.iter();
    let mut send = |socket: &mut tokio_tungstenite::tungstenite::WebSocket<TcpStream>| {
        unsent.next().is_none_or(|event| {
            socket.send(Message::text(json!(["EVENT", event]).to_string())).is_ok()
        })
    };
    if !(0..WINDOW).all(|_| send(&mut socket)) {
        return acknowledged;
    }
    while acknowledged.len() < events.len()
        && let Ok(message) = socket.read()
    {
        let Message::Text(text) = message else { continue };
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&answer[0], &answer[2]), (&json!("OK"), &json!(true)), "{answer}");
        acknowledged.push(answer[1].clone());
        answers.fetch_add(1, Ordering::Relaxed);
        if !send(&mut socket) {
            break;
        }
    }
    acknowledged
}
