//! What the kernel says about a process: `/proc/PID`.

use std::fs;
use std::io;

use serde::{Deserialize, Serialize};

/// Kernel ticks in a second of `/proc/PID/stat`: 100 on every Linux that Rust runs on.
const TICKS_PER_S: f64 = 100.0;

/// One look at a process and its descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Processor time in user mode.
    pub user_s: f64,
    /// Processor time in the kernel.
    pub system_s: f64,
    /// Resident memory, with the pages of mapped files.
    pub rss_bytes: u64,
    /// Resident memory without them.
    pub anonymous_bytes: u64,
    /// The largest resident memory so far.
    pub rss_peak_bytes: u64,
    /// Bytes given to the disk.
    pub written_bytes: u64,
    /// Context switches of the threads that live, voluntary and not.
    pub switches: u64,
}

impl Look {
    /// Looks at a process and its descendants.
    pub fn at(pid: u32) -> io::Result<Self> {
        let mut sum = Self::of_one(pid)?;
        for child in children(pid) {
            // A child may end between the two looks.
            sum = sum.plus(Self::at(child).unwrap_or_default());
        }
        Ok(sum)
    }

    fn of_one(pid: u32) -> io::Result<Self> {
        let read = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}"));
        let (user_s, system_s) = cpu_s(&read("stat")?).unwrap_or_default();
        let status = read("status")?;
        let kilobytes = |name| member(&status, name) * 1024;
        Ok(Self {
            user_s,
            system_s,
            rss_bytes: kilobytes("VmRSS:"),
            anonymous_bytes: kilobytes("RssAnon:"),
            rss_peak_bytes: kilobytes("VmHWM:"),
            // Not readable for processes of other users.
            written_bytes: member(&read("io").unwrap_or_default(), "write_bytes:"),
            switches: switches(pid),
        })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            user_s: self.user_s + other.user_s,
            system_s: self.system_s + other.system_s,
            rss_bytes: self.rss_bytes + other.rss_bytes,
            anonymous_bytes: self.anonymous_bytes + other.anonymous_bytes,
            rss_peak_bytes: self.rss_peak_bytes + other.rss_peak_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
            switches: self.switches + other.switches,
        }
    }

    /// Processor time in all.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// Whether the process has not ended. One that ended and was not waited for has ended.
pub fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = after_name(&stat).and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

fn switches(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let statuses =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
    let of_one = |text: String| {
        member(&text, "voluntary_ctxt_switches:") + member(&text, "nonvoluntary_ctxt_switches:")
    };
    statuses.map(of_one).sum()
}

/// What follows the program's name in a `stat` line; the name may hold anything.
fn after_name(stat: &str) -> Option<&str> {
    stat.rsplit_once(')').map(|(_, rest)| rest.trim_start())
}

/// User and system time of a `stat` line, its 14th and 15th field.
fn cpu_s(stat: &str) -> Option<(f64, f64)> {
    let mut fields = after_name(stat)?.split_whitespace().skip(11);
    let mut next = || Some(fields.next()?.parse::<f64>().ok()? / TICKS_PER_S);
    Some((next()?, next()?))
}

/// The number behind a name at the start of a line.
fn member(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 900 0 2 0 250 75 1 2 20 0 4 0 90 1 2";
        assert_eq!(cpu_s(stat), Some((2.5, 0.75)));
        assert_eq!(cpu_s("7 (x) S"), None);
    }

    #[test]
    fn members_are_numbers_behind_whole_names() {
        let status = "VmHWM:\t  200 kB\nVmRSS:\t  100 kB\nvoluntary_ctxt_switches:\t5\n";
        assert_eq!(member(status, "VmRSS:"), 100);
        assert_eq!(member(status, "voluntary_ctxt_switches:"), 5);
        assert_eq!(member(status, "RssAnon:"), 0);
    }

    #[test]
    fn this_process_runs_and_has_memory() {
        let pid = std::process::id();
        assert!(is_running(pid));
        assert!(Look::at(pid).unwrap().rss_bytes > 100_000);
        assert!(!is_running(u32::MAX));
    }
}
