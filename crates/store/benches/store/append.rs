//! Admission and commits as a relay does them: one thread each, batches of 1,000.

use std::path::Path;
use std::thread;
use std::time::Instant;

use zeolite_proto::{Timestamp, Verified};
use zeolite_store::{Admitter, Committer, Options, Outcome, PendingBatch, Store, open};

use crate::corpus::Corpus;
use crate::report::{Report, Target, cpu_time};

const BATCH_EVENTS: usize = 1_000;
/// Batches that wait for the committer at most.
const PENDING_MAX: usize = 8;
pub const NOW: Timestamp = Timestamp(2_000_000_000);

/// Appends the corpus to a new store, and opens it again.
pub fn run(report: &mut Report, corpus: &Corpus, dir: &Path, disk_bytes_max: f64) -> Store {
    let events = corpus.events.len() as f64;
    report.row("JSON", corpus.json_bytes as f64 / events, "B/event", Target::None);
    let (store, admitter, committer) = open(dir, Options::default()).unwrap();
    let (started, cpu) = (Instant::now(), cpu_time());
    let committer = append(corpus, admitter, committer);
    let seconds = started.elapsed().as_secs_f64();
    let cpu_us = (cpu_time() - cpu).as_secs_f64() * 1e6;
    report.row("append", events / seconds, "events/s", Target::AtLeast(80_000.0));
    report.row("append, CPU", cpu_us / events, "us/event", Target::AtMost(10.0));
    drop((store, committer));

    let started = Instant::now();
    let (store, admitter, mut committer) = open(dir, Options::default()).unwrap();
    let opened = started.elapsed().as_secs_f64();
    report.row("open, head as the append left it", opened, "s", Target::AtMost(2.0));
    let cpu = cpu_time();
    committer.flush_all().unwrap();
    let cpu_us = cpu_us + (cpu_time() - cpu).as_secs_f64() * 1e6;
    report.row("append and flush, CPU", cpu_us / events, "us/event", Target::AtMost(10.0));
    drop((store, admitter, committer));

    let started = Instant::now();
    let (store, ..) = open(dir, Options::default()).unwrap();
    let opened = started.elapsed().as_secs_f64();
    report.row("open, flushed", opened, "s", Target::AtMost(2.0));
    let stats = store.stats().unwrap();
    assert_eq!(stats.events, corpus.events.len() as u64);
    report.row("disk", stats.file_bytes_per_event(), "B/event", Target::AtMost(disk_bytes_max));
    for (name, table) in [("- log", "log"), ("- index", "index"), ("- timeline", "timeline")] {
        let table = stats.tables.iter().find(|stats| stats.name == table).unwrap();
        report.row(name, table.bytes as f64 / events, "B/event", Target::None);
    }
    report.row("- free", stats.free_bytes as f64 / events, "B/event", Target::None);
    store
}

fn append(corpus: &Corpus, mut admitter: Admitter, mut committer: Committer) -> Committer {
    let (sender, receiver) = crossbeam_channel::bounded::<PendingBatch>(PENDING_MAX);
    let commits = thread::spawn(move || {
        while let Ok(first) = receiver.recv() {
            let batches = std::iter::once(first).chain(receiver.try_iter()).collect();
            committer.commit(batches).unwrap();
        }
        committer
    });
    for batch in corpus.events.chunks(BATCH_EVENTS) {
        let batch: Vec<_> = batch.iter().cloned().map(Verified::trusted).collect();
        let admitted = admitter.admit(batch, NOW).unwrap();
        assert!(admitted.outcomes.iter().all(|outcome| matches!(outcome, Outcome::Stored(_))));
        sender.send(admitted.pending).unwrap();
    }
    drop(sender);
    commits.join().unwrap()
}
