//! Looks at a relay at intervals while something is measured, and says what it spent.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::proc_fs::{Look, is_running};

/// Between two looks. One look costs some 50 us of a core, so the sampler takes 0.05 % of it.
const INTERVAL: Duration = Duration::from_millis(100);

/// One look and its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Milliseconds since 1970.
    pub unix_ms: u64,
    /// What was seen.
    pub look: Look,
}

impl Sample {
    /// Looks at a process; one that has ended and was not waited for still shows its times.
    pub fn take(pid: u32) -> Option<Self> {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let look = Look::at(pid).ok()?;
        Some(Self { unix_ms: u64::try_from(unix.as_millis()).ok()?, look })
    }
}

/// What a process spent between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// Seconds between the moments.
    pub wall_s: f64,
    /// Processor time in user mode.
    pub user_s: f64,
    /// Processor time in the kernel.
    pub system_s: f64,
    /// The largest resident memory, with the pages of mapped files.
    pub rss_peak_bytes: u64,
    /// The largest resident memory that was seen without them.
    pub anonymous_peak_bytes: u64,
    /// Bytes given to the disk.
    pub written_bytes: u64,
    /// Context switches.
    pub switches: u64,
}

impl Usage {
    /// Between the first and the last sample of a window; `None` for fewer than two.
    pub fn between(samples: &[Sample], from_unix_ms: u64, to_unix_ms: u64) -> Option<Self> {
        // The look before the window and the one after it bound what happened inside.
        let first = samples.iter().rposition(|sample| sample.unix_ms <= from_unix_ms).unwrap_or(0);
        let last = samples.iter().position(|sample| sample.unix_ms >= to_unix_ms);
        let window = samples.get(first..=last.unwrap_or(samples.len().checked_sub(1)?))?;
        let (first, last) = (window.first()?, window.last()?);
        if window.len() < 2 {
            return None;
        }
        // Counters only grow, but a process that has just ended shows no memory, and threads that have
        // ended no switches.
        let most = |of: fn(&Look) -> u64| window.iter().map(|sample| of(&sample.look)).max();
        Some(Self {
            wall_s: (last.unix_ms - first.unix_ms) as f64 / 1e3,
            user_s: last.look.user_s - first.look.user_s,
            system_s: last.look.system_s - first.look.system_s,
            rss_peak_bytes: most(|look| look.rss_peak_bytes)?,
            anonymous_peak_bytes: most(|look| look.anonymous_bytes)?,
            written_bytes: most(|look| look.written_bytes)? - first.look.written_bytes,
            switches: most(|look| look.switches)? - first.look.switches,
        })
    }

    /// Over all samples.
    pub fn over(samples: &[Sample]) -> Option<Self> {
        Self::between(samples, samples.first()?.unix_ms, samples.last()?.unix_ms)
    }

    /// Processor time in all.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// A thread that looks at a process until it is stopped.
#[derive(Debug)]
pub struct Sampler {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<Vec<Sample>>>,
}

impl Sampler {
    /// Begins with a look at once. `each` is called after every look with the seconds since the
    /// first; `on_end` when the process ends before the sampler is stopped.
    pub fn start(
        pid: u32,
        mut each: impl FnMut(f64) + Send + 'static,
        on_end: impl FnOnce() + Send + 'static,
    ) -> Self {
        let (stop, wait) = channel();
        let thread = thread::spawn(move || {
            let start = Instant::now();
            let mut samples: Vec<Sample> = Sample::take(pid).into_iter().collect();
            each(0.0);
            while wait.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if !is_running(pid) {
                    on_end();
                    return samples;
                }
                samples.extend(Sample::take(pid));
                each(start.elapsed().as_secs_f64());
            }
            samples.extend(Sample::take(pid));
            samples
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }

    /// Takes a last look and gives all of them.
    pub fn stop(mut self) -> Vec<Sample> {
        self.stop.take();
        let thread = self.thread.take();
        thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // Nobody asks for the samples any more.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(unix_ms: u64, user_s: f64, anonymous_bytes: u64) -> Sample {
        Sample { unix_ms, look: Look { user_s, anonymous_bytes, ..Look::default() } }
    }

    #[test]
    fn a_window_is_bounded_by_the_looks_around_it() {
        let samples =
            [sample(0, 0.0, 9), sample(100, 1.0, 5), sample(200, 2.0, 7), sample(300, 9.0, 8)];
        let check = |from, to, expected: Option<(f64, f64, u64)>| {
            let usage = Usage::between(&samples, from, to);
            let found = usage.map(|u| (u.wall_s, u.user_s, u.anonymous_peak_bytes));
            assert_eq!(found, expected, "{from}..{to}");
        };
        check(120, 180, Some((0.1, 1.0, 7)));
        check(100, 200, Some((0.1, 1.0, 7)));
        check(0, 300, Some((0.3, 9.0, 9)));
        check(150, 900, Some((0.2, 8.0, 8)));
        check(400, 900, None);
        assert_eq!(Usage::over(&[]), None);
    }
}
