//! `import --to` against relays that misbehave.

use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};
use zeolite_testkit::Factory;

use crate::support::Place;

const BASE: u64 = 1_700_000_000;

type Socket = WebSocket<TcpStream>;

/// Serves one connection after the other, each with the next of these, and then no more.
fn fake_relay(connections: Vec<Box<dyn FnMut(Socket) + Send>>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("ws://{}", listener.local_addr().expect("it is bound"));
    let thread = thread::spawn(move || {
        for mut serve in connections {
            let (stream, _) = listener.accept().expect("the import connects");
            serve(tungstenite::accept(stream).expect("the import speaks WebSocket"));
        }
    });
    (url, thread)
}

/// The id of the next event; `None` when the import says goodbye.
fn next_id(socket: &mut Socket) -> Option<String> {
    loop {
        match socket.read().ok()? {
            Message::Text(text) => {
                let message: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!(message[0], "EVENT");
                return Some(message[1]["id"].as_str().expect("an id").to_owned());
            }
            Message::Close(_) => return None,
            _ => {}
        }
    }
}

fn ok(socket: &mut Socket, id: &str, accepted: bool, text: &str) {
    let message = json!(["OK", id, accepted, text]).to_string();
    socket.send(Message::text(message)).expect("the import listens");
}

fn place_with(notes: u64) -> Place {
    let place = Place::new();
    let mut factory = Factory::new(91);
    let notes: Vec<_> = (0..notes).map(|at| factory.note(0, BASE + at, "x")).collect();
    place.write_lines("notes.ndjson", &notes);
    place
}

/// A connection that breaks in the middle is made again, and what was unanswered is sent again;
/// an event refused for its rate is sent again later. Every line is counted once.
#[test]
fn lost_connections_and_rate_limits_lose_nothing() {
    let place = place_with(40);
    let break_after_ten = |mut socket: Socket| {
        for _ in 0..10 {
            let id = next_id(&mut socket).expect("an event");
            ok(&mut socket, &id, true, "");
        }
    };
    let slow_at_first = |mut socket: Socket| {
        socket.send(Message::Ping(vec![1].into())).expect("the import listens");
        let mut answered = 0;
        while let Some(id) = next_id(&mut socket) {
            answered += 1;
            match answered {
                1..=3 => ok(&mut socket, &id, false, "rate-limited: slow down"),
                4 => ok(&mut socket, &id, false, "blocked: not here"),
                _ => ok(&mut socket, &id, true, "duplicate: seen"),
            }
        }
        assert_eq!(answered, 33);
    };
    let (url, relay) = fake_relay(vec![Box::new(break_after_ten), Box::new(slow_at_first)]);
    let ran = place.ok(&format!("import notes.ndjson --to {url}"));
    relay.join().expect("the relay saw what it expected");
    ran.assert_counts(&[("read", 40), ("stored", 10), ("duplicate", 29), ("refused", 1)]);
    assert!(ran.stderr.contains("1 blocked: not here"), "{}", ran.stderr);
}

/// A relay that cannot store ends the import at once, and so does one that is not there.
#[test]
fn broken_relays_end_the_import() {
    let place = place_with(5);
    let broken = |mut socket: Socket| {
        let id = next_id(&mut socket).expect("an event");
        ok(&mut socket, &id, false, "error: the disk is full");
        while next_id(&mut socket).is_some() {}
    };
    let (url, relay) = fake_relay(vec![Box::new(broken)]);
    let ran = place.run(&format!("import notes.ndjson --to {url}"));
    relay.join().expect("the relay saw what it expected");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("error: the disk is full"), "{}", ran.stderr);
    let ran = place.run(&format!("import notes.ndjson --to {url}"));
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("cannot connect"), "{}", ran.stderr);
}
