//! The memory of the relay's process over time, and how fast it grows.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::{AbortHandle, spawn_local};

use crate::cost::Reading;
use crate::report::Point;
use crate::row::Row;
use crate::target::Target;

/// The first part of the run, in which caches fill, does not count for the slope.
const WARM_SHARE: f64 = 0.25;

/// The relay's memory, once a second: all of it, and what is not pages of its store.
pub(crate) struct Memory {
    samples: Rc<RefCell<Samples>>,
    task: AbortHandle,
}

#[derive(Default)]
struct Samples {
    rss: Vec<Point>,
    anonymous: Vec<Point>,
}

impl Samples {
    fn push(&mut self, at_s: f64, reading: &Reading) {
        let point = |bytes: u64| Point { at_s, value: bytes as f64 };
        self.rss.push(point(reading.rss_bytes()));
        self.anonymous.push(point(reading.anonymous_bytes()));
    }
}

impl Memory {
    /// Looks once a second from here on, if the process is known.
    pub(crate) fn watch(target: &Target, begin: Instant) -> Self {
        let samples = Rc::new(RefCell::new(Samples::default()));
        let (pid, collected) = (target.pid, samples.clone());
        let task = spawn_local(async move {
            let mut seconds = tokio::time::interval(Duration::from_secs(1));
            while let Some(reading) = pid.and_then(Reading::of) {
                collected.borrow_mut().push(begin.elapsed().as_secs_f64(), &reading);
                seconds.tick().await;
            }
        });
        Self { samples, task: task.abort_handle() }
    }

    /// Adds the slopes of a run of so many seconds, and the values over time.
    pub(crate) fn report(&self, row: &mut Row, seconds: f64) {
        self.task.abort();
        let Samples { rss, anonymous } = self.samples.take();
        for (name, points) in [("rss", rss), ("anonymous", anonymous)] {
            let warm: Vec<_> =
                points.iter().filter(|point| point.at_s > WARM_SHARE * seconds).copied().collect();
            if let Some(slope) = slope(&warm) {
                row.figure(&format!("{name}_slope_bytes_per_s"), slope);
            }
            row.series(&format!("{name}_bytes"), points);
        }
    }
}

/// The slope of the line with the least squares.
fn slope(points: &[Point]) -> Option<f64> {
    let n = points.len() as f64;
    let mean = |value: fn(&Point) -> f64| points.iter().map(value).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.at_s), mean(|point| point.value));
    let (mut over, mut under) = (0.0, 0.0);
    for point in points {
        over += (point.at_s - x) * (point.value - y);
        under += (point.at_s - x).powi(2);
    }
    (under > 0.0).then(|| over / under)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_of_the_straight_line() {
        let line: Vec<_> = (0..10)
            .map(|n| Point { at_s: f64::from(n), value: 5.0 + 3.0 * f64::from(n) })
            .collect();
        assert!((slope(&line).unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(slope(&line[..1]), None);
        assert_eq!(slope(&[]), None);
    }
}
