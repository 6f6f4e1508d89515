//! The table.

use std::time::{Duration, Instant};

pub struct Report {
    missed: Vec<&'static str>,
}

pub enum Target {
    AtMost(f64),
    AtLeast(f64),
    None,
}

impl Report {
    pub fn new(events: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        println!("{events} events, durable profile, {cores} cores");
        println!("{:<44} {:>14} {:>18}", "measure", "value", "target");
        Self { missed: Vec::new() }
    }

    pub fn row(&mut self, name: &'static str, value: f64, unit: &str, target: Target) {
        let (text, is_met) = match target {
            Target::AtMost(max) => (format!("<= {max}"), value <= max),
            Target::AtLeast(min) => (format!(">= {min}"), value >= min),
            Target::None => (String::new(), true),
        };
        let verdict = if is_met { "" } else { "  MISSED" };
        println!("{name:<44} {:>14} {text:>18}{verdict}", format!("{value:.2} {unit}"));
        if !is_met {
            self.missed.push(name);
        }
    }

    pub fn finish(self) {
        if self.missed.is_empty() {
            println!("all targets met");
        } else {
            println!("missed: {}", self.missed.join(", "));
        }
    }
}

/// The median time of `runs` calls, in microseconds.
pub fn median_us(runs: usize, mut call: impl FnMut(usize)) -> f64 {
    let mut times: Vec<_> = (0..runs)
        .map(|run| {
            let started = Instant::now();
            call(run);
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[runs / 2].as_secs_f64() * 1e6
}

/// CPU time of this process so far, in ticks of 10 ms.
pub fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The second field is the program's name, which may hold spaces.
    let fields: Vec<_> = stat[stat.rfind(')').unwrap() + 2..].split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// CPU time of this thread so far.
#[allow(unsafe_code, reason = "the clock of a thread is read by a system call")]
pub fn thread_cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec of ours.
    let done = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(done, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
