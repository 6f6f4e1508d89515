//! Relays and mirrors as processes, and what they hold.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::stream::MaybeTlsStream;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};
use zeolite_testkit::Factory;

/// No answer takes as long as this, on any machine that runs tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// When the events of these tests were made.
pub(crate) const BASE: u64 = 1_700_000_000;

pub(crate) type Ids = BTreeSet<String>;

/// A relay as a process, with a directory of its own.
pub(crate) struct Relay {
    child: Child,
    pub(crate) url: String,
    dir: TempDir,
}

impl Relay {
    /// Starts one with these lines in its configuration, after those that lift the limits of answers.
    pub(crate) fn start(config: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory can be made");
        let lifted = "[query]\ndefault_limit = \"unlimited\"\nmax_limit = \"unlimited\"\n";
        let text = format!("{lifted}{config}");
        std::fs::write(dir.path().join("zeolite.toml"), text).expect("a file can be written");
        let (child, url) = serve(dir.path());
        Self { child, url, dir }
    }

    /// Kills it without warning and starts it again on the same store, at another address.
    pub(crate) fn crash(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it was ours");
        (self.child, self.url) = serve(self.dir.path());
    }

    /// The value of a series whose line begins so; 0 if there is none.
    pub(crate) fn metric(&self, series: &str) -> u64 {
        let address = self.url.strip_prefix("ws://").expect("a ws URL");
        let mut socket = TcpStream::connect(address).expect("it listens");
        let request = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        std::io::Write::write_all(&mut socket, request.as_bytes()).expect("it reads");
        let text = std::io::read_to_string(socket).expect("it answers");
        let mut lines =
            text.lines().filter_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        lines.next().map_or(0, |value| value.parse::<f64>().expect("a number") as u64)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(dir: &Path) -> (Child, String) {
    let mut command = program(env!("CARGO_BIN_EXE_zeolite-relay"), dir);
    command.args(["--config", "zeolite.toml", "--listen", "127.0.0.1:0", "--db", "db"]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("the program runs");
    let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut seen = String::new();
    let url = loop {
        let mut line = String::new();
        assert_ne!(log.read_line(&mut line).expect("text"), 0, "it never listened: {seen}");
        if let Some((_, address)) = line.split_once("listening on ws://") {
            let address = address.split_whitespace().next().expect("an address");
            break format!("ws://{address}");
        }
        seen += &line;
    };
    // Whoever logs into a full pipe would wait for us.
    std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
    (child, url)
}

/// A program without the environment's settings.
fn program(path: &str, dir: &Path) -> Command {
    let mut command = Command::new(path);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("ZEOLITE_")) {
        command.env_remove(name);
    }
    command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Mirrors between two relays to the end.
pub(crate) fn between(from: &str, into: &str, arguments: &[&str]) -> Ran {
    let dir = tempfile::tempdir().expect("a directory can be made");
    let mut command = program(env!("CARGO_BIN_EXE_zeolite-mirror"), dir.path());
    command.args(["--json", "--from", from, "--into", into]).args(arguments);
    Ran::from(command.stderr(Stdio::piped()).output().expect("the program runs"))
}

/// A directory that the mirror owns.
pub(crate) struct Mirror(pub(crate) TempDir);

/// How a mirror ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
    /// The last line of `--json`.
    pub(crate) summary: Value,
}

impl Mirror {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory can be made"))
    }

    /// The program in this directory.
    pub(crate) fn bare(&self, arguments: &[&str]) -> Command {
        let mut command = program(env!("CARGO_BIN_EXE_zeolite-mirror"), self.0.path());
        command.args(arguments).stderr(Stdio::piped());
        command
    }

    /// The program on this directory, with `--json`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.bare(&["--json", "--db", "db"]);
        command.args(arguments);
        command
    }

    /// Mirrors from this relay to the end.
    pub(crate) fn run(&self, url: &str, arguments: &[&str]) -> Ran {
        let mut command = self.command(&["--from", url]);
        let output = command.args(arguments).output().expect("the program runs");
        Ran::from(output)
    }

    /// The same, which must succeed.
    #[track_caller]
    pub(crate) fn ok(&self, url: &str, arguments: &[&str]) -> Value {
        let ran = self.run(url, arguments);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.summary
    }

    /// The ids of the events in the directory.
    pub(crate) fn ids(&self) -> Ids {
        let mut command = program(env!("CARGO_BIN_EXE_zeolite-relay"), self.0.path());
        let output = command.args(["export", "--db", "db"]).output().expect("the program runs");
        let text = String::from_utf8(output.stdout).expect("NDJSON");
        text.lines().map(|line| id_of(&serde_json::from_str(line).expect("an event"))).collect()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        let stdout = text(output.stdout);
        let last = stdout.lines().last().unwrap_or("null");
        Self {
            code: output.status.code(),
            stderr: text(output.stderr),
            summary: serde_json::from_str(last).expect("a line of JSON"),
        }
    }
}

pub(crate) fn id_of(event: &Value) -> String {
    event["id"].as_str().expect("an event has an id").to_owned()
}

pub(crate) fn ids_of(events: &[Value]) -> Ids {
    events.iter().map(id_of).collect()
}

/// Notes by a few authors, one a second from `from` on.
pub(crate) fn notes(seed: u64, from: u64, count: u64) -> Vec<Value> {
    let mut factory = Factory::new(seed);
    (0..count).map(|at| factory.note(at as usize % 5, from + at, &format!("{seed}/{at}"))).collect()
}

/// A client that shares no code with the project.
pub(crate) struct Client(WebSocket<MaybeTlsStream<TcpStream>>);

impl Client {
    pub(crate) fn connect(url: &str) -> Result<Self, tungstenite::Error> {
        let (socket, _) = tungstenite::connect(url)?;
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
        }
        Ok(Self(socket))
    }

    pub(crate) fn send(&mut self, message: &Value) -> Result<(), tungstenite::Error> {
        self.0.send(Message::text(message.to_string()))
    }

    pub(crate) fn recv(&mut self) -> Result<Value, tungstenite::Error> {
        loop {
            if let Message::Text(text) = self.0.read()? {
                return Ok(serde_json::from_str(&text).expect("a relay speaks JSON"));
            }
        }
    }

    /// The next message but for a challenge, which may come at any time (R42-01).
    fn answer(&mut self) -> Result<Value, tungstenite::Error> {
        loop {
            match self.recv()? {
                message if message[0] == "AUTH" => {}
                message => return Ok(message),
            }
        }
    }

    /// Publishes one event; whether it was accepted.
    pub(crate) fn publish(&mut self, event: &Value) -> Result<bool, tungstenite::Error> {
        self.send(&json!(["EVENT", event]))?;
        loop {
            let answer = self.recv()?;
            if answer[0] == "OK" && answer[1] == event["id"] {
                return Ok(answer[2] == true);
            }
        }
    }

    /// The stored events of a filter.
    pub(crate) fn query(&mut self, filter: &Value) -> Result<Vec<Value>, tungstenite::Error> {
        self.send(&json!(["REQ", "q", filter]))?;
        let mut events = Vec::new();
        loop {
            let mut message = self.recv()?;
            match message[0].as_str() {
                Some("EVENT") => events.push(message[2].take()),
                Some("EOSE") => break,
                _ => panic!("unexpected {message}"),
            }
        }
        self.send(&json!(["CLOSE", "q"]))?;
        Ok(events)
    }
}

/// Events under way at once: a relay commits what waits together.
const PUBLISHED_AT_ONCE: usize = 100;

/// Publishes events, all of which must be accepted.
#[track_caller]
pub(crate) fn publish(url: &str, events: &[Value]) {
    let mut client = Client::connect(url).expect("the relay listens");
    for part in events.chunks(PUBLISHED_AT_ONCE) {
        for event in part {
            client.send(&json!(["EVENT", event])).expect("the relay reads");
        }
        for _ in part {
            let answer = client.answer().expect("the relay answers");
            assert_eq!((&answer[0], &answer[2]), (&json!("OK"), &json!(true)), "{answer}");
        }
    }
}

/// The ids of what a relay holds.
pub(crate) fn ids_at(url: &str) -> Ids {
    let mut client = Client::connect(url).expect("the relay listens");
    ids_of(&client.query(&json!({})).expect("the relay answers"))
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "it never came to be: {what}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}
