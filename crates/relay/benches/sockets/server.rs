//! The relay under measurement, in a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use zeolite_proto::{EventParser, Timestamp, Verified};
use zeolite_relay::config::Config;
use zeolite_store::{Options, open};
use zeolite_testkit::Factory;

use crate::CREATED_AT;
use crate::client::Client;

const FLAG: &str = "--server";

/// Whether this process is to be the relay.
pub(crate) fn is_asked_for(args: &[String]) -> bool {
    args.first().is_some_and(|arg| arg == FLAG)
}

/// The relay, until its standard input ends.
pub(crate) fn serve(args: &[String]) {
    let mut config = Config::default();
    config.listen.set_port(0);
    config.db = Path::new(&args[1]).to_owned();
    config.query.default_limit = None;
    config.query.max_limit = None;
    let relay = zeolite_relay::start(config).unwrap();
    println!("{}", relay.addr);
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    relay.stop();
}

/// A relay and its store; both end with it.
pub(crate) struct Server {
    child: Child,
    addr: SocketAddr,
    _dir: tempfile::TempDir,
}

impl Server {
    /// An empty relay.
    pub(crate) fn start() -> Self {
        Self::start_on(tempfile::tempdir().unwrap())
    }

    /// A relay that holds this many notes by a hundred authors, one for each second.
    pub(crate) fn start_with(notes: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fill(&dir.path().join("store"), notes);
        Self::start_on(dir)
    }

    fn start_on(dir: tempfile::TempDir) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(FLAG)
            .arg(dir.path().join("store"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, addr: line.trim().parse().unwrap(), _dir: dir }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.addr)
    }

    /// Resident memory.
    pub(crate) fn resident_bytes(&self) -> u64 {
        self.status("VmRSS:") * 1024
    }

    /// Resident memory that is no part of the store's file.
    pub(crate) fn anonymous_bytes(&self) -> u64 {
        self.status("RssAnon:") * 1024
    }

    /// Processor time used so far, in seconds.
    pub(crate) fn cpu_s(&self) -> f64 {
        const TICKS_PER_S: f64 = 100.0;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let ticks = fields.split_whitespace().skip(11).take(2);
        ticks.map(|ticks| ticks.parse::<f64>().unwrap()).sum::<f64>() / TICKS_PER_S
    }

    fn status(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// Bytes of one note: the mean of a public relay's text notes.
const NOTE_BYTES: usize = 700;

fn fill(dir: &Path, notes: u64) {
    let (_, mut admitter, mut committer) = open(dir, Options::default()).unwrap();
    let mut factory = Factory::unsigned(5);
    let mut parser = EventParser::new();
    let mut batch = Vec::new();
    for at in 0..notes {
        let draft = factory.draft(at as usize % 100).at(CREATED_AT + at).padded_to(NOTE_BYTES);
        batch.push(Verified::trusted(parser.parse(&draft.json()).unwrap()));
        if batch.len() == 2_000 || at + 1 == notes {
            let now = Timestamp(CREATED_AT + notes);
            let admitted = admitter.admit(std::mem::take(&mut batch), now).unwrap();
            committer.commit(vec![admitted.pending]).unwrap();
        }
    }
    committer.flush_all().unwrap();
}
