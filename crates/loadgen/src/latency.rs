//! Times, counted in a histogram, and the mode that betrays Nagle's algorithm.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::report::{Latency, Percentile};

/// Collects times. Three significant digits from a nanosecond to an hour; what is longer counts as
/// an hour.
#[derive(Clone)]
pub struct Recorder {
    nanoseconds: Histogram<u64>,
}

const HOUR_NS: u64 = 3_600_000_000_000;

/// Where delayed acknowledgements show when a peer forgot `TCP_NODELAY`: the kernel's timer is
/// 40 ms.
const NAGLE_MS: (u64, u64) = (38, 46);

/// Samples below which a mode is chance.
const NAGLE_SAMPLES_MIN: u64 = 5;

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// An empty histogram.
    pub fn new() -> Self {
        let nanoseconds =
            Histogram::new_with_bounds(1, HOUR_NS, 3).expect("the bounds are valid constants");
        Self { nanoseconds }
    }

    /// Adds one time.
    pub fn record(&mut self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(HOUR_NS);
        self.nanoseconds.saturating_record(nanoseconds.clamp(1, HOUR_NS));
    }

    /// Samples so far.
    pub fn count(&self) -> u64 {
        self.nanoseconds.len()
    }

    /// The time that this share of the samples stays within, in microseconds.
    pub fn at_us(&self, share: f64) -> f64 {
        us(self.nanoseconds.value_at_quantile(share))
    }

    /// The figures of a report.
    pub fn summary(&self) -> Latency {
        if self.count() == 0 {
            return Latency::default();
        }
        Latency {
            count: self.count(),
            min_us: us(self.nanoseconds.min()),
            mean_us: (self.nanoseconds.mean() / 10.0).round() / 100.0,
            p50_us: self.at_us(0.5),
            p90_us: self.at_us(0.9),
            p99_us: self.at_us(0.99),
            p999_us: self.at_us(0.999),
            max_us: us(self.nanoseconds.max()),
            curve: self.curve(),
        }
    }

    /// Points that halve the distance to 100 %: every power of two twice.
    fn curve(&self) -> Vec<Percentile> {
        let values = self.nanoseconds.iter_quantiles(2);
        let points = values.map(|value| Percentile {
            share: value.quantile_iterated_to(),
            us: us(value.value_iterated_to()),
        });
        points.collect()
    }

    /// A warning if a flat mode stands where delayed acknowledgements put it: many samples in 38
    /// to 46 ms, and few on either side.
    pub fn nagle_warning(&self, name: &str) -> Option<String> {
        let between = |from_ms: u64, to_ms: u64| {
            self.nanoseconds.count_between(from_ms * 1_000_000, to_ms * 1_000_000 - 1)
        };
        let (from, to) = NAGLE_MS;
        let width = to - from;
        let mode = between(from, to);
        let beside = between(from - width, from) + between(to, to + width);
        let is_mode = mode >= NAGLE_SAMPLES_MIN && mode * 100 >= self.count() && mode > 4 * beside;
        is_mode.then(|| {
            format!(
                "{mode} of {} times of {name:?} lie in {from} to {to} ms and {beside} beside: \
                 somebody waits for delayed acknowledgements (Nagle)",
                self.count()
            )
        })
    }
}

fn us(nanoseconds: u64) -> f64 {
    (nanoseconds as f64 / 10.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder(times_us: impl IntoIterator<Item = u64>) -> Recorder {
        let mut recorder = Recorder::new();
        times_us.into_iter().for_each(|time| recorder.record(Duration::from_micros(time)));
        recorder
    }

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let summary = recorder(1..=10_000).summary();
        assert_eq!(summary.count, 10_000);
        for (found, expected) in [
            (summary.min_us, 1.0),
            (summary.mean_us, 5_000.5),
            (summary.p50_us, 5_000.0),
            (summary.p99_us, 9_900.0),
            (summary.p999_us, 9_990.0),
            (summary.max_us, 10_000.0),
        ] {
            assert!((found / expected - 1.0).abs() < 0.002, "{found} for {expected}");
        }
        assert!(summary.curve.len() > 20);
        assert!(summary.curve.is_sorted_by(|a, b| a.share <= b.share && a.us <= b.us));
    }

    /// A flat mode at 40 ms is named; a broad distribution that covers the place is not.
    #[test]
    fn a_mode_of_delayed_acknowledgements_is_named() {
        let stalls = (0..20).map(|n| 39_800 + 150 * n);
        let warned = recorder((0..900).map(|n| 200 + n).chain(stalls)).nagle_warning("ok");
        assert!(warned.is_some_and(|text| text.contains("20 of 920") && text.contains("Nagle")));
        for honest in [
            recorder((0..900).map(|n| 200 + n)),
            recorder((0..1_000).map(|n| 100 * n)),
            recorder((0..10_000).map(|n| 200 + n % 90).chain([40_000; 6])),
            recorder([41_000, 42_000, 43_000, 44_000]),
            recorder([]),
        ] {
            assert_eq!(honest.nagle_warning("ok"), None);
        }
    }
}
