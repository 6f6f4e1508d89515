//! The report of fixed data, byte for byte, and what `cmp` says of two folders.

#![allow(missing_docs, reason = "a test crate has no callers")]
#![allow(clippy::unwrap_used, reason = "a panic in a test is its report")]

use std::fs;

use zeolite_bench::catalog::Skipped;
use zeolite_bench::cmp;
use zeolite_bench::machine::Machine;
use zeolite_bench::record::{CorpusId, Identity, Record};
use zeolite_bench::report::render;
use zeolite_bench::results::{Folder, Results, RunInfo};
use zeolite_bench::sampler::Usage;
use zeolite_bench::scenario::Scenario;
use zeolite_loadgen::report::{Cost, Latency, Percentile, Report, ResultIds, Status};

const GOLDEN: &str = include_str!("golden/report.md");
const SCENARIO: &str = include_str!("golden/scenario.toml");

fn identity(name: &str) -> Identity {
    let profile = "durable".to_owned();
    Identity { name: name.to_owned(), version: format!("{name} 1.0"), profile }
}

fn record(engine: &str, subscribers: u64, round: u32, p50_us: f64) -> Record {
    let mut report = Report {
        scenario: "feed".to_owned(),
        case: format!("n={subscribers}"),
        ..Report::default()
    };
    report.params.insert("subscribers".to_owned(), subscribers.into());
    let curve = [(0.0, 0.5), (0.5, 1.0), (0.9, 1.5), (0.99, 3.0)];
    let curve = curve.map(|(share, factor)| Percentile { share, us: p50_us * factor }).to_vec();
    let latency = Latency { p50_us, p99_us: p50_us * 3.0, curve, ..Latency::default() };
    report.latencies.insert("delivery".to_owned(), latency);
    report.relay = Some(Cost { cpu_us_per_event: p50_us / 10.0, ..Cost::default() });
    report.results = Some(ResultIds {
        count: if engine == "other" { 1 } else { 2 },
        fingerprint: if engine == "other" { "b" } else { "a" }.to_owned(),
        ids: if engine == "other" {
            vec!["1".to_owned()]
        } else {
            vec!["1".to_owned(), "2".to_owned()]
        },
    });
    let usage = Usage { anonymous_peak_bytes: 5_000_000, ..Usage::default() };
    Record {
        engine: identity(engine),
        corpus: Some(CorpusId::default()),
        round,
        place: 0,
        report,
        usage: Some(usage),
        stderr: None,
    }
}

fn failed(mut record: Record, reason: &str) -> Record {
    record.report.status = Status::Error;
    record.report.error = Some(reason.to_owned());
    record
}

fn results(ours: [f64; 3]) -> Results {
    let machine = Machine {
        processor: "Test Processor".to_owned(),
        cores: 2,
        memory_bytes: 16 << 30,
        kernel: "Linux 6.0".to_owned(),
        file_system: "ext4".to_owned(),
        vector: vec!["avx2".to_owned()],
        load_before: 0.1,
        commit: None,
    };
    let skipped = vec![Skipped { name: "absent".to_owned(), reason: "not here".to_owned() }];
    let mut rows: Vec<Record> =
        (0..).zip(ours).map(|(round, p50)| record("ours", 100, round, p50)).collect();
    rows.extend((0..3).map(|round| record("ours", 1000, round, 260.0)));
    rows.extend((0..3).map(|round| record("other", 100, round, 100_000.0)));
    rows[0].report.warnings.push("a flat mode of 40 ms".to_owned());
    rows.push(record("other", 1000, 0, 110_000.0));
    rows.push(failed(record("other", 1000, 1, 0.0), "the relay died: signal: 9"));
    rows.push(failed(
        record("broken", 100, 0, 0.0),
        "the relay did not start: exit status: 7\nno license",
    ));
    let info = RunInfo {
        date: "2026-01-02T03-04".to_owned(),
        asked: vec!["feed".to_owned()],
        machine,
        engines: ["ours", "other", "broken"].map(identity).to_vec(),
        skipped,
        left_out: Vec::new(),
        complete: true,
    };
    Results { info, rows }
}

/// To change the golden file on purpose, look at the one that the failure names, and copy it.
#[test]
fn a_report_is_the_golden_one() {
    let scenario = Scenario::parse(SCENARIO).unwrap();
    let files = render(&results([240.0, 250.0, 270.0]), &[scenario]);
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["report.md", "feed-line.svg", "feed-curve.svg", "feed-bars.svg"]);
    if files[0].text != GOLDEN {
        let path = std::env::temp_dir().join("zeolite-bench-report.md");
        fs::write(&path, &files[0].text).unwrap();
        panic!("the report differs from golden/report.md: {}", path.display());
    }
    for picture in &files[1..] {
        assert!(
            picture.text.starts_with("<svg") && picture.text.contains("ours"),
            "{}",
            picture.name
        );
    }
}

#[test]
fn a_folder_is_read_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let written = results([1.0, 2.0, 3.0]);
    let mut folder = Folder::make(dir.path()).unwrap();
    folder.describe(&written.info).unwrap();
    written.rows.iter().for_each(|row| folder.append(row).unwrap());
    let read = Results::read(dir.path()).unwrap();
    assert_eq!((read.info, read.rows), (written.info, written.rows));
}

#[test]
fn cmp_names_what_changed_beyond_noise() {
    let page = cmp::compare(&results([240.0, 250.0, 260.0]), &results([290.0, 300.0, 310.0]));
    let expected = "| feed | n=100 | ours | latencies.delivery.p50_us | 250 (240..260) | 300 (290..310) | 20 % **worse** |";
    assert!(page.contains(expected), "{page}");
    assert!(!page.contains("n=1000 | ours"), "{page}");
    let same = cmp::compare(&results([240.0, 250.0, 260.0]), &results([245.0, 255.0, 265.0]));
    assert!(same.contains("Nothing changed beyond noise"), "{same}");
}

#[test]
fn cmp_names_rows_that_are_gone_and_rows_that_broke() {
    let old = results([240.0, 250.0, 260.0]);
    let mut new = old.clone();
    new.rows.retain(|row| row.report.case != "n=1000" || row.engine.name != "ours");
    for row in new.rows.iter_mut().filter(|row| row.engine.name == "other") {
        row.report.status = Status::Failed;
    }
    let page = cmp::compare(&old, &new);
    assert!(page.contains("- feed n=1000 ours: only in the first"), "{page}");
    assert!(
        page.contains("| feed | n=100 | other | status | passed | error | **worse** |"),
        "{page}"
    );
}
