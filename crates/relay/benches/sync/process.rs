//! The programs under measurement, and what they cost.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A relay that lifts its limits on answers.
pub(crate) struct Source {
    child: Child,
    url: String,
}

/// What a mirror said, and what it cost.
pub(crate) struct Mirrored {
    pub(crate) summary: Value,
    pub(crate) cpu_s: f64,
    pub(crate) rss_bytes_max: u64,
    pub(crate) source_cpu_s: f64,
    pub(crate) source_rss_bytes_max: u64,
}

fn relay(db: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zeolite-relay"));
    command.arg("--db").arg(db).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Takes a file into a store; gives how many events it holds.
pub(crate) fn import(db: &Path, file: &Path) -> u64 {
    let output = relay(db).args(["import", "--no-verify"]).arg(file).output();
    stored(output.expect("the program runs"))
}

fn stored(output: std::process::Output) -> u64 {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    let mut lines = text.lines().filter_map(|line| line.trim().strip_suffix(" stored"));
    lines.next().and_then(|number| number.parse().ok()).expect("an import counts")
}

impl Source {
    pub(crate) fn start(db: &Path) -> Self {
        let mut command = relay(db);
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        for key in ["query.default_limit", "query.max_limit"] {
            command.args(["--set", &format!("{key}=unlimited")]);
        }
        let mut child = command.spawn().expect("the program runs");
        let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        let url = loop {
            line.clear();
            assert_ne!(log.read_line(&mut line).expect("text"), 0, "it never listened");
            if let Some((_, address)) = line.split_once("listening on ws://") {
                let address = address.split_whitespace().next().expect("an address");
                break format!("ws://{address}");
            }
        };
        // Whoever logs into a full pipe would wait for us.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Self { child, url }
    }

    /// Sends a file through it.
    pub(crate) fn import(&self, file: &Path) -> u64 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zeolite-relay"));
        let output = command.args(["import", "--to", &self.url]).arg(file).output();
        stored(output.expect("the program runs"))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Mirrors once into a directory.
pub(crate) fn mirror(source: &Source, db: &Path, flags: &[&str]) -> Mirrored {
    let before = cpu_s(source.child.id());
    let mut command = Command::new(env!("CARGO_BIN_EXE_zeolite-mirror"));
    command.args(["--from", &source.url, "--once", "--json", "--db"]).arg(db).args(flags);
    let cpu_before = children_cpu_s();
    let output = command.stderr(Stdio::inherit()).output().expect("the program runs");
    let text = String::from_utf8(output.stdout).expect("JSON");
    let last = text.lines().last().expect("a mirror reports");
    assert!(output.status.success(), "{last}");
    let summary: Value = serde_json::from_str(last).expect("JSON");
    Mirrored {
        cpu_s: children_cpu_s() - cpu_before,
        rss_bytes_max: summary["rss_bytes_max"].as_u64().unwrap_or(0),
        summary,
        source_cpu_s: cpu_s(source.child.id()) - before,
        source_rss_bytes_max: rss_bytes_max_of(source.child.id()),
    }
}

/// Processor time of all children that have ended.
fn children_cpu_s() -> f64 {
    seconds(&stat("self")[13..15])
}

fn cpu_s(pid: u32) -> f64 {
    seconds(&stat(&pid.to_string())[11..13])
}

fn seconds(ticks: &[u64]) -> f64 {
    const TICKS_PER_S: f64 = 100.0;
    ticks.iter().sum::<u64>() as f64 / TICKS_PER_S
}

/// The numbers of /proc/PID/stat behind the name.
fn stat(process: &str) -> Vec<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("Linux has it");
    let fields = stat.rsplit(')').next().expect("a name in parentheses");
    fields.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect()
}

fn rss_bytes_max_of(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("Linux has it");
    let mut lines = status.lines().filter_map(|line| line.strip_prefix("VmHWM:"));
    let kib = lines.next().and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse().ok());
    kib.map_or(0, |kib: u64| kib << 10)
}
