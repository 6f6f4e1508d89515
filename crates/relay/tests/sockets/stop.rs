//! The end of connections and of the relay.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::Message;
use zeolite_testkit::Factory;

use crate::support::{Client, PATIENCE, connect, dial, relay};

const STOP_MAX: Duration = Duration::from_secs(5);

fn notes(factory: &mut Factory, count: u64) -> Vec<Value> {
    (0..count).map(|at| json!(["EVENT", factory.note(0, 1_700_000_000 + at, "x")])).collect()
}

/// Case 64: a stop under load answers what was taken in, says goodbye to everyone, and does not
/// wait for those who do not listen.
#[test]
fn a_stop_answers_what_is_under_way_and_closes() {
    let mut relay = relay(|_| {});
    let mut factory = Factory::new(8);
    let mut idle = relay.client();
    assert!(idle.query("never", &json!({"kinds": [7]})).is_empty());
    let deaf = relay.raw_websocket();
    let mut publisher = relay.client();
    let notes = notes(&mut factory, 500);
    publisher.send_all(&notes);
    publisher.expect(json!(["OK", notes[0][1]["id"], true, ""]));
    let running = relay.relay.take().unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let stop = scope.spawn(|| running.stop());
        assert_eq!(idle.close_code(), 1001);
        // OKs up to some point, then the close frame.
        assert_eq!(publisher.close_code(), 1001);
        drop(publisher);
        stop.join().unwrap();
    });
    assert!(start.elapsed() < STOP_MAX, "{:?}", start.elapsed());
    drop(deaf);
}

const RELAY: &str = env!("CARGO_BIN_EXE_zeolite-relay");
const SERVE: [&str; 4] = ["serve", "--listen", "127.0.0.1:0", "--db"];

/// The relay's binary, killed if the test fails.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        let _status = self.0.wait();
    }
}

impl Process {
    fn start(db: &std::path::Path) -> (Self, SocketAddr) {
        Self::spawn(Command::new(RELAY).args(SERVE).arg(db))
    }

    fn spawn(command: &mut Command) -> (Self, SocketAddr) {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let process = Self(child);
        let mut lines = log.lines().map(Result::unwrap);
        let addr = lines.find_map(|line| {
            let (_, addr) = line.split_once("listening on ws://")?;
            addr.split_whitespace().next()?.parse().ok()
        });
        let addr = addr.expect("the relay logs where it listens");
        std::thread::spawn(move || lines.for_each(drop));
        (process, addr)
    }

    fn signal(&self) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }
}

/// SIGTERM under full ingest: the process ends in time with success, and every event it answered
/// with `OK true` is there afterwards.
#[test]
fn sigterm_under_load_loses_nothing_that_was_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let (mut process, addr) = Process::start(dir.path());
    let mut factory = Factory::new(12);
    let notes = notes(&mut factory, 5_000);
    let mut publisher = Client { socket: connect(addr) };
    let mut acknowledged = Vec::new();
    for note in &notes[..1_000] {
        publisher.socket.write(Message::text(note.to_string())).unwrap();
    }
    publisher.socket.flush().unwrap();
    process.signal();
    let start = Instant::now();
    loop {
        match publisher.frame() {
            Ok(Message::Text(text)) => {
                let ok: Value = serde_json::from_str(&text).unwrap();
                assert_eq!((&ok[0], &ok[2]), (&json!("OK"), &json!(true)));
                acknowledged.push(ok[1].clone());
            }
            Ok(Message::Close(close)) => {
                assert_eq!(u16::from(close.unwrap().code), 1001);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    drop(publisher);
    let status = process.0.wait().unwrap();
    assert!(status.success() && start.elapsed() < STOP_MAX, "{status} {:?}", start.elapsed());
    let (_again, addr) = Process::start(dir.path());
    let mut reader = Client { socket: connect(addr) };
    for ids in acknowledged.chunks(400) {
        assert_eq!(reader.query("ids", &json!({"ids": ids})).len(), ids.len());
    }
}

/// Two signals: the second ends the process at once, whatever still waits.
#[test]
fn a_second_signal_ends_the_process_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (mut process, addr) = Process::start(dir.path());
    // A client that never answers the close frame holds up an orderly stop for seconds.
    let mut deaf = connect(addr);
    process.signal();
    let first = deaf.get_mut().read(&mut [0; 2]);
    assert!(first.is_ok(), "the close frame comes first");
    let start = Instant::now();
    process.signal();
    let status = process.0.wait().unwrap();
    assert!(!status.success(), "{status}");
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

/// Case 50: whatever a connection was in the middle of when it went, nothing of it stays.
#[test]
fn nothing_stays_of_connections_that_left() {
    let relay = relay(|config| {
        config.query.default_limit = None;
        config.live.outbox_bytes_max = 64 << 10;
    });
    let mut factory = Factory::new(14);
    let mut publisher = relay.client();
    let mut lagging: Vec<_> = (0..3).map(|_| relay.client()).collect();
    for client in &mut lagging {
        assert!(client.query("live", &json!({"kinds": [1]})).is_empty());
    }
    for at in 0..1_000 {
        publisher.publish(&factory.draft(0).at(1_700_000_000 + at).padded_to(20_000).build());
    }
    let mut parked: Vec<_> = (0..3).map(|_| relay.client()).collect();
    for client in &mut parked {
        client.send_all(&[
            json!(["REQ", "a", {}]),
            json!(["REQ", "b", {}]),
            json!(["COUNT", "n", {}]),
        ]);
        assert_eq!(client.recv()[0], "EVENT");
    }
    let mut idle = relay.client();
    assert!(idle.query("never", &json!({"kinds": [7]})).is_empty());
    relay.await_metric("zeolite_subscriptions", 10);
    drop((lagging, parked, idle));
    relay.await_metric("zeolite_connections", 1);
    relay.await_metric("zeolite_subscriptions", 0);
    relay.await_metric("zeolite_live_subscriptions", 0);
}

/// A client that answers no pings is closed; one that does may say nothing else.
#[test]
fn the_dead_are_found_by_pings() {
    let relay = relay(|config| config.server.ping_s = 1);
    let mut dead = relay.raw_websocket();
    let mut alive = relay.client();
    // By the time of the third ping to who answers, who does not has had two and been closed.
    for _ in 0..3 {
        assert!(matches!(alive.frame().unwrap(), Message::Ping(_)));
        alive.socket.flush().unwrap();
    }
    let mut bytes = Vec::new();
    dead.read_to_end(&mut bytes).unwrap();
    let (pings, close) = bytes.split_at(4);
    assert_eq!(pings, [0x89, 0, 0x89, 0]);
    assert_eq!(close[..4], [0x88, 20, 0x03, 0xe9]);
    assert!(alive.query("a", &json!({})).is_empty());
}

/// Case 66: far fewer descriptors than configured connections are no reason not to start, and more
/// sockets than there are descriptors for are told so; when they are gone, others are served.
#[test]
fn few_descriptors_mean_few_connections() {
    let dir = tempfile::tempdir().unwrap();
    let script = format!("ulimit -n 100; exec \"$0\" {} \"$1\"", SERVE.join(" "));
    let (_process, addr) =
        Process::spawn(Command::new("sh").args(["-c", &script, RELAY]).arg(dir.path()));
    let sockets: Vec<_> = (0..150).map(|_| TcpStream::connect(addr).unwrap()).collect();
    let refused = sockets.last().unwrap();
    refused.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = String::new();
    { refused }.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    drop(sockets);
    let start = Instant::now();
    while tokio_tungstenite::tungstenite::client(format!("ws://{addr}/"), dial(addr)).is_err() {
        assert!(start.elapsed() < PATIENCE, "the relay does not recover");
    }
}
