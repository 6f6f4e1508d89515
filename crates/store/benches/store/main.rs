//! The store's targets, measured: `cargo bench -p zeolite-store` with a million events, with
//! `-- --short` fifty thousand, with `-- --events N` as many as wanted; `--reconcile` ends behind
//! reconciliation. Everything that comes back is compared with the corpus.
#![allow(clippy::print_stdout, reason = "a benchmark reports")]
#![allow(clippy::unwrap_used, reason = "a benchmark may stop at the first surprise")]
#![allow(unreachable_pub, reason = "modules of a program")]

mod append;
mod corpus;
mod expected;
mod initiators;
mod read;
mod reconcile;
mod report;

use report::Report;

fn main() {
    let args: Vec<_> = std::env::args().collect();
    let wanted = args.iter().position(|arg| arg == "--events").map(|at| args[at + 1].parse());
    let is_short = args.iter().any(|arg| arg == "--short");
    let events = wanted.map_or(if is_short { 50_000 } else { 1_000_000 }, Result::unwrap);
    let mut report = Report::new(events);
    let dir = tempfile::tempdir().unwrap();

    let corpus = corpus::generate(events, SMALL_CONTENT_CHARS);
    let store = append::run(&mut report, &corpus, dir.path(), 1_000.0);
    reconcile::run(&mut report, &corpus, &store);
    if args.iter().any(|arg| arg == "--reconcile") {
        return report.finish();
    }
    read::run(&mut report, &corpus, &store);
    drop((store, corpus));

    let corpus = corpus::generate(events / 5, LARGE_CONTENT_CHARS);
    let dir = tempfile::tempdir().unwrap();
    append::run(&mut report, &corpus, dir.path(), 1_400.0);
    report.finish();
}

/// Makes events of about 700 bytes of JSON on average.
const SMALL_CONTENT_CHARS: usize = 400;
/// Makes events of about 1.1 kB of JSON on average.
const LARGE_CONTENT_CHARS: usize = 1_110;
