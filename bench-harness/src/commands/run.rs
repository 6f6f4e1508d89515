//! `zeolite-bench run`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, bail, ensure};
use tokio::signal::unix::{SignalKind, signal};

use crate::bench::Bench;
use crate::catalog::{self, Skipped};
use crate::cli::RunArgs;
use crate::corpora::Corpora;
use crate::home::Installed;
use crate::load::Loader;
use crate::locate::Places;
use crate::machine::Machine;
use crate::narrate;
use crate::processes::Processes;
use crate::report;
use crate::results::{Folder, RunInfo};
use crate::runner::{self, Plan};
use crate::scenario::{SHORT, Scenario};

/// What a shell says of a program that a signal ended.
const INTERRUPTED: u8 = 130;

pub(super) fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let scenarios = catalog::scenarios(&args.catalog.scenario_file)?;
    let asked = asked(&scenarios, &args.names)?;
    let engines = catalog::chosen(catalog::engines(&args.catalog.engine_file)?, &args.engine)?;
    let (engines, skipped) = catalog::installed(engines, &Places::of_this_process()?);
    for entry in &skipped {
        narrate::say(&format!("skipped: {}: {}", entry.name, entry.reason));
    }
    ensure!(!engines.is_empty(), "no relay is here to be measured");

    let processes = Processes::new(std::env::current_exe().context("where is this program?")?);
    stop_on_signals(processes.clone())?;
    let date = crate::date::now();
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("results").join(&date));
    let mut folder = Folder::make(&out)?;
    let mut bench = Bench::new(
        Loader::inside(&processes),
        Corpora::new(args.corpora.clone()),
        &out.join("work"),
    )?;
    bench.events = args.events;
    bench.short = args.names.iter().any(|name| name == SHORT);
    let mut info = describe(args, date, &out, &engines, skipped);
    folder.describe(&info)?;

    let plan = Plan {
        scenarios: asked,
        engines: &engines,
        rounds: args.rounds.or(bench.short.then_some(1)),
        budget: args.budget,
    };
    let ended = runner::run(&mut bench, &plan, &mut folder);
    bench.clean();
    let ended = ended?;
    info.left_out = ended.left_out;
    info.complete = !ended.interrupted;
    folder.describe(&info)?;
    report::write(&out, &scenarios)?;
    narrate::say(&format!("{}", out.join("report.md").display()));
    Ok(if ended.interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// The scenarios of the sets and names, each once, in the order of the catalogue.
fn asked<'a>(
    scenarios: &'a [Scenario],
    names: &[String],
) -> anyhow::Result<Vec<(&'a Scenario, String)>> {
    let unknown = names.iter().find(|name| !scenarios.iter().any(|scenario| scenario.is_in(name)));
    if let Some(name) = unknown {
        bail!("no set and no scenario is called {name}; see zeolite-bench list");
    }
    let set_of = |scenario: &Scenario| names.iter().find(|name| scenario.is_in(name)).cloned();
    Ok(scenarios.iter().filter_map(|scenario| Some((scenario, set_of(scenario)?))).collect())
}

fn describe(
    args: &RunArgs,
    date: String,
    out: &std::path::Path,
    engines: &[Installed],
    skipped: Vec<Skipped>,
) -> RunInfo {
    RunInfo {
        date,
        asked: args.names.clone(),
        machine: Machine::of(out),
        engines: engines.iter().map(Installed::identity).collect(),
        skipped,
        left_out: Vec::new(),
        complete: false,
    }
}

/// Ends all processes when the user asks to stop. A second signal ends this one, too; then the
/// kernel ends the others.
fn stop_on_signals(processes: Processes) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let guard = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    drop(guard);
    thread::spawn(move || {
        runtime.block_on(async {
            for round in 0.. {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hang_up.recv() => {}
                }
                if round > 0 {
                    std::process::exit(i32::from(INTERRUPTED));
                }
                narrate::say("stopping");
                processes.interrupt();
            }
        });
    });
    Ok(())
}
