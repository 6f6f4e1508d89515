//! A small corpus on disk, and a scenario's rows.

use std::path::PathBuf;
use std::sync::OnceLock;

use clap::Parser;
use tempfile::TempDir;
use zeolite_loadgen::Target;
use zeolite_loadgen::corpus::{Corpus, Shape, Spec, write_generated};
use zeolite_loadgen::drivers::Scenario;
use zeolite_loadgen::report::{Report, Status};
use zeolite_proto::{Event, EventParser};

/// Events of the corpus: more than a page of 500.
const EVENTS: u32 = 1_300;

/// A corpus in a directory that goes away, shared by all tests of the process.
pub(crate) struct Disk {
    dir: TempDir,
    pub(crate) events: Vec<Event>,
}

/// The one corpus of all tests.
pub(crate) fn disk() -> &'static Disk {
    static DISK: OnceLock<Disk> = OnceLock::new();
    DISK.get_or_init(Disk::new)
}

impl Disk {
    /// Writes the corpus. It has no deletions and one version of each address: a relay of a few
    /// lines can hold it.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let spec = Spec::new(Shape::ClassicV1, EVENTS);
        let path = dir.path().join("corpus.ndjson");
        let file = std::fs::File::create(&path).unwrap();
        let manifest = write_generated(&spec, 1, file, |_| {}).unwrap();
        manifest.write_beside(&path).unwrap();
        let disk = Self { dir, events: Vec::new() };
        let mut parser = EventParser::new();
        let corpus = Corpus::open(&disk.corpus()).unwrap();
        let parse = |json: &[u8]| parser.parse(std::str::from_utf8(json).unwrap()).unwrap();
        let events = corpus.iter().map(|event| event.json()).map(parse).collect();
        Self { events, ..disk }
    }

    pub(crate) fn corpus(&self) -> PathBuf {
        self.dir.path().join("corpus.ndjson")
    }
}

#[derive(Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(subcommand)]
    scenario: Scenario,
}

/// Runs a scenario as the command line names it; `{corpus}` stands for the corpus' path.
pub(crate) fn run(line: &str, url: &str, disk: &Disk) -> Vec<Report> {
    let corpus = disk.corpus();
    let arguments = line.split(' ').map(|word| word.replace("{corpus}", corpus.to_str().unwrap()));
    let scenario =
        Line::try_parse_from(arguments).unwrap_or_else(|error| panic!("{error}")).scenario;
    let target = Target::new(url, Some(std::process::id())).unwrap();
    let mut rows = Vec::new();
    scenario.run(&target, &mut |row| rows.push(row));
    assert!(!rows.is_empty(), "{line}: no rows");
    for row in &rows {
        let line = serde_json::to_string(row).unwrap();
        let again: Report = serde_json::from_str(&line).unwrap();
        // The last digit of a figure may differ.
        assert_eq!((&again.checks, &again.results), (&row.checks, &row.results), "{line}");
        assert_eq!(row.error.is_some(), row.status == Status::Error);
    }
    rows
}

/// The names of the checks that failed in any row, and the errors.
pub(crate) fn faults(rows: &[Report]) -> Vec<String> {
    let failed = rows.iter().flat_map(|row| row.checks.iter().filter(|check| !check.passed));
    let failed = failed
        .map(|check| format!("{}: expected {}, found {}", check.name, check.expected, check.found));
    let errors =
        rows.iter().filter_map(|row| row.error.clone().map(|error| format!("error: {error}")));
    failed.chain(errors).collect()
}
