//! Each scenario against honesty, and against every lie that touches it.

use std::time::Duration;

use crate::lie::Lie::{self, *};
use crate::relay::TestRelay;
use crate::support::{disk, faults, run};

const SCALING: &str = "fanout-scaling --subscribers 20 --events 60 --rate 600 --silence-s 1";
const BROADCAST: &str =
    "fanout-broadcast --subscribers 10 --events 40 --rate 400 --single-events 1 --silence-s 1";
const CHURN: &str =
    "fanout-churn --subscribers 10 --churners 2 --events 60 --rate 600 --silence-s 1";
const SLOW: &str = "fanout-slow --subscribers 10 --slow 2 --events 60 --rate 600 --content-bytes 999 --silence-s 1";
const INGEST: &str = "ingest --corpus {corpus} --shape 2x50 --silence-s 1";
const VISIBLE: &str = "visible --events 40 --silence-s 1";
const OPEN: &str = "open-loop --max-events 300 --percent 2 --seconds 0.3 --silence-s 1";
const PACED: &str = "open-loop --max-per-s 500 --percent 50 --seconds 0.3 --silence-s 1";
const QUERY: &str = "query --corpus {corpus} --seconds 0.01 --sockets 2 --silence-s 1";
const BULK: &str = "bulk-read --corpus {corpus} --mb-per-s 0,5 --silence-s 1";
const CONNECTIONS: &str = "connections --sockets 30 --idle-s 0.05 --silence-s 1";
const SOAK: &str = "soak --seconds 1 --rate 200 --subscribers 20 --silence-s 1";
const RECONCILE: &str = "reconcile --corpus {corpus} --repeats 1 --silence-s 1";
const CONVERGED: &str = "converged --corpus {corpus} --page 300 --silence-s 1";

/// Scenarios that ask a relay for the corpus need one that holds it.
fn start(line: &str, lie: Lie) -> TestRelay {
    let holds = [QUERY, BULK, RECONCILE, CONVERGED].iter().any(|asking| line.starts_with(asking));
    let events = if holds { disk().events.clone() } else { Vec::new() };
    TestRelay::start(events, lie)
}

#[track_caller]
fn honest(line: &str) {
    let relay = start(line, Honest);
    let faults = faults(&run(line, relay.url(), disk()));
    assert!(faults.is_empty(), "{line}: {faults:?}");
}

/// Each lie must make a check with this name fail, or be an error with `error`. They are told at the
/// same time: most of a run is waiting for what never comes.
#[track_caller]
fn caught(line: &str, lies: &[(Lie, &str)]) {
    let told = std::thread::scope(|scope| {
        let tell = |lie: Lie| {
            scope.spawn(move || {
                let relay = start(line, lie);
                faults(&run(line, relay.url(), disk()))
            })
        };
        let telling: Vec<_> = lies.iter().map(|(lie, _)| tell(*lie)).collect();
        telling.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for ((lie, expected), faults) in lies.iter().zip(told) {
        let is_caught = faults.iter().any(|fault| fault.starts_with(&format!("{expected}: ")));
        assert!(is_caught, "{line} with {lie:?}: expected {expected}, found {faults:?}");
    }
}

#[test]
fn fanout_scaling() {
    honest(SCALING);
    caught(
        SCALING,
        &[
            (Drop(20), "deliveries"),
            (Double(20), "doubled"),
            (WrongId(20), "stray"),
            (ToEveryone, "stray"),
            (Forget(20), "deliveries"),
            (Disconnect(20), "lost_sockets"),
            (WrongOk(20), "accepted"),
            (DoubleOk(20), "answered_twice"),
            (NoEose, "error"),
        ],
    );
}

#[test]
fn fanout_broadcast() {
    honest(BROADCAST);
    caught(
        BROADCAST,
        &[
            (Drop(20), "deliveries"),
            (Double(20), "doubled"),
            (WrongId(20), "stray"),
            (Forget(20), "deliveries"),
            (Disconnect(20), "error"),
            (WrongOk(20), "stray_answers"),
        ],
    );
}

#[test]
fn fanout_churn() {
    honest(CHURN);
    caught(
        CHURN,
        &[
            (Drop(20), "deliveries"),
            (Double(20), "doubled"),
            (ToEveryone, "churn_stray"),
            (NoEose, "error"),
        ],
    );
}

#[test]
fn fanout_slow() {
    honest(SLOW);
    caught(
        SLOW,
        &[
            (Drop(20), "slow_with_a_gap"),
            (Double(20), "slow_doubled"),
            (WrongId(20), "slow_stray"),
            (Disconnect(20), "slow_with_a_gap"),
            (Forget(20), "slow_with_a_gap"),
        ],
    );
}

#[test]
fn ingest() {
    honest(INGEST);
    caught(
        INGEST,
        &[
            (Forget(20), "accepted_and_missing"),
            (WrongOk(20), "answered"),
            (DoubleOk(20), "answered_twice"),
            (Drop(100), "accepted_and_missing"),
            (CutAt(50), "accepted_and_missing"),
            (WrongId(100), "accepted_and_missing"),
            (EarlyEose, "accepted_and_missing"),
            (NoEose, "error"),
        ],
    );
}

#[test]
fn visible() {
    honest(VISIBLE);
    caught(
        VISIBLE,
        &[
            (Forget(20), "error"),
            (Double(3), "wrong_answers"),
            (WrongId(3), "wrong_answers"),
            (NoEose, "error"),
            (Disconnect(20), "error"),
        ],
    );
}

#[test]
fn open_loop() {
    honest(OPEN);
    caught(
        PACED,
        &[
            (Drop(20), "deliveries"),
            (Double(20), "doubled"),
            (WrongId(20), "stray"),
            (Forget(20), "deliveries"),
            (WrongOk(20), "accepted"),
            (DoubleOk(20), "answered_twice"),
            (Disconnect(20), "lost_sockets"),
        ],
    );
}

#[test]
fn query() {
    honest(QUERY);
    caught(
        QUERY,
        &[
            (Drop(100), "missing"),
            (Double(100), "doubled"),
            (EarlyEose, "events"),
            (CutAt(500), "missing"),
            (WrongId(100), "wrong_events"),
            (OldestFirst, "out_of_order"),
            (WrongCount, "count"),
        ],
    );
}

/// One question is enough for lies that end it.
#[test]
fn query_that_never_ends() {
    caught(&format!("{QUERY} --only small"), &[(NoEose, "error"), (Disconnect(15), "error")]);
    caught(&format!("{QUERY} --only deep-paging"), &[(Drop(100), "missing")]);
}

#[test]
fn bulk_read() {
    honest(BULK);
    caught(
        BULK,
        &[
            (Drop(1000), "missing"),
            (Double(1000), "doubled"),
            (EarlyEose, "missing"),
            (CutAt(500), "missing"),
            (WrongId(1000), "extra"),
            (NoEose, "end"),
            (Disconnect(1000), "end"),
        ],
    );
}

#[test]
fn connections() {
    honest(CONNECTIONS);
    caught(
        CONNECTIONS,
        &[(Drop(50), "deliveries"), (Disconnect(100), "lost_sockets"), (NoEose, "error")],
    );
}

#[test]
fn soak() {
    honest(SOAK);
    caught(SOAK, &[(Drop(20), "deliveries"), (Double(20), "doubled"), (WrongOk(20), "accepted")]);
}

#[test]
fn reconcile() {
    honest(RECONCILE);
    caught(RECONCILE, &[(HideFromSets(1000), "need_missing"), (HideFromSets(1000), "have_extra")]);
}

#[test]
fn converged() {
    honest(CONVERGED);
    caught(
        CONVERGED,
        &[
            (Drop(1000), "missing"),
            (Double(1000), "doubled_in_a_page"),
            (WrongId(1000), "extra"),
            (NoEose, "error"),
            (Disconnect(1000), "error"),
        ],
    );
}

/// Delayed acknowledgements do not make an answer wrong: the row passes, with a warning. A busy
/// machine adds delays of its own, which blur the mode; one undisturbed run must show it.
#[test]
fn late_answers_are_a_warning() {
    for line in ["ingest --corpus {corpus} --shape 1x1 --events 12 --once", "visible --events 12"] {
        let warns = || {
            let relay = start(line, LateOk(Duration::from_millis(40)));
            let rows = run(line, relay.url(), disk());
            assert!(faults(&rows).is_empty(), "{line}");
            rows[0].warnings.iter().any(|warning| warning.contains("Nagle"))
        };
        assert!((0..5).any(|_| warns()), "{line}");
    }
}
