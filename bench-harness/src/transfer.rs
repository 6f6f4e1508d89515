//! Scenario `transfer`: an NDJSON file into an empty store, and the store into a file.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use zeolite_loadgen::report::{Check, Report, Status, Window};

use crate::bench::Bench;
use crate::corpora::CorpusFile;
use crate::engine::Transfer;
use crate::home::{Home, Installed, Way, disk_bytes, finish};
use crate::idset::IdSet;
use crate::load::error_row;
use crate::sampler::{Sample, Sampler, Usage};
use crate::scenario::Scenario;
use crate::under_load::Outcome;

/// Runs import and export of one engine.
pub fn run(
    bench: &mut Bench<'_>,
    scenario: &Scenario,
    installed: &Installed,
) -> anyhow::Result<Outcome> {
    let corpus = bench.corpus(scenario)?.context("no corpus is named")?;
    let (home, dir) = bench.home(installed)?;
    let time_max = Duration::from_secs(scenario.timeout_s);
    let measured = both_ways(bench, installed, &home, &corpus, &dir, time_max);
    bench.leave(&dir);
    let (mut reports, samples) = measured?;
    reports.iter_mut().for_each(|report| report.scenario.clone_from(&scenario.name));
    Ok(Outcome { reports, samples, stderr: None, corpus: Some(corpus.id) })
}

fn both_ways(
    bench: &Bench<'_>,
    installed: &Installed,
    home: &Home,
    corpus: &CorpusFile,
    dir: &Path,
    time_max: Duration,
) -> anyhow::Result<(Vec<Report>, Vec<Sample>)> {
    let Some(import) = &installed.engine.import else {
        return Ok((vec![error_row("", "import", "no import command")], Vec::new()));
    };
    let (mut report, mut samples) =
        timed(bench, home, import, &corpus.path, Way::In, corpus.id.events, time_max)?;
    let stored_bytes = disk_bytes(&home.store());
    let file = dir.join("export.ndjson");
    let Some(export) = &installed.engine.export else {
        return Ok((vec![report, error_row("", "export", "no export command")], samples));
    };
    // The number of events comes from the file, which is read after the clock has stopped.
    let (mut exported, more) =
        timed(bench, home, export, &file, Way::Out, corpus.effective, time_max)?;
    samples.extend(more);
    let held = IdSet::of_file(&file)?.len();
    let seconds = exported.figures.get("seconds").copied().unwrap_or(f64::NAN);
    exported.figures.insert("events_per_s".to_owned(), held as f64 / seconds);
    report.figures.insert("bytes_per_event".to_owned(), stored_bytes as f64 / held as f64);
    report.figures.insert("held".to_owned(), held as f64);
    check_held(&mut exported, held, corpus.effective);
    Ok((vec![report, exported], samples))
}

/// An engine may follow fewer NIPs than the effective set: that is a warning, a loss is not.
fn check_held(report: &mut Report, held: u64, effective: u64) {
    let passed = held >= effective;
    report.checks.push(Check {
        name: "events held, at least".to_owned(),
        expected: effective.to_string(),
        found: held.to_string(),
        passed,
    });
    if !passed {
        report.status = Status::Failed;
    } else if held > effective {
        let more = held - effective;
        report.warnings.push(format!("holds {more} events that NIPs 09, 40 and 62 remove"));
    }
}

fn timed(
    bench: &Bench<'_>,
    home: &Home,
    transfer: &Transfer,
    file: &Path,
    way: Way,
    events: u64,
    time_max: Duration,
) -> anyhow::Result<(Report, Vec<Sample>)> {
    let case = if way == Way::In { "import" } else { "export" };
    let from_unix_ms = unix_ms();
    let start = Instant::now();
    let mut process = home.transfer(bench.processes, transfer, file, way)?;
    let sampler = Sampler::start(process.id(), |_| {}, || {});
    finish(&mut process, &format!("the {case}"), time_max)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut samples = sampler.stop();
    samples.extend(process.last_look());
    let mut report = Report { case: case.to_owned(), ..Report::default() };
    report.window = Some(Window { from_unix_ms, to_unix_ms: unix_ms() });
    report.params.insert("events".to_owned(), events.into());
    report.figures.insert("seconds".to_owned(), seconds);
    report.figures.insert("events_per_s".to_owned(), events as f64 / seconds);
    if let Some(usage) = Usage::over(&samples) {
        let per_event = usage.cpu_s() * 1e6 / events.max(1) as f64;
        report.figures.insert("cpu_us_per_event".to_owned(), per_event);
    }
    Ok((report, samples))
}

/// Milliseconds since 1970.
pub fn unix_ms() -> u64 {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(unix.as_millis()).unwrap_or(u64::MAX)
}
