//! Readers in other processes, beside the writer: they catch up with it, and leave nothing behind
//! when they are killed.
//!
//! A reader is this very program, told by its environment to run [`child_reader`].

mod world;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use world::{all_of, verified};
use zeolite_proto::Timestamp;
use zeolite_store::{Admitter, Committer, Options, Store, open};
use zeolite_testkit::Factory;

const CHILD_DIR: &str = "ZEOLITE_READER_DIR";

const NOW: u64 = 2_000;

/// Not a test of its own: a reader that says what it sees, at first and after each line it is
/// sent, and holds a snapshot meanwhile.
#[test]
fn child_reader() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let store = Store::open_read_only(dir.as_ref()).expect("a store");
    let mut out = std::io::stdout().lock();
    loop {
        let snapshot = store.snapshot().expect("a snapshot");
        let shown = all_of(&store, NOW).len();
        writeln!(out, "\nsees {shown} up to {}", snapshot.ceiling()).expect("the parent listens");
        out.flush().expect("the parent listens");
        if std::io::stdin().read_line(&mut String::new()).is_ok_and(|bytes| bytes == 0) {
            return;
        }
        drop(snapshot);
        store.refresh().expect("a refresh");
    }
}

struct Reader {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Reader {
    fn start(dir: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["child_reader", "--exact", "--nocapture"])
            .env(CHILD_DIR, dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child process");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Self { child, lines }
    }

    /// What it says next.
    fn sees(&mut self) -> String {
        let mut lines = self.lines.by_ref().map(|line| line.expect("text"));
        lines.find(|line| line.starts_with("sees")).expect("the reader runs")
    }

    fn refresh(&mut self) {
        writeln!(self.child.stdin.as_mut().expect("a pipe")).expect("the reader listens");
    }

    fn kill(mut self) {
        self.child.kill().expect("the child runs");
        self.child.wait().expect("the child is gone");
    }
}

/// Case 59: 200 readers are killed with a snapshot open. Their slots are found and freed by the
/// writer that goes on, and nobody runs out of slots.
#[test]
fn killed_readers_leave_nothing_behind() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (store, _admitter, mut committer) = open(dir.path(), Options::default()).expect("a store");
    for _ in 0..200 {
        let mut reader = Reader::start(dir.path());
        reader.sees();
        reader.kill();
    }
    assert!(store.clear_stale_readers().expect("a sweep") > 0, "the killed ones had slots");
    assert_eq!(store.clear_stale_readers().expect("a sweep"), 0);
    store.snapshot().expect("there are slots");
    committer.flush_all().expect("the writer goes on");
}

fn write(admitter: &mut Admitter, committer: &mut Committer, events: &[serde_json::Value]) {
    let events = events.iter().map(verified).collect();
    let admitted = admitter.admit(events, Timestamp(NOW)).expect("admission");
    committer.commit(vec![admitted.pending]).expect("a commit");
}

/// A reader keeps to what was there when it was opened, without what was removed since, until it
/// is refreshed; whatever the writer flushed, replaced or purged in between.
#[test]
fn readers_catch_up_when_asked() {
    let mut factory = Factory::unsigned(1);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (_store, mut admitter, mut committer) =
        open(dir.path(), Options::default()).expect("a store");
    let mut profile = |at| factory.draft(0).kind(0).at(at).build();
    let (v1, v2) = (profile(100), profile(200));
    let notes: Vec<_> = (0..9).map(|at| factory.note(0, at, "")).collect();
    write(&mut admitter, &mut committer, &notes[..4]);
    write(&mut admitter, &mut committer, &[v1]);
    let mut reader = Reader::start(dir.path());
    assert_eq!(reader.sees(), "sees 5 up to 5");
    write(&mut admitter, &mut committer, &notes[4..]);
    committer.flush_all().expect("a flush");
    write(&mut admitter, &mut committer, &[v2]);
    reader.refresh();
    assert_eq!(reader.sees(), "sees 10 up to 11");
    committer.flush_all().expect("a flush");
    reader.refresh();
    assert_eq!(reader.sees(), "sees 10 up to 11");
    reader.kill();
}
