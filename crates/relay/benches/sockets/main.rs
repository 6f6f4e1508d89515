//! A relay over real sockets, with the durable profile: the live feed's latency, ingest, small
//! queries, idle connections, and readers of a large answer at any speed.
//!
//! The relay runs in a process of its own; the clients are blocking and as thin as can be. Every
//! scenario checks what it received; without a NAME all of them run.
//!
//! `cargo bench -p zeolite-relay --bench sockets [-- [--short] NAME..]`

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark reports, and may panic")]

mod broadcast;
mod bulk;
mod client;
mod feed;
mod idle;
mod ingest;
mod query;
mod server;

use hdrhistogram::Histogram;

/// `created_at` of the first event of every scenario.
const CREATED_AT: u64 = 1_700_000_000;

type Scenario = (&'static str, fn(bool));

const SCENARIOS: [Scenario; 6] = [
    ("feed", feed::run),
    ("broadcast", broadcast::run),
    ("ingest", ingest::run),
    ("query", query::run),
    ("idle", idle::run),
    ("bulk", bulk::run),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if server::is_asked_for(&args) {
        return server::serve(&args);
    }
    let short = args.iter().any(|arg| arg == "--short");
    let named: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    for (name, run) in SCENARIOS {
        if named.is_empty() || named.iter().any(|wanted| *wanted == name) {
            println!("\n{name}");
            run(short);
        }
    }
}

/// Nanoseconds of many operations.
struct Times(Histogram<u64>);

impl Times {
    fn new() -> Self {
        Self(Histogram::new(3).unwrap())
    }

    fn add(&mut self, time: std::time::Duration) {
        self.0.record(u64::try_from(time.as_nanos()).unwrap()).unwrap();
    }

    fn ms(&self, quantile: f64) -> f64 {
        self.0.value_at_quantile(quantile) as f64 / 1e6
    }

    /// Median, 99th percentile and maximum in milliseconds.
    fn row(&self) -> String {
        format!("{:7.3} {:7.3} {:8.3}", self.ms(0.5), self.ms(0.99), self.ms(1.0))
    }
}

/// The heads of the columns of [`Times::row`].
const COLUMNS: &str = "    p50     p99      max";
