//! Ctrl-C leaves no process behind, and neither does the death of the harness itself.

#![allow(missing_docs, reason = "a test crate has no callers")]
#![allow(clippy::unwrap_used, reason = "a panic in a test is its report")]

mod support;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::{Rig, assert_clean};
use zeolite_bench::proc_fs::is_running;

const PATIENCE: Duration = Duration::from_secs(20);

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Children of every thread of a process.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()
        })
        .collect()
}

/// A run in the middle of its measurement, with the processes that it has started.
fn running(rig: &Rig) -> (Child, Vec<u32>) {
    rig.good_engine("good");
    // Half a minute of events.
    rig.scenario(600, 20);
    let harness = rig.command(&["good"]).stderr(Stdio::null()).spawn().unwrap();
    let mut found = Vec::new();
    wait_until("no relay and no load", || {
        found = children(harness.id());
        found.len() == 2
    });
    (harness, found)
}

fn signal(process: &Child, name: &str) {
    let id = process.id().to_string();
    assert!(
        Command::new("sh").args(["-c", &format!("kill -{name} {id}")]).status().unwrap().success()
    );
}

fn check_stops(name: &str) {
    let rig = Rig::new();
    let (mut harness, started) = running(&rig);
    signal(&harness, name);
    let status = harness.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{name}");
    assert!(started.iter().all(|pid| !is_running(*pid)), "{name} left a process behind");
    assert_clean(&rig.path("out"));
    assert!(!rig.results().info.complete);
}

#[test]
fn ctrl_c_ends_everything() {
    check_stops("INT");
}

#[test]
fn sigterm_ends_everything() {
    check_stops("TERM");
}

/// Nothing can be cleaned up by a killed process: the kernel does it (`guard`).
#[test]
fn killing_the_harness_ends_everything() {
    let rig = Rig::new();
    let (mut harness, started) = running(&rig);
    signal(&harness, "KILL");
    harness.wait().unwrap();
    wait_until("a process outlived its killed harness", || {
        started.iter().all(|pid| !is_running(*pid))
    });
}
