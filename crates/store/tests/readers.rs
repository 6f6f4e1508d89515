//! Readers in other processes are killed while they hold a snapshot.
//!
//! A reader is this very program, told by its environment to run [`child_reader`].

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use zeolite_store::{Options, Store, open};

const CHILD_DIR: &str = "ZEOLITE_READER_DIR";

/// Not a test of its own: a reader that is killed while it holds a snapshot.
#[test]
fn child_reader() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let store = Store::open_read_only(dir.as_ref()).expect("a store");
    let snapshot = store.snapshot().expect("a snapshot");
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nholding {}", snapshot.ceiling()).expect("the parent listens");
    out.flush().expect("the parent listens");
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Case 59: 200 readers are killed with a snapshot open. Their slots are found and freed by the
/// writer that goes on, and nobody runs out of slots.
#[test]
fn killed_readers_leave_nothing_behind() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (store, _admitter, mut committer) = open(dir.path(), Options::default()).expect("a store");
    for _ in 0..200 {
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["child_reader", "--exact", "--nocapture"])
            .env(CHILD_DIR, dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child process");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut lines = lines.map(|line| line.expect("text"));
        assert!(lines.any(|line| line.starts_with("holding")), "the reader came up");
        child.kill().expect("the child runs");
        child.wait().expect("the child is gone");
    }
    assert!(store.clear_stale_readers().expect("a sweep") > 0, "the killed ones had slots");
    assert_eq!(store.clear_stale_readers().expect("a sweep"), 0);
    store.snapshot().expect("there are slots");
    committer.flush_all().expect("the writer goes on");
}
