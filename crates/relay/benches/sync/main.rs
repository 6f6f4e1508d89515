//! Mirroring between two processes on this machine: a relay that holds everything, and
//! `zeolite-mirror` into an empty directory, by NIP-77 and page by page; again with nothing to do;
//! with one event in a hundred missing at random; and up into an empty relay.
//!
//! `cargo bench -p zeolite-relay --bench sync [-- --short] [-- --events N] [-- --corpus FILE]`

#![allow(clippy::print_stdout, reason = "a benchmark reports")]

mod corpus;
mod process;

use std::path::Path;

use serde_json::Value;

use crate::process::{Mirrored, Source, import, mirror};

const EVENTS: u64 = 200_000;
const EVENTS_SHORT: u64 = 5_000;

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    let after = |flag: &str| arguments.iter().skip_while(|a| *a != flag).nth(1);
    let is_short = arguments.iter().any(|argument| argument == "--short");
    let default = if is_short { EVENTS_SHORT } else { EVENTS };
    let events = after("--events").map_or(default, |text| text.parse().expect("--events N"));

    let dir = tempfile::tempdir().expect("a directory can be made");
    let most = dir.path().join("most.ndjson");
    let rest = dir.path().join("rest.ndjson");
    match after("--corpus") {
        Some(file) => corpus::split(Path::new(file), events, &most, &rest),
        None => corpus::write(events, &most, &rest),
    }
    let db = dir.path().join("source");
    let held = import(&db, &most);
    println!("{held} events at the source; durable; two processes on one machine\n");
    println!(
        "| what | synced / offered | s | events/s | rounds | mirror us/event | relay us/event \
         | mirror MB | relay MB |\n|---|---|---|---|---|---|---|---|---|"
    );
    let source = Source::start(&db);
    let sink = dir.path().join("sink");
    report("negentropy", held, &mirror(&source, &sink, &["--mode", "negentropy"]));
    report("negentropy, nothing to do", 0, &mirror(&source, &sink, &["--mode", "negentropy"]));
    let more = source.import(&rest);
    report("negentropy, 1 % missing", more, &mirror(&source, &sink, &["--mode", "negentropy"]));
    let paged = dir.path().join("paged");
    report("req", held + more, &mirror(&source, &paged, &["--mode", "req"]));
    let trusting = dir.path().join("trusting");
    report("negentropy, trusted", held + more, &mirror(&source, &trusting, &["--trust"]));
    drop(source);
    let empty = Source::start(&dir.path().join("empty"));
    report("up", held + more, &mirror(&empty, &sink, &["--dir", "up"]));
}

/// One row; it fails unless everything was moved.
fn report(what: &str, offered: u64, mirrored: &Mirrored) {
    let summary = &mirrored.summary;
    let count = |name: &str| summary[name].as_u64().unwrap_or(0);
    let synced = count("stored") + count("accepted");
    assert_eq!(synced, offered, "{what}: {summary}");
    let seconds = summary["seconds"].as_f64().expect("a summary has its seconds");
    let rate = synced as f64 / seconds;
    let per_event = |cpu_s: f64| cpu_s * 1e6 / synced.max(1) as f64;
    let (mirror_us, relay_us) = (per_event(mirrored.cpu_s), per_event(mirrored.source_cpu_s));
    let per_event = |us: f64| if synced == 0 { "-".to_owned() } else { format!("{us:.1}") };
    println!(
        "| {what} | {synced} / {offered} | {seconds:.3} | {rate:.0} | {} | {} | {} | {} | {} |",
        summary.get("rounds").unwrap_or(&Value::Null),
        per_event(mirror_us),
        per_event(relay_us),
        mirrored.rss_bytes_max >> 20,
        mirrored.source_rss_bytes_max >> 20,
    );
}
