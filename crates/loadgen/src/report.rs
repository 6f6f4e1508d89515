//! What a scenario reports: one JSON line for each row, whatever became of it.
//!
//! A row is one case of a scenario (`fanout-scaling` at N = 1,000; the query `thread`). It names what
//! was asked (`params`), what was measured (`figures`, `latencies`, `series`), and what came back
//! (`checks`, `results`). A row with a failed check is a row all the same, and says why.
//!
//! Names carry their unit last: `events_per_s`, `bytes_per_event`, `first_event_us`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One row: a line of JSON on standard output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The scenario's name, as on the command line: `fanout-scaling`.
    pub scenario: String,
    /// The row within the scenario: `n=1000`, `4x200 again`, `thread`. Unique within one run.
    pub case: String,
    /// The URL that was measured.
    pub target: String,
    /// Whether the figures may be used.
    pub status: Status,
    /// Why the scenario could not be finished. Present exactly when `status` is `error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was asked for: numbers of sockets, events, rates.
    #[serde(default)]
    pub params: BTreeMap<String, Value>,
    /// When the measured phase ran; preparation lies before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Single numbers, by name.
    #[serde(default)]
    pub figures: BTreeMap<String, f64>,
    /// Distributions of times, by name: `delivery`, `ok`, `eose`.
    #[serde(default)]
    pub latencies: BTreeMap<String, Latency>,
    /// Values over time, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<Point>>,
    /// Everything that was verified about what came back.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// What does not spoil the row and should be read beside it.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The ids that were received, for comparison between relays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<ResultIds>,
    /// What the load process itself spent in the measured phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Cost>,
    /// What the relay's process spent in the measured phase, when its process id is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<Cost>,
}

/// Whether a row's figures may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Everything came back as it must.
    #[default]
    Passed,
    /// The scenario ran to its end and a check failed: the relay's answer was wrong.
    Failed,
    /// The scenario could not run to its end.
    Error,
}

/// The measured phase, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The first measured request.
    pub from_unix_ms: u64,
    /// The last measured answer.
    pub to_unix_ms: u64,
}

/// A distribution of times, in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Samples.
    pub count: u64,
    /// The smallest.
    pub min_us: f64,
    /// The mean.
    pub mean_us: f64,
    /// Half of the samples are at most this.
    pub p50_us: f64,
    /// 90 %.
    pub p90_us: f64,
    /// 99 %.
    pub p99_us: f64,
    /// 99.9 %.
    pub p999_us: f64,
    /// The largest.
    pub max_us: f64,
    /// The curve for a plot: share of the samples (0 to 1) and the time they stay within.
    #[serde(default)]
    pub curve: Vec<Percentile>,
}

/// One point of a percentile curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// Share of the samples, 0 to 1.
    pub share: f64,
    /// The time that this share stays within.
    pub us: f64,
}

/// One value of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Seconds since the measured phase began.
    pub at_s: f64,
    /// The value, in the unit of the series' name.
    pub value: f64,
}

/// One thing that was verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What was verified: `deliveries`, `duplicates`, `eose`.
    pub name: String,
    /// What must be.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// Whether that is the same.
    pub passed: bool,
}

/// The ids that one question brought, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultIds {
    /// How many.
    pub count: u64,
    /// The first 16 hex digits of SHA-256 over the concatenated hex ids, sorted.
    pub fingerprint: String,
    /// The ids as hex, in order of arrival; left out above
    /// [`RESULT_IDS_MAX`](crate::limits::RESULT_IDS_MAX).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
}

/// What a process spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Processor time in user mode, in seconds.
    pub user_s: f64,
    /// Processor time in the kernel, in seconds.
    pub system_s: f64,
    /// Both, divided by the events (or deliveries) of the measured phase.
    pub cpu_us_per_event: f64,
    /// Resident memory at the end.
    pub rss_bytes: u64,
    /// The largest resident memory since the process began.
    pub rss_peak_bytes: u64,
    /// The part of the resident memory that is not pages of files: a store that is mapped into
    /// memory counts in the others and not here.
    #[serde(default)]
    pub anonymous_bytes: u64,
    /// Bytes given to the disk.
    pub written_bytes: u64,
    /// Context switches, voluntary and not.
    pub switches: u64,
}
