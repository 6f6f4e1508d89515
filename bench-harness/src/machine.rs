//! The machine as a table's caption describes it: nothing that names its owner.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// What a reader must know of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model.
    pub processor: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Memory.
    pub memory_bytes: u64,
    /// Kernel and its release.
    pub kernel: String,
    /// The file system that the stores lie on.
    pub file_system: String,
    /// Vector instructions that signature verification can use.
    pub vector: Vec<String>,
    /// Running processes per core in the last minute, when the run began.
    pub load_before: f64,
    /// The commit of the sources that this program was run from, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// Instruction sets that the verifier chooses between, as `/proc/cpuinfo` names them.
const VECTOR: [&str; 3] = ["avx2", "avx512f", "avx512ifma"];

impl Machine {
    /// This machine; `stores` is where the stores will lie.
    pub fn of(stores: &Path) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let flags = member(&info, "flags");
        let has = |name: &&str| flags.split_whitespace().any(|flag| flag == *name);
        Self {
            processor: member(&info, "model name").to_owned(),
            cores: std::thread::available_parallelism().map_or(0, Into::into),
            memory_bytes: memory_bytes(&read("/proc/meminfo")),
            kernel: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            file_system: file_system(&read("/proc/self/mounts"), stores),
            vector: VECTOR.iter().filter(|name| has(name)).map(|name| (*name).to_owned()).collect(),
            load_before: read("/proc/loadavg")
                .split(' ')
                .next()
                .unwrap_or("")
                .parse()
                .unwrap_or(0.0),
            commit: commit(),
        }
    }
}

/// The first value of a `name : value` line.
fn member<'a>(text: &'a str, name: &str) -> &'a str {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let found = lines.into_iter().find(|(key, _)| key.trim() == name);
    found.map_or("", |(_, value)| value.trim())
}

fn memory_bytes(text: &str) -> u64 {
    let kilobytes = member(text, "MemTotal").trim_end_matches("kB").trim();
    kilobytes.parse::<u64>().unwrap_or(0) * 1024
}

/// The type of the file system with the longest mount point above the path.
fn file_system(mounts: &str, path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let above = mounts.filter(|(point, _)| path.starts_with(point));
    let nearest = above.max_by_key(|(point, _)| point.len());
    nearest.map_or("unknown", |(_, kind)| kind).to_owned()
}

fn commit() -> Option<String> {
    let output = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_point_counts() {
        let mounts = "a / ext4 rw 0 0\nb /nowhere tmpfs rw 0 0\nc /nowhere/x xfs rw 0 0\n";
        let check = |path: &str, expected: &str| {
            assert_eq!(file_system(mounts, Path::new(path)), expected);
        };
        check("/nowhere/x/y", "xfs");
        check("/nowhere/y", "tmpfs");
        check("/other", "ext4");
    }

    #[test]
    fn values_are_found_by_whole_names() {
        let text = "model\t: 1\nmodel name\t: A B\nMemTotal:   2 kB\n";
        assert_eq!(member(text, "model name"), "A B");
        assert_eq!(memory_bytes(text), 2048);
        assert_eq!(member(text, "none"), "");
    }
}
