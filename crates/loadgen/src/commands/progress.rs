//! How far a long command has come.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Short commands say nothing.
const QUIET: Duration = Duration::from_secs(2);
/// Time between two reports to a person, and to a file.
const TERMINAL_TICK: Duration = Duration::from_millis(250);
const FILE_TICK: Duration = Duration::from_secs(10);

/// Reports to standard error.
pub(crate) struct Progress {
    verb: &'static str,
    total: Option<u64>,
    start: Instant,
    next: Instant,
    is_terminal: bool,
    has_reported: bool,
}

impl Progress {
    /// For so many events, if that is known.
    pub(crate) fn new(verb: &'static str, total: Option<u64>) -> Self {
        let start = Instant::now();
        let is_terminal = std::io::stderr().is_terminal();
        Self { verb, total, start, next: start + QUIET, is_terminal, has_reported: false }
    }

    /// So many events are done.
    #[allow(clippy::print_stderr, reason = "the program's own report")]
    pub(crate) fn report(&mut self, done: u64) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        self.next = now + if self.is_terminal { TERMINAL_TICK } else { FILE_TICK };
        self.has_reported = true;
        let line = line(self.verb, done, self.total, now - self.start);
        if self.is_terminal {
            eprint!("\r{line}\u{1b}[K");
        } else {
            eprintln!("{line}");
        }
    }
}

impl Drop for Progress {
    #[allow(clippy::print_stderr, reason = "ends the line of the report")]
    fn drop(&mut self) {
        if self.is_terminal && self.has_reported {
            eprintln!();
        }
    }
}

fn line(verb: &str, done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let rate = done as f64 / elapsed.as_secs_f64().max(0.001);
    match total {
        Some(total) => {
            let left = total.saturating_sub(done) as f64 / rate.max(1.0);
            let per_cent = 100 * done / total.max(1);
            format!("{verb} {done} of {total} events ({per_cent} %), {rate:.0}/s, {left:.0} s left")
        }
        None => format!("{verb} {done} events, {rate:.0}/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_far_it_is() {
        let time = Duration::from_secs(10);
        let known = line("generated", 250, Some(1000), time);
        assert_eq!(known, "generated 250 of 1000 events (25 %), 25/s, 30 s left");
        assert_eq!(line("checked", 250, None, time), "checked 250 events, 25/s");
    }
}
