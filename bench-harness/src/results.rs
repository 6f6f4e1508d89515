//! A results folder: `run.json`, `rows.jsonl`, and what is rendered from them.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::catalog::Skipped;
use crate::machine::Machine;
use crate::record::{Identity, Record};

/// What a run was: the head of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// When it began, in UTC.
    pub date: String,
    /// What was asked for: sets and scenario names.
    pub asked: Vec<String>,
    /// Where.
    pub machine: Machine,
    /// Who took part, in the order of even rounds.
    pub engines: Vec<Identity>,
    /// Who did not, and why.
    pub skipped: Vec<Skipped>,
    /// Scenarios that some engine did not run, and why.
    pub left_out: Vec<Skipped>,
    /// Whether it came to its end.
    pub complete: bool,
}

/// A folder, open for writing.
#[derive(Debug)]
pub struct Folder {
    dir: PathBuf,
    rows: File,
}

impl Folder {
    /// Makes it.
    pub fn make(dir: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let rows = OpenOptions::new().create(true).append(true).open(dir.join(ROWS))?;
        Ok(Self { dir: dir.to_owned(), rows })
    }

    /// Its path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Appends one row; what is measured is kept even if the run ends early.
    pub fn append(&mut self, record: &Record) -> anyhow::Result<()> {
        let mut line = serde_json::to_string(record)?;
        line.push('\n');
        Ok(self.rows.write_all(line.as_bytes())?)
    }

    /// Writes (or writes again) what the run was.
    pub fn describe(&self, info: &RunInfo) -> anyhow::Result<()> {
        Ok(fs::write(self.dir.join(INFO), serde_json::to_string_pretty(info)? + "\n")?)
    }
}

const ROWS: &str = "rows.jsonl";
const INFO: &str = "run.json";

/// A folder, read.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// What the run was.
    pub info: RunInfo,
    /// Its rows, in the order in which they were measured.
    pub rows: Vec<Record>,
}

impl Results {
    /// Reads a folder.
    pub fn read(dir: &Path) -> anyhow::Result<Self> {
        let info = fs::read_to_string(dir.join(INFO))
            .with_context(|| format!("{} is no results folder", dir.display()))?;
        let file = File::open(dir.join(ROWS)).context("the folder has no rows")?;
        let mut rows = Vec::new();
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let row = serde_json::from_str(&line?);
            rows.push(row.with_context(|| format!("{ROWS}, line {}", number + 1))?);
        }
        Ok(Self { info: serde_json::from_str(&info).context(INFO)?, rows })
    }
}
