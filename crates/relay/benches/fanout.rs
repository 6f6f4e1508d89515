//! Latency of the live feed and memory of idle connections, over real sockets.
//!
//! The relay runs in a process of its own, with the durable profile. For each N, N sockets
//! subscribe to one author each, and one event of each author is published, one after the other:
//! the time from before the write on the publisher's socket to after the read on the subscriber's
//! is measured, and the time to the `OK`. Then 15,000 sockets subscribe and are idle, and the
//! relay's resident memory is divided among them.
//!
//! `cargo bench -p zeolite-relay --bench fanout [-- [--short] [feed | idle]]`

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark reports, and may panic")]
#![allow(missing_docs, reason = "a benchmark has no callers")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use zeolite_relay::config::Config;
use zeolite_testkit::Factory;

const SERVER_FLAG: &str = "--server";
const CREATED_AT: u64 = 1_700_000_000;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == SERVER_FLAG) {
        return serve(Path::new(&args[at + 1]));
    }
    let short = args.iter().any(|arg| arg == "--short");
    let wanted = |name: &str| {
        let mut names = args[1..].iter().filter(|arg| !arg.starts_with("--")).peekable();
        names.peek().is_none() || names.any(|arg| arg == name)
    };
    if wanted("feed") {
        report_feed(short);
    }
    if wanted("idle") {
        let (idle, bytes) = idle(if short { 500 } else { 15_000 });
        println!("{idle} idle connections with one subscription: {bytes} bytes each, resident");
    }
}

fn report_feed(short: bool) {
    let rounds: &[usize] = if short { &[50, 200] } else { &[100, 1_000, 5_000] };
    println!("live feed, durable, one event in flight, milliseconds");
    println!("{:>6}  {:^33}  {:^26}", "", "publish -> arrival", "publish -> OK");
    println!("{:>6}  p50     p99     p999    max      p50     p99     max", "N");
    for &sockets in rounds {
        let [arrival, ok] = feed(sockets);
        let ms = |value: u64| value as f64 / 1e6;
        let at = |histogram: &Histogram<u64>, q| ms(histogram.value_at_quantile(q));
        println!(
            "{sockets:>6}  {:<6.3}  {:<6.3}  {:<6.3}  {:<7.3}  {:<6.3}  {:<6.3}  {:<6.3}",
            at(&arrival, 0.5),
            at(&arrival, 0.99),
            at(&arrival, 0.999),
            ms(arrival.max()),
            at(&ok, 0.5),
            at(&ok, 0.99),
            ms(ok.max()),
        );
    }
}

/// The relay, until its standard input ends.
fn serve(dir: &Path) {
    let mut config = Config::default();
    config.listen.set_port(0);
    config.db = dir.to_owned();
    let relay = zeolite_relay::start(config).unwrap();
    println!("{}", relay.addr);
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    relay.stop();
}

/// A relay in a process of its own.
struct Server {
    child: Child,
    addr: SocketAddr,
    _dir: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(SERVER_FLAG)
            .arg(dir.path().join("store"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, addr: line.trim().parse().unwrap(), _dir: dir }
    }

    fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kilobytes * 1024
    }

    fn client(&self) -> Client {
        let mut socket = TcpStream::connect(self.addr).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
        socket.write_all(request.as_bytes()).unwrap();
        let mut client = Client { socket };
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.bytes::<1>()[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"));
        client
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// A WebSocket client as thin as can be, so that little of what is measured is its own.
struct Client {
    socket: TcpStream,
}

impl Client {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.socket.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Sends one text frame, masked with zeros.
    fn send(&mut self, message: &[u8]) {
        let mut frame = vec![0x81];
        match u16::try_from(message.len()).unwrap() {
            short @ 0..=125 => frame.push(0x80 | short as u8),
            long => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&long.to_be_bytes());
            }
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(message);
        self.socket.write_all(&frame).unwrap();
    }

    fn recv(&mut self) -> Vec<u8> {
        let [opcode, length] = self.bytes();
        assert_eq!(opcode, 0x81);
        let length = match length {
            126 => u16::from_be_bytes(self.bytes()).into(),
            127 => u64::from_be_bytes(self.bytes()) as usize,
            short => short.into(),
        };
        let mut message = vec![0; length];
        self.socket.read_exact(&mut message).unwrap();
        message
    }

    fn subscribe(&mut self, author: &str) {
        let filter = json!({"authors": [author], "kinds": [1]});
        self.send(json!(["REQ", "s", filter]).to_string().as_bytes());
        assert!(self.recv().starts_with(b"[\"EOSE\""));
    }

    fn assert_silent(&self) {
        self.socket.set_nonblocking(true).unwrap();
        let error = (&self.socket).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}

/// Nanoseconds from publish to arrival and from publish to `OK`.
fn feed(sockets: usize) -> [Histogram<u64>; 2] {
    let server = Server::start();
    let mut factory = Factory::new(7);
    let events: Vec<Value> =
        (0..sockets).map(|author| factory.note(author, CREATED_AT, "to one of many")).collect();
    let mut subscribers: Vec<Client> = (0..sockets)
        .map(|author| {
            let mut client = server.client();
            client.subscribe(&factory.pubkey(author));
            client
        })
        .collect();
    let mut publisher = server.client();
    let mut histograms = [Histogram::new(3).unwrap(), Histogram::new(3).unwrap()];
    for (event, subscriber) in events.iter().zip(&mut subscribers) {
        let message = json!(["EVENT", event]).to_string();
        let start = Instant::now();
        publisher.send(message.as_bytes());
        let arrived = subscriber.recv();
        let arrival = start.elapsed();
        let answer = publisher.recv();
        let ok = start.elapsed();
        let arrived: Value = serde_json::from_slice(&arrived).unwrap();
        assert_eq!(arrived, json!(["EVENT", "s", event]));
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer, json!(["OK", event["id"], true, ""]));
        for (histogram, time) in histograms.iter_mut().zip([arrival, ok]) {
            histogram.record(u64::try_from(time.as_nanos()).unwrap()).unwrap();
        }
    }
    subscribers.iter().for_each(Client::assert_silent);
    histograms
}

/// How many connections there were, and the bytes of resident memory that each added.
fn idle(sockets: usize) -> (usize, u64) {
    let server = Server::start();
    let mut factory = Factory::unsigned(8);
    let warm: Vec<Client> = (0..sockets / 100).map(|_| server.client()).collect();
    drop(warm);
    let before = server.resident_bytes();
    let clients: Vec<Client> = (0..sockets)
        .map(|author| {
            let mut client = server.client();
            client.subscribe(&factory.pubkey(author));
            client
        })
        .collect();
    let added = server.resident_bytes().saturating_sub(before);
    (clients.len(), added / sockets as u64)
}
