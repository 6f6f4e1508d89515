//! A relay that dies, with and without what it acknowledged; and the null server.

use zeolite_loadgen::drivers::{crash, parse};
use zeolite_loadgen::report::Report;
use zeolite_loadgen::{NullServer, Target};

use crate::lie::Lie;
use crate::relay::TestRelay;
use crate::support::{disk, faults, run};

/// Crashes twice; each crash loses the newest `lose` events.
fn crashed(lose: usize) -> Vec<Report> {
    let relay = TestRelay::start(Vec::new(), Lie::Honest);
    let crasher = relay.crasher();
    let restart: crash::Restart = Box::new(move || {
        crasher(lose);
        Ok(())
    });
    let arguments = ["--seconds", "0.6", "--events", "1200", "--crashes", "2", "--silence-s", "1"];
    let spec = parse(&arguments).unwrap();
    let mut rows = Vec::new();
    let target = Target::new(relay.url(), None).unwrap();
    crash::run_with(&target, &spec, Some(restart), &mut |row| rows.push(row));
    rows
}

/// What was acknowledged and survived is found; what was acknowledged and lost is missed.
#[test]
fn a_crash_that_loses_events_is_seen() {
    assert_eq!(faults(&crashed(0)), Vec::<String>::new());
    let lost = faults(&crashed(20));
    assert!(lost.iter().any(|fault| fault.starts_with("acknowledged_and_missing")), "{lost:?}");
}

/// A run in which nothing crashed proves nothing.
#[test]
fn a_run_without_a_crash_does_not_pass() {
    let relay = TestRelay::start(Vec::new(), Lie::Honest);
    let rows = run("crash --seconds 0.2 --events 50 --silence-s 1", relay.url(), disk());
    let faults = faults(&rows);
    assert!(faults.iter().any(|fault| fault.starts_with("disconnects")), "{faults:?}");
}

/// The null server answers as the self-check needs it, and the ratio of both is reported.
#[test]
fn the_null_server_measures_the_generator() {
    let null = NullServer::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let null_url = null.url();
    // It serves until the test's process ends, as it does until the command is ended.
    std::thread::spawn(move || null.serve());
    let relay = TestRelay::start(Vec::new(), Lie::Honest);
    let line = format!(
        "self-check --null-url {null_url} --events 2000 --subscribers 5 --live-events 200 --silence-s 1"
    );
    let rows = run(&line, relay.url(), disk());
    assert_eq!(rows.len(), 2);
    for row in rows {
        let others = faults(std::slice::from_ref(&row));
        assert!(others.iter().all(|fault| fault.starts_with("ratio")), "{others:?}");
        assert!(row.figures["null_per_s"] > 0.0 && row.figures["ratio"] > 0.0);
    }
}
