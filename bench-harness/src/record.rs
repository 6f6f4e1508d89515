//! One line of `rows.jsonl`: what a driver reported, of which engine, and what the relay spent.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeolite_loadgen::report::{Report, Status};

use crate::sampler::Usage;

/// A row with its circumstances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Whom it is about.
    pub engine: Identity,
    /// The events that were used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corpus: Option<CorpusId>,
    /// Which repetition, from 0.
    pub round: u32,
    /// Which engine of its round, from 0: the first has a cold machine, the last a warm one.
    pub place: u32,
    /// What was measured.
    pub report: Report,
    /// What the relay's process spent in the measured window, seen from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The relay's last words, when something went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
}

/// A relay as it was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The engine file's name.
    pub name: String,
    /// What its version command said.
    pub version: String,
    /// What its OK promises.
    pub profile: String,
}

/// A corpus as its manifest names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusId {
    /// `classic-v1` or `network-v1`.
    pub shape: String,
    /// Events in it.
    pub events: u64,
    /// 16 hex digits over all ids.
    pub fingerprint: String,
}

impl Record {
    /// Whether its figures may be used.
    pub fn passed(&self) -> bool {
        self.report.status == Status::Passed
    }

    /// Why its figures may not be used.
    pub fn reason(&self) -> Option<String> {
        if self.passed() {
            return None;
        }
        let failed = self.report.checks.iter().filter(|check| !check.passed);
        let checks: Vec<String> = failed
            .map(|check| {
                format!("{}: expected {}, found {}", check.name, check.expected, check.found)
            })
            .collect();
        let error = self.report.error.clone().into_iter();
        let reasons: Vec<String> = error.chain(checks).collect();
        Some(if reasons.is_empty() { "no reason given".to_owned() } else { reasons.join("; ") })
    }

    /// The number at a path such as `latencies.ok.p50_us`, `figures.rounds`, `usage.cpu_s`.
    pub fn number(&self, path: &str) -> Option<f64> {
        let (head, rest) = path.split_once('.')?;
        let report = &self.report;
        match head {
            "figures" => report.figures.get(rest).copied(),
            "params" => report.params.get(rest).and_then(Value::as_f64),
            "usage" => self.usage.as_ref().and_then(|usage| member(usage, rest)),
            "relay" => report.relay.as_ref().and_then(|cost| member(cost, rest)),
            "load" => report.load.as_ref().and_then(|cost| member(cost, rest)),
            "latencies" => {
                let (name, field) = rest.rsplit_once('.')?;
                member(report.latencies.get(name)?, field)
            }
            _ => None,
        }
    }

    /// The text at a path, for parameters that are no numbers.
    pub fn text(&self, path: &str) -> Option<String> {
        let value = self.report.params.get(path.strip_prefix("params.")?)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    /// The paths of all numbers that were measured (not asked for).
    pub fn paths(&self) -> Vec<String> {
        let report = &self.report;
        let figures = report.figures.keys().map(|name| format!("figures.{name}"));
        let fields = ["mean_us", "p50_us", "p99_us", "p999_us"];
        let latencies = report.latencies.keys();
        let latencies =
            latencies.flat_map(|name| fields.map(|field| format!("latencies.{name}.{field}")));
        let relay = report.relay.iter().map(|_| "relay.cpu_us_per_event".to_owned());
        figures.chain(latencies).chain(relay).collect()
    }
}

fn member(value: &impl Serialize, name: &str) -> Option<f64> {
    serde_json::to_value(value).ok()?.get(name)?.as_f64()
}

#[cfg(test)]
mod tests {
    use zeolite_loadgen::report::{Check, Latency};

    use super::*;

    fn record() -> Record {
        let mut report = Report { scenario: "s".to_owned(), ..Report::default() };
        report.figures.insert("events_per_s".to_owned(), 7.0);
        report.params.insert("sockets".to_owned(), 100.into());
        report.params.insert("mode".to_owned(), "down".into());
        report.latencies.insert("ok".to_owned(), Latency { p50_us: 3.5, ..Latency::default() });
        Record {
            engine: Identity::default(),
            corpus: None,
            round: 0,
            place: 0,
            report,
            usage: Some(Usage { written_bytes: 9, ..Usage::default() }),
            stderr: None,
        }
    }

    #[test]
    fn numbers_are_found_by_path() {
        let record = record();
        let check = |path: &str, expected: Option<f64>| assert_eq!(record.number(path), expected);
        check("figures.events_per_s", Some(7.0));
        check("params.sockets", Some(100.0));
        check("params.mode", None);
        check("latencies.ok.p50_us", Some(3.5));
        check("latencies.none.p50_us", None);
        check("usage.written_bytes", Some(9.0));
        check("relay.cpu_us_per_event", None);
        assert_eq!(record.text("params.mode").as_deref(), Some("down"));
    }

    #[test]
    fn a_bad_row_has_a_reason() {
        let mut record = record();
        assert_eq!(record.reason(), None);
        record.report.status = Status::Failed;
        let check = |name: &str, passed| Check {
            name: name.to_owned(),
            expected: "2".to_owned(),
            found: "1".to_owned(),
            passed,
        };
        record.report.checks = vec![check("fine", true), check("events", false)];
        assert_eq!(record.reason().as_deref(), Some("events: expected 2, found 1"));
        record.report.error = Some("timed out".to_owned());
        assert_eq!(record.reason().as_deref(), Some("timed out; events: expected 2, found 1"));
    }
}
