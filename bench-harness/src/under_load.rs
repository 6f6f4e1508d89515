//! Scenarios of the load generator: boot a relay, run a driver against it, see what it spent.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use zeolite_loadgen::report::{Report, Status};

use crate::bench::Bench;
use crate::corpora::CorpusFile;
use crate::home::{Home, Installed};
use crate::load::error_row;
use crate::processes::{Process, kill_group};
use crate::record::CorpusId;
use crate::sampler::{Sample, Sampler};
use crate::scenario::{Run, Scenario, Share};

/// What one start of a driver brought.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Its rows, and error rows for those that did not come.
    pub reports: Vec<Report>,
    /// What the relay spent meanwhile.
    pub samples: Vec<Sample>,
    /// The relay's last words, when something went wrong.
    pub stderr: Option<String>,
    /// The corpus that was used.
    pub corpus: Option<CorpusId>,
}

/// Runs one start of a scenario's driver against one engine.
pub fn run(
    bench: &mut Bench<'_>,
    scenario: &Scenario,
    run: &Run,
    installed: &Installed,
) -> anyhow::Result<Outcome> {
    let corpus = bench.corpus(scenario)?;
    let import = scenario.corpus.as_ref().is_some_and(|spec| spec.import);
    let (home, dir) = match &corpus {
        Some(corpus) if import => bench.filled_home(installed, corpus, Share::None)?,
        _ => bench.home(installed)?,
    };
    let outcome = measure(bench, scenario, run, &home, corpus.as_ref(), &dir);
    bench.leave(&dir);
    outcome
}

fn measure(
    bench: &Bench<'_>,
    scenario: &Scenario,
    run: &Run,
    home: &Home,
    corpus: Option<&CorpusFile>,
    dir: &Path,
) -> anyhow::Result<Outcome> {
    let mut relay = home.boot(bench.processes)?;
    let load = Arc::new(AtomicU32::new(0));
    let doomed = Arc::clone(&load);
    // Without the relay, the load would wait for its time-out.
    let on_end = move || match doomed.load(Ordering::SeqCst) {
        0 => {}
        group => kill_group(group),
    };
    let sampler = Sampler::start(relay.id(), |_| {}, on_end);
    let args = arguments(run, home, &relay, corpus, dir);
    let time_max = Duration::from_secs(scenario.timeout_s);
    let printed = bench.loader.run(dir, args, time_max, |id| load.store(id, Ordering::SeqCst));
    let samples = sampler.stop();
    let printed = printed?;
    let death = relay.ended().map(|status| format!("the relay died: {status}"));
    let mut reports = printed.reports;
    if let Some(death) = &death {
        reports.iter_mut().for_each(|report| blame(report, death));
    }
    let reports = completed(scenario, run, reports, death.or(printed.failure));
    let is_bad = |report: &Report| report.status != Status::Passed;
    let stderr = reports.iter().any(is_bad).then(|| relay.stderr_tail());
    Home::stop(relay);
    Ok(Outcome { reports, samples, stderr, corpus: corpus.map(|corpus| corpus.id.clone()) })
}

/// A row that did not pass because the relay died says so, beside what the driver saw of it.
fn blame(report: &mut Report, death: &str) {
    if report.status != Status::Passed {
        let seen = report.error.take().map(|error| format!("; {error}")).unwrap_or_default();
        report.error = Some(format!("{death}{seen}"));
    }
}

/// The driver's arguments with the placeholders filled.
pub fn arguments(
    run: &Run,
    home: &Home,
    relay: &Process,
    corpus: Option<&CorpusFile>,
    dir: &Path,
) -> Vec<String> {
    let path = corpus.map(|corpus| corpus.path.to_string_lossy().into_owned());
    let values = home
        .values()
        .clone()
        .with("url", home.url())
        .with("pid", relay.id().to_string())
        .with("corpus", path.unwrap_or_default())
        .with("dir", dir.to_string_lossy());
    values.fill_all(&run.args)
}

/// The rows with what the definition knows: every expected row is there, and its checks expected
/// what the definition says.
pub fn completed(
    scenario: &Scenario,
    run: &Run,
    mut reports: Vec<Report>,
    failure: Option<String>,
) -> Vec<Report> {
    for report in &mut reports {
        report.scenario.clone_from(&scenario.name);
        if let Some(expected) = run.expect.get(&report.case) {
            hold_to(report, expected);
        }
    }
    let reason = failure.clone().unwrap_or_else(|| "the row did not come".to_owned());
    for case in run.expect.keys() {
        if !reports.iter().any(|report| report.case == *case) {
            reports.push(error_row(&scenario.name, case, &reason));
        }
    }
    // A failure after the last expected row has still spoilt something.
    if failure.is_some() && reports.iter().all(|report| report.status == Status::Passed) {
        reports.push(error_row(&scenario.name, "after the last row", reason));
    }
    reports
}

fn hold_to(report: &mut Report, expected: &std::collections::BTreeMap<String, String>) {
    for (name, value) in expected {
        let found = report.checks.iter().find(|check| check.name == *name);
        let problem = match found {
            None => format!("{name} was not checked"),
            Some(check) if check.expected != *value => {
                format!("{name} was checked against {}, not {value}", check.expected)
            }
            Some(_) => continue,
        };
        if report.status == Status::Passed {
            report.status = Status::Failed;
        }
        report.error.get_or_insert(problem);
    }
}

#[cfg(test)]
mod tests {
    use zeolite_loadgen::report::Check;

    use super::*;

    fn scenario() -> Scenario {
        let text = "name = 's'\ntitle = 'S'\ntimeout_s = 1\nanalysis = 'a'\n\
                    [[run]]\n[run.expect]\n'n=1' = { events = '7' }\n'n=2' = {}\n";
        Scenario::parse(text).unwrap()
    }

    fn report(case: &str, expected: &str) -> Report {
        let check = Check {
            name: "events".to_owned(),
            expected: expected.to_owned(),
            found: expected.to_owned(),
            passed: true,
        };
        Report { case: case.to_owned(), checks: vec![check], ..Report::default() }
    }

    fn check(reports: Vec<Report>, failure: Option<&str>, expected: &[(&str, Status)]) {
        let scenario = scenario();
        let found = completed(&scenario, &scenario.run[0], reports, failure.map(str::to_owned));
        let found: Vec<_> = found.iter().map(|row| (row.case.as_str(), row.status)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn rows_that_do_not_come_are_error_rows() {
        let whole = || vec![report("n=1", "7"), report("n=2", "9")];
        check(whole(), None, &[("n=1", Status::Passed), ("n=2", Status::Passed)]);
        check(vec![report("n=1", "7")], None, &[("n=1", Status::Passed), ("n=2", Status::Error)]);
        check(
            whole(),
            Some("died"),
            &[
                ("n=1", Status::Passed),
                ("n=2", Status::Passed),
                ("after the last row", Status::Error),
            ],
        );
        check(vec![], Some("died"), &[("n=1", Status::Error), ("n=2", Status::Error)]);
    }

    #[test]
    fn a_driver_that_expected_something_else_has_not_passed() {
        let reports = vec![report("n=1", "6"), report("n=2", "9")];
        check(reports, None, &[("n=1", Status::Failed), ("n=2", Status::Passed)]);
    }
}
