//! A child process writes until it is killed; whatever it acknowledged must be there afterwards.
//!
//! The child is this very program, told by its environment to run [`child_writer`].

mod world;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use serde_json::Value;
use world::{archived_in, sets::assert_sets, sorted_ids, verified};
use zeolite_proto::{Kind, Timestamp};
use zeolite_store::{Durability, Options, open};
use zeolite_testkit::{Factory, OracleStore, TestRng, Universe, run_seeds};

const CHILD_DIR: &str = "ZEOLITE_CRASH_DIR";
const CHILD_SEED: &str = "ZEOLITE_CRASH_SEED";
const CHILD_START: &str = "ZEOLITE_CRASH_START";
/// Batches that the child may have committed without having said so.
const UNSAID_MAX: usize = 4;
const NOW: u64 = 1_700_000_004;

/// What the child writes: the same batches for the same seed, in parent and child.
struct Workload {
    rng: TestRng,
    universe: Universe,
}

impl Workload {
    fn new(seed: u64) -> Self {
        let universe = Universe::new(Factory::unsigned(seed));
        Self { rng: TestRng::seed_from_u64(seed), universe }
    }

    fn next(&mut self) -> Vec<Value> {
        let count = self.rng.random_range(1..8);
        let mut batch: Vec<_> = (0..count).map(|_| self.universe.event(&mut self.rng)).collect();
        batch.retain(|event| !(20_000..30_000).contains(&event["kind"].as_u64().expect("a kind")));
        batch
    }
}

fn options(seed: u64) -> Options {
    Options {
        head_events_max: [4, 64, 1 << 18][usize::try_from(seed % 3).expect("small")],
        flush_keys_min: 1 + usize::try_from(seed % 50).expect("small"),
        purge_events_min: 1,
        durability: [Durability::Durable, Durability::Relaxed, Durability::Fast]
            [usize::try_from(seed / 3 % 3).expect("small")],
        map_bytes: 1 << 30,
        own_urls: vec![Universe::OWN_URL.to_owned()],
        bucket_items: [1, 3, 256][usize::try_from(seed / 9 % 3).expect("small")],
        gated_kinds: vec![Kind(0), Kind(1_059)],
        archive: true,
        ..Options::default()
    }
}

fn var<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

/// Not a test of its own: the process that is killed. It does nothing when it is run as a test.
#[test]
fn child_writer() {
    let (Some(dir), Some(seed)) = (var::<std::path::PathBuf>(CHILD_DIR), var(CHILD_SEED)) else {
        return;
    };
    let start = var(CHILD_START).expect("the parent says where to start");
    let (_store, mut admitter, mut committer) = open(&dir, options(seed)).expect("a store");
    let mut workload = Workload::new(seed);
    (0..start).for_each(|_| drop(workload.next()));
    let mut said = start;
    let mut out = std::io::stdout().lock();
    loop {
        let mut pending = Vec::new();
        for _ in 0..1 + said % UNSAID_MAX {
            let batch = workload.next().iter().map(verified).collect();
            pending.push(admitter.admit(batch, Timestamp(NOW)).expect("admission").pending);
        }
        said += pending.len();
        committer.commit(pending).expect("a commit");
        writeln!(out, "\nacknowledged {said}").expect("the parent listens");
        out.flush().expect("the parent listens");
    }
}

fn start_child(dir: &Path, seed: u64, start: usize) -> Child {
    Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["child_writer", "--exact", "--nocapture"])
        .env(CHILD_DIR, dir)
        .env(CHILD_SEED, seed.to_string())
        .env(CHILD_START, start.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child process")
}

/// Lets the child acknowledge a few batches, kills it, and says how many it acknowledged.
fn kill_after(mut child: Child, start: usize, batches: usize, grace: Duration) -> usize {
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut said = start;
    let mut take = |line: Option<std::io::Result<String>>| {
        let line = line.map(|line| line.expect("text"));
        let number = line.as_ref().and_then(|line| line.strip_prefix("acknowledged "));
        said = number.map_or(said, |number| number.parse().expect("a number"));
        (said, line.is_some())
    };
    while take(lines.next()).0 < start + batches {}
    // At any moment of the next commit, not only at its beginning.
    let until = Instant::now() + grace;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    child.kill().expect("the child runs");
    while take(lines.next()).1 {}
    child.wait().expect("the child is gone");
    said
}

/// E-36, case 61: after a kill at any moment the store opens, is consistent, and shows exactly
/// the effect of all acknowledged batches and perhaps of a few more. Its sums are those of what it
/// shows.
#[test]
fn what_was_acknowledged_survives_a_kill() {
    run_seeds("what_was_acknowledged_survives_a_kill", 6, |rng| {
        let seed = rng.random_range(0..1_000_000);
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut workload = Workload::new(seed);
        let mut oracle = OracleStore::new(&[Universe::OWN_URL]);
        let mut start = 0;
        for _ in 0..6 {
            let child = start_child(dir.path(), seed, start);
            let (batches, grace) = (rng.random_range(1..60), rng.random_range(0..3_000));
            let said = kill_after(child, start, batches, Duration::from_micros(grace));
            let mut publish = |oracle: &mut OracleStore| {
                for event in workload.next() {
                    oracle.publish(&event, NOW);
                }
            };
            (start..said).for_each(|_| publish(&mut oracle));
            let found = check_after_kill(dir.path(), seed);
            let mut committed = said;
            while (oracle.effective_set(NOW), oracle.archived()) != found {
                assert!(committed < said + UNSAID_MAX, "{said} batches acknowledged");
                publish(&mut oracle);
                committed += 1;
            }
            start =
                catch_up(dir.path(), seed, committed, said + UNSAID_MAX, &mut publish, &mut oracle);
        }
    });
}

/// Batches without a visible effect leave open how many were committed: admits the ones that may
/// be missing, which changes nothing if they are not.
fn catch_up(
    dir: &Path,
    seed: u64,
    from: usize,
    to: usize,
    publish: &mut impl FnMut(&mut OracleStore),
    oracle: &mut OracleStore,
) -> usize {
    let (_store, mut admitter, mut committer) = open(dir, options(seed)).expect("a store");
    let mut workload = Workload::new(seed);
    (0..from).for_each(|_| drop(workload.next()));
    for _ in from..to {
        let batch = workload.next().iter().map(verified).collect();
        let admitted = admitter.admit(batch, Timestamp(NOW)).expect("admission");
        committer.commit(vec![admitted.pending]).expect("a commit");
        publish(oracle);
    }
    to
}

/// Opens the store as the next process would, checks it and gives what it shows, and its archive.
fn check_after_kill(dir: &Path, seed: u64) -> (Vec<String>, Vec<String>) {
    let (store, _admitter, _committer) = open(dir, options(seed)).expect("a killed store opens");
    let report = store.check(&mut |_| {}).expect("a check");
    assert!(report.is_clean(), "{report:?}");
    assert!(store.recovery().damaged.is_empty());
    assert_sets(&store, NOW, &mut TestRng::seed_from_u64(seed));
    (world::all_of(&store, NOW), sorted_ids(archived_in(&store)))
}
