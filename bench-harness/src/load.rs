//! The load, in a process of its own: this program again, as the load generator.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use zeolite_loadgen::report::{Report, Status};

use crate::processes::{Launch, Processes};

/// What the load generator printed, and how it ended.
#[derive(Debug)]
pub struct Printed {
    /// Its rows.
    pub reports: Vec<Report>,
    /// Why there may be fewer rows than there should.
    pub failure: Option<String>,
}

/// Starts the load generator.
#[derive(Clone, Debug)]
pub struct Loader<'a> {
    /// The registry of processes.
    pub processes: &'a Processes,
    /// The words in front of the arguments; the load generator inside this program by default.
    pub command: Vec<String>,
}

impl<'a> Loader<'a> {
    /// The load generator inside this program.
    pub fn inside(processes: &'a Processes) -> Self {
        let program = processes.program().to_string_lossy().into_owned();
        Self { processes, command: vec![program, "load".to_owned()] }
    }

    /// Runs it to its end and reads one row from each line of its standard output. `started` is
    /// called with its process group, so that it can be killed when the relay dies.
    pub fn run(
        &self,
        dir: &Path,
        args: Vec<String>,
        time_max: Duration,
        started: impl FnOnce(u32),
    ) -> anyhow::Result<Printed> {
        let mut process = self.spawn(dir, args, Stdio::piped())?;
        started(process.id());
        let deadline = process.kill_after(time_max);
        let output = process.take_stdout().context("the load generator has no output")?;
        let (reports, garbage) = read_rows(BufReader::new(output));
        // The output may be closed before the process ends; the deadline bounds both.
        let status = process.wait(time_max);
        let failure = if deadline.has_passed() {
            Some(format!("timed out after {} s", time_max.as_secs()))
        } else if let Some(line) = garbage {
            Some(format!("the load generator printed no row: {line}"))
        } else if status.and_then(|status| status.code()).is_some_and(is_told_by_rows) {
            None
        } else {
            let status = status.map_or_else(|| "no status".to_owned(), |s| s.to_string());
            Some(format!("the load generator ended with {status}: {}", process.stderr_tail()))
        };
        Ok(Printed { reports, failure })
    }

    /// Runs it to its end without reading rows.
    pub fn run_plain(
        &self,
        dir: &Path,
        args: Vec<String>,
        time_max: Duration,
    ) -> anyhow::Result<()> {
        let mut process = self.spawn(dir, args, Stdio::null())?;
        crate::home::finish(&mut process, "the load generator", time_max)
    }

    /// Runs it to its end with its standard output in a file.
    pub fn run_into(
        &self,
        dir: &Path,
        args: Vec<String>,
        output: &Path,
        time_max: Duration,
    ) -> anyhow::Result<()> {
        let mut process = self.spawn(dir, args, File::create(output)?.into())?;
        crate::home::finish(&mut process, "the load generator", time_max)
    }

    fn spawn(
        &self,
        dir: &Path,
        args: Vec<String>,
        stdout: Stdio,
    ) -> anyhow::Result<crate::processes::Process> {
        let command = self.command.iter().cloned().chain(args).collect();
        let stderr = dir.join("load.stderr");
        let launch = Launch { command, dir, stdin: Stdio::null(), stdout, stderr };
        Ok(self.processes.spawn(launch)?)
    }
}

/// Whether the rows say all there is to say: done, or done with rows that did not pass.
fn is_told_by_rows(exit_code: i32) -> bool {
    const FINDINGS: i32 = 3;
    exit_code == 0 || exit_code == FINDINGS
}

/// The rows, and the first line that is none.
fn read_rows(lines: impl BufRead) -> (Vec<Report>, Option<String>) {
    let (mut rows, mut garbage) = (Vec::new(), None);
    for line in lines.lines().map_while(Result::ok).filter(|line| !line.trim().is_empty()) {
        match serde_json::from_str(&line) {
            Ok(row) => rows.push(row),
            Err(_) if garbage.is_none() => garbage = Some(line.chars().take(200).collect()),
            Err(_) => {}
        }
    }
    (rows, garbage)
}

/// A row that says why there is no other.
pub fn error_row(scenario: &str, case: &str, reason: impl Into<String>) -> Report {
    Report {
        scenario: scenario.to_owned(),
        case: case.to_owned(),
        status: Status::Error,
        error: Some(reason.into()),
        ..Report::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_row_is_reported_and_the_others_count() {
        let row = serde_json::to_string(&error_row("s", "c", "why")).unwrap();
        let (rows, garbage) = read_rows(format!("{row}\nhello\n\n{row}\n").as_bytes());
        assert_eq!(rows.len(), 2);
        assert_eq!(garbage.as_deref(), Some("hello"));
    }
}
