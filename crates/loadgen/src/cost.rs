//! What a process has spent, from `/proc`.

use std::fs;

use crate::report::Cost;

/// The clock ticks of `/proc/PID/stat`: part of Linux' interface, the same on every machine.
const TICKS_PER_S: f64 = 100.0;

/// What two readings in ticks, of user and system time each, may be wrong by.
const TICK_ERROR_S: f64 = 0.04;

/// A reading of the counters of one process.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    user_s: f64,
    system_s: f64,
    /// Time on a processor, to the nanosecond; of the threads that live.
    running_s: f64,
    rss_bytes: u64,
    rss_peak_bytes: u64,
    anonymous_bytes: u64,
    written_bytes: u64,
    switches: u64,
}

impl Reading {
    /// Reads this process.
    pub fn own() -> Option<Self> {
        Self::of(std::process::id())
    }

    /// Reads a process of the same user. `None` if it is gone or another's.
    pub fn of(pid: u32) -> Option<Self> {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}"));
        let stat = read("stat").ok()?;
        // The name of the program, in brackets, may hold spaces.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
        let mut ticks = || fields.next()?.parse::<f64>().ok();
        let (user, system) = (ticks()?, ticks()?);
        let status = read("status").ok()?;
        let io = read("io").unwrap_or_default();
        Some(Self {
            user_s: user / TICKS_PER_S,
            system_s: system / TICKS_PER_S,
            running_s: running_s(pid),
            rss_bytes: 1024 * line(&status, "VmRSS:"),
            rss_peak_bytes: 1024 * line(&status, "VmHWM:"),
            anonymous_bytes: 1024 * line(&status, "RssAnon:"),
            written_bytes: line(&io, "write_bytes:"),
            switches: switches(pid),
        })
    }

    /// Resident memory, in bytes.
    pub fn rss_bytes(&self) -> u64 {
        self.rss_bytes
    }

    /// Resident memory that is not pages of files, in bytes.
    pub fn anonymous_bytes(&self) -> u64 {
        self.anonymous_bytes
    }

    /// What was spent since `earlier`, over this many events.
    pub fn since(&self, earlier: &Self, events: u64) -> Cost {
        let user_s = self.user_s - earlier.user_s;
        let system_s = self.system_s - earlier.system_s;
        let (ticked_s, precise_s) = (user_s + system_s, self.running_s - earlier.running_s);
        // Threads that ended take their precise counters with them; the ticks stay.
        let is_whole = ticked_s - precise_s < TICK_ERROR_S;
        let cpu_s = if is_whole { precise_s } else { ticked_s };
        Cost {
            user_s,
            system_s,
            cpu_us_per_event: if events == 0 { 0.0 } else { 1e6 * cpu_s / events as f64 },
            rss_bytes: self.rss_bytes,
            rss_peak_bytes: self.rss_peak_bytes,
            anonymous_bytes: self.anonymous_bytes,
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
            switches: self.switches.saturating_sub(earlier.switches),
        }
    }
}

/// The number in the line that begins with `name`.
fn line(text: &str, name: &str) -> u64 {
    let found = text.lines().find_map(|line| line.strip_prefix(name));
    found.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn running_s(pid: u32) -> f64 {
    let nanoseconds =
        threads(pid, "schedstat").filter_map(|stat| stat.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.sum::<f64>() / 1e9
}

fn switches(pid: u32) -> u64 {
    let counts = threads(pid, "status").map(|status| {
        line(&status, "voluntary_ctxt_switches:") + line(&status, "nonvoluntary_ctxt_switches:")
    });
    counts.sum()
}

/// The file of this name of every thread.
fn threads(pid: u32, name: &str) -> impl Iterator<Item = String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(move |task| fs::read_to_string(task.path().join(name)).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Work shows as processor time, also work of less than a clock tick.
    #[test]
    fn work_is_counted() {
        let before = Reading::own().expect("this process exists");
        let begin = Instant::now();
        let mut sum = 0_u64;
        while begin.elapsed() < Duration::from_millis(30) {
            sum = std::hint::black_box(sum.wrapping_mul(31) + 1);
        }
        let cost = Reading::own().expect("this process exists").since(&before, 1_000);
        assert!(cost.cpu_us_per_event > 2.0, "{cost:?}");
        assert!(cost.rss_bytes > 100_000 && cost.rss_peak_bytes >= cost.rss_bytes, "{cost:?}");
    }

    #[test]
    fn a_process_that_is_gone_has_no_reading() {
        assert!(Reading::of(u32::MAX).is_none());
    }
}
