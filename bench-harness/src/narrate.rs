//! What the user sees while a run goes on: one line for each measurement and each row.
#![allow(clippy::print_stderr, reason = "progress is for the user at the terminal")]

use std::time::Duration;

use crate::record::Record;
use crate::spread::number;

/// A measurement begins.
pub fn begin(elapsed: Duration, round: u32, name: &str) {
    let seconds = elapsed.as_secs();
    eprintln!("[{:3}:{:02}] round {}, {name}", seconds / 60, seconds % 60, round + 1);
}

/// A row is there.
pub fn row(record: &Record) {
    let case = &record.report.case;
    match record.reason() {
        Some(reason) => eprintln!("         {case}: {reason}"),
        None => eprintln!("         {case}: {}", figures(record)),
    }
}

/// Anything else.
pub fn say(text: &str) {
    eprintln!("{text}");
}

fn figures(record: &Record) -> String {
    let report = &record.report;
    let figures = report.figures.iter().map(|(name, value)| {
        let digits = if value.abs() < 100.0 { 2 } else { 0 };
        format!("{name} {}", number(*value, digits))
    });
    let latencies = report.latencies.iter().map(|(name, latency)| {
        let ms = |us: f64| number(us / 1e3, 3);
        format!("{name} p50 {} p99 {} ms", ms(latency.p50_us), ms(latency.p99_us))
    });
    latencies.chain(figures).take(5).collect::<Vec<_>>().join(", ")
}
