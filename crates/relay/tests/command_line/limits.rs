//! Memory, interruption and readers that go away.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};

use zeolite_testkit::Factory;

use crate::support::{Place, signal};

const BASE: u64 = 1_700_000_000;

fn notes(count: u64) -> String {
    let mut factory = Factory::new(81);
    (0..count).map(|at| factory.draft(0).at(BASE + at).padded_to(600).json() + "\n").collect()
}

fn start_import(place: &Place) -> (Child, ChildStdin) {
    let mut command = place.command("import - --db store");
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program runs");
    let stdin = child.stdin.take().expect("it is piped");
    (child, stdin)
}

/// The most memory that a process had resident, in kB.
fn peak_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it is running");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// An import takes the same memory for 200 MB as for 20 MB.
#[test]
fn a_long_stream_takes_constant_memory() {
    let place = Place::new();
    let text = notes(1000);
    let (mut child, mut stdin) = start_import(&place);
    let mut feed = |times: usize| {
        (0..times).for_each(|_| stdin.write_all(text.as_bytes()).expect("it reads"));
        // What is written was read but for a pipe's buffer and the chunks under way.
        peak_kb(child.id())
    };
    let early = feed(35);
    let late = feed(300);
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
    assert!(late < early + 16 * 1024, "grew from {early} kB to {late} kB");
    assert!(late < 200 * 1024, "{late} kB");
}

/// SIGINT ends an import that waits for input: what was acknowledged is stored, the summary is
/// printed, and the exit code says that there was more.
#[test]
fn an_interrupted_import_keeps_what_it_took() {
    let place = Place::new();
    let (mut child, mut stdin) = start_import(&place);
    stdin.write_all(notes(3000).as_bytes()).expect("it reads");
    stdin.flush().expect("it reads");
    // Reading has begun and signals are caught as soon as a pipe's buffer was taken; the write
    // above is larger than that.
    assert!(signal(child.id(), "INT"));
    let status = child.wait().expect("it ends");
    let mut summary = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut summary).expect("text");
    assert_eq!(status.code(), Some(130), "{summary}");
    assert!(summary.contains("interrupted"), "{summary}");
    let stored = summary.lines().find_map(|line| line.trim().strip_suffix(" stored"));
    let exported = place.export("store").len().to_string();
    assert_eq!(stored, Some(&*exported), "{summary}");
    assert_eq!(place.ok("check --db store").count("problems"), 0);
}

/// Case 58: a store that is full ends the import with what was stored, and can still be read, be
/// deleted from, and be raised.
#[test]
fn a_full_store_says_so_and_can_be_helped() {
    let place = Place::new();
    let mut factory = Factory::new(82);
    let mut note = |at| factory.draft(0).at(BASE + at).padded_to(50_000).json() + "\n";
    place.write("notes.ndjson", (0..1_600).map(&mut note).collect::<String>().as_bytes());
    let small = "--set store.map_bytes=64MiB --set store.head_bytes_max=2MiB --db store";
    let ran = place.run(&format!("import notes.ndjson {small}"));
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("the store is full: raise store.map_bytes"), "{}", ran.stderr);
    let stored = ran.count("stored");
    assert!((600..1_600).contains(&stored), "{stored}");
    assert_eq!(place.export("store").len() as u64, stored);
    let removed = place.ok(&format!("delete {{\"until\":{}}} {small}", BASE + 199));
    assert_eq!(removed.count("events removed"), 200);
    let raised = place.ok("import notes.ndjson --db store");
    raised.assert_counts(&[
        ("read", 1_600),
        ("stored", 1_800 - stored),
        ("duplicate", stored - 200),
    ]);
    assert_eq!(place.ok("check --db store").count("problems"), 0);
}

/// A reader that has seen enough ends the command quietly.
#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new();
    place.write("notes.ndjson", notes(3000).as_bytes());
    place.ok("import notes.ndjson --db store");
    for line in ["export --db store", "scan {} --db store", "export --zstd --db store"] {
        let mut command = place.command(line);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let mut stdout = BufReader::with_capacity(64, child.stdout.take().expect("it is piped"));
        assert!(!stdout.fill_buf().expect("it writes").is_empty());
        drop(stdout);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{line}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
    }
}
