//! The order of a run: rounds over all scenarios, engines forwards and backwards, within a budget.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use zeolite_loadgen::report::Report;

use crate::bench::Bench;
use crate::catalog::Skipped;
use crate::home::Installed;
use crate::load::error_row;
use crate::narrate;
use crate::record::{Identity, Record};
use crate::results::Folder;
use crate::sampler::Usage;
use crate::scenario::{Kind, Run, Scenario};
use crate::sync::{self, Pair};
use crate::under_load::Outcome;
use crate::{crash, transfer, under_load};

/// What is to be run.
pub struct Plan<'a> {
    /// The scenarios, each with the set that asked for it.
    pub scenarios: Vec<(&'a Scenario, String)>,
    /// The engines, in the order of even rounds.
    pub engines: &'a [Installed],
    /// Rounds, instead of what the scenarios say.
    pub rounds: Option<u32>,
    /// Time for everything; what no longer fits is left out and named.
    pub budget: Option<Duration>,
}

/// One measurement: a start of a driver, or a pair, of one scenario.
struct Cell<'a> {
    scenario: &'a Scenario,
    run: Option<&'a Run>,
    engine: &'a Installed,
    remote: Option<&'a Installed>,
    place: u32,
}

impl Cell<'_> {
    fn name(&self) -> String {
        let what = self.run.map_or_else(String::new, |run| match &run.sync {
            Some(case) => format!(" {}", case.name),
            None => run.expect.keys().next().map_or_else(String::new, |case| format!(" {case}")),
        });
        let remote =
            self.remote.map_or_else(String::new, |remote| format!(" with {}", remote.engine.name));
        format!("{}{what}: {}{remote}", self.scenario.name, self.engine.engine.name)
    }
}

/// What a run has to say beside its rows.
#[derive(Debug, Default)]
pub struct Ended {
    /// Measurements that were not made, and why.
    pub left_out: Vec<Skipped>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// Runs the plan and appends every row to the folder as soon as it is there.
pub fn run(bench: &mut Bench<'_>, plan: &Plan<'_>, folder: &mut Folder) -> anyhow::Result<Ended> {
    let mut ended = Ended::default();
    let start = Instant::now();
    let mut durations: HashMap<String, Duration> = HashMap::new();
    let rounds_of = |scenario: &Scenario| plan.rounds.unwrap_or(scenario.rounds);
    let rounds = plan.scenarios.iter().map(|(scenario, _)| rounds_of(scenario)).max().unwrap_or(0);
    for round in 0..rounds {
        let scenarios = plan.scenarios.iter().filter(|(scenario, _)| round < rounds_of(scenario));
        for (scenario, set) in scenarios {
            for cell in cells(scenario, set, plan.engines, round, &mut ended.left_out) {
                let name = cell.name();
                let needed = durations.get(&name).copied().unwrap_or_default();
                if plan.budget.is_some_and(|budget| start.elapsed() + needed > budget) {
                    leave_out(
                        &mut ended.left_out,
                        &name,
                        &format!("the budget ended in round {}", round + 1),
                    );
                    continue;
                }
                let began = Instant::now();
                narrate::begin(start.elapsed(), round, &name);
                let outcome = measure(bench, &cell);
                if bench.processes.is_interrupted() {
                    ended.interrupted = true;
                    return Ok(ended);
                }
                durations.insert(name, began.elapsed());
                keep(bench, &cell, round, outcome, folder)?;
            }
        }
    }
    Ok(ended)
}

fn leave_out(left_out: &mut Vec<Skipped>, name: &str, reason: &str) {
    let entry = Skipped { name: name.to_owned(), reason: reason.to_owned() };
    if !left_out.contains(&entry) {
        left_out.push(entry);
    }
}

/// The measurements of a scenario in one round; those that cannot be made are named.
fn cells<'a>(
    scenario: &'a Scenario,
    set: &'a str,
    engines: &'a [Installed],
    round: u32,
    left_out: &mut Vec<Skipped>,
) -> Vec<Cell<'a>> {
    let mut order: Vec<&Installed> = engines.iter().collect();
    // The second to run finds a warm machine, so each is second as often as first.
    if round % 2 == 1 {
        order.reverse();
    }
    let mut cells = Vec::new();
    let runs: Vec<Option<&Run>> = match scenario.kind {
        Kind::Transfer => vec![None],
        _ => scenario.runs_in(set).map(Some).collect(),
    };
    for run in runs {
        for (place, engine) in (0..).zip(&order) {
            let name = || format!("{}: {}", scenario.name, engine.engine.name);
            if let Some(reason) = engine.engine.refusal(&scenario.name) {
                leave_out(left_out, &name(), reason);
                continue;
            }
            let cell = |remote| Cell { scenario, run, engine, remote, place };
            match run.and_then(|run| run.sync.as_ref()) {
                None => cells.push(cell(None)),
                Some(case) if engine.engine.sync(case.mechanism, case.direction).is_none() => {
                    let reason = format!(
                        "has no command for {}, {}",
                        case.mechanism.name(),
                        case.direction.name()
                    );
                    leave_out(left_out, &name(), &reason);
                }
                Some(case) => {
                    let remotes = order.iter().filter(|remote| sync::can_serve(remote, case));
                    cells.extend(remotes.map(|remote| cell(Some(*remote))));
                }
            }
        }
    }
    cells
}

fn measure(bench: &mut Bench<'_>, cell: &Cell<'_>) -> anyhow::Result<Outcome> {
    let nothing = Run::default();
    let run = cell.run.unwrap_or(&nothing);
    match (cell.scenario.kind, cell.remote, &run.sync) {
        (Kind::Sync, Some(remote), Some(case)) => {
            sync::run(bench, cell.scenario, case, Pair { local: cell.engine, remote })
        }
        (Kind::Transfer, ..) => transfer::run(bench, cell.scenario, cell.engine),
        (Kind::Crash, ..) => crash::run(bench, cell.scenario, run, cell.engine),
        _ => under_load::run(bench, cell.scenario, run, cell.engine),
    }
}

/// Writes the rows of a measurement, or the rows that say why there are none.
fn keep(
    bench: &Bench<'_>,
    cell: &Cell<'_>,
    round: u32,
    outcome: anyhow::Result<Outcome>,
    folder: &mut Folder,
) -> anyhow::Result<()> {
    let outcome = outcome.unwrap_or_else(|error| {
        let reports = missing_rows(cell, &format!("{error:#}"));
        Outcome { reports, ..Outcome::default() }
    });
    for report in outcome.reports {
        let usage = report.window.and_then(|window| {
            Usage::between(&outcome.samples, window.from_unix_ms, window.to_unix_ms)
        });
        let mut record = Record {
            engine: identity(cell),
            corpus: outcome.corpus.clone(),
            round,
            place: cell.place,
            report,
            usage,
            stderr: None,
        };
        let public = |text: &str| bench.without_paths(cell.engine, text);
        record.report.error = record.report.error.as_deref().map(public);
        if !record.passed() {
            record.stderr = outcome.stderr.as_deref().map(public);
        }
        narrate::row(&record);
        folder.append(&record)?;
    }
    Ok(())
}

/// A pair is named after the engine whose command ran.
fn identity(cell: &Cell<'_>) -> Identity {
    let identity = cell.engine.identity();
    match cell.remote {
        None => identity,
        Some(remote) if remote.engine.name == cell.engine.engine.name => identity,
        Some(remote) => {
            Identity { version: format!("{}; {}", identity.version, remote.version), ..identity }
        }
    }
}

fn missing_rows(cell: &Cell<'_>, reason: &str) -> Vec<Report> {
    let scenario = &cell.scenario.name;
    let row = |case: &str| error_row(scenario, case, reason);
    match (cell.run, cell.remote) {
        (Some(Run { sync: Some(case), .. }), Some(remote)) => {
            let pair = Pair { local: cell.engine, remote };
            vec![row(&format!("{}: {}", case.name, pair.name(case.direction)))]
        }
        (Some(run), _) if !run.expect.is_empty() => {
            run.expect.keys().map(|case| row(case)).collect()
        }
        _ => vec![row("all")],
    }
}
