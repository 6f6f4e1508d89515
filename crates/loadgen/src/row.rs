//! A report in the making.

use std::fmt::Display;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use zeolite_proto::EventId;

use crate::cost::Reading;
use crate::latency::Recorder;
use crate::report::{Check, Point, Report, Status, Window};
use crate::result_ids::result_ids;
use crate::target::Target;

/// One row of a scenario, filled by its driver.
pub struct Row {
    report: Report,
    pid: Option<u32>,
    measured: Option<Measured>,
}

struct Measured {
    at: Instant,
    unix_ms: u64,
    load: Option<Reading>,
    relay: Option<Reading>,
}

impl Row {
    /// An empty row.
    pub fn new(scenario: &str, case: impl Into<String>, target: &Target) -> Self {
        let report = Report {
            scenario: scenario.into(),
            case: case.into(),
            target: target.url.clone(),
            ..Report::default()
        };
        Self { report, pid: target.pid, measured: None }
    }

    /// Notes what was asked for.
    pub fn param(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        self.report.params.insert(name.into(), value.into());
        self
    }

    /// The measured phase begins.
    pub fn begin(&mut self) -> Instant {
        let load = Reading::own();
        let relay = self.pid.and_then(Reading::of);
        let at = Instant::now();
        self.measured = Some(Measured { at, unix_ms: unix_ms(), load, relay });
        at
    }

    /// The measured phase is over; it handled this many events. Gives its seconds.
    pub fn end(&mut self, events: u64) -> f64 {
        let Some(begun) = self.measured.take() else { return 0.0 };
        let elapsed_s = begun.at.elapsed().as_secs_f64();
        let spent =
            |before: Option<Reading>, after: Option<Reading>| Some(after?.since(&before?, events));
        self.report.relay = spent(begun.relay, self.pid.and_then(Reading::of));
        self.report.load = spent(begun.load, Reading::own());
        self.report.window = Some(Window { from_unix_ms: begun.unix_ms, to_unix_ms: unix_ms() });
        self.figure("elapsed_s", elapsed_s);
        elapsed_s
    }

    /// Processor seconds that the relay spent in the measured phase, if its process is known.
    pub fn relay_cpu_s(&self) -> Option<f64> {
        self.report.relay.map(|cost| cost.user_s + cost.system_s)
    }

    /// Adds a number.
    pub fn figure(&mut self, name: &str, value: f64) -> &mut Self {
        self.report.figures.insert(name.into(), value);
        self
    }

    /// Adds a distribution, and a warning if it shows delayed acknowledgements.
    pub fn latency(&mut self, name: &str, times: &Recorder) -> &mut Self {
        self.report.warnings.extend(times.nagle_warning(name));
        self.report.latencies.insert(name.into(), times.summary());
        self
    }

    /// Adds values over time.
    pub fn series(&mut self, name: &str, points: Vec<Point>) -> &mut Self {
        self.report.series.insert(name.into(), points);
        self
    }

    /// Adds the ids that were received.
    pub fn results(&mut self, ids: &[EventId]) -> &mut Self {
        self.report.results = Some(result_ids(ids));
        self
    }

    /// Verifies that what was found is what must be.
    pub fn check<T: Display + PartialEq>(
        &mut self,
        name: &str,
        expected: T,
        found: T,
    ) -> &mut Self {
        let passed = expected == found;
        self.report.checks.push(Check {
            name: name.into(),
            expected: expected.to_string(),
            found: found.to_string(),
            passed,
        });
        self
    }

    /// Verifies something that is not an equality; `found` says what is.
    pub fn require(
        &mut self,
        name: &str,
        expected: &str,
        found: impl Display,
        passed: bool,
    ) -> &mut Self {
        self.report.checks.push(Check {
            name: name.into(),
            expected: expected.into(),
            found: found.to_string(),
            passed,
        });
        self
    }

    /// Adds a warning.
    pub fn warn(&mut self, text: impl Into<String>) -> &mut Self {
        self.report.warnings.push(text.into());
        self
    }

    /// The row: passed if every check did. A row without checks proves nothing and fails.
    pub fn finish(mut self) -> Report {
        let checks = &self.report.checks;
        let passed = !checks.is_empty() && checks.iter().all(|check| check.passed);
        self.report.status = if passed { Status::Passed } else { Status::Failed };
        self.report
    }

    /// The row of a scenario that could not go on.
    pub fn fail(mut self, error: impl Display) -> Report {
        self.report.status = Status::Error;
        self.report.error = Some(error.to_string());
        self.report
    }

    /// [`Self::finish`] or [`Self::fail`].
    pub fn close<E: Display>(self, outcome: Result<(), E>) -> Report {
        match outcome {
            Ok(()) => self.finish(),
            Err(error) => self.fail(error),
        }
    }
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
