//! What each command does.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the program's own output")]

mod run;

use std::ffi::OsString;
use std::iter;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use crate::cli::{CatalogArgs, Cli, CmpArgs, Command, GuardedArgs, ReportArgs};
use crate::locate::Places;
use crate::results::Results;
use crate::{catalog, cmp, crash, guard, report};

/// Runs what the command line asks for; the error goes to standard error.
pub fn main(cli: Cli) -> ExitCode {
    let result = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::List(args) => list(&args),
        Command::Report(args) => render(&args),
        Command::Cmp(args) => compare(&args),
        Command::Guarded(args) => guarded(&args),
        Command::Load(args) => return load(&args.args),
        Command::NullServer => {
            guard::die_with_parent().map(|()| load(&[OsString::from("null-server")]))
        }
        Command::AskRestart { addr } => crash::ask_restart(addr).map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn list(args: &CatalogArgs) -> anyhow::Result<ExitCode> {
    let (found, skipped) =
        catalog::installed(catalog::engines(&args.engine_file)?, &Places::of_this_process()?);
    println!("engines");
    for installed in &found {
        println!(
            "  {:16} {} ({})",
            installed.engine.name, installed.version, installed.engine.profile
        );
    }
    for entry in &skipped {
        println!("  {:16} not here: {}", entry.name, entry.reason);
    }
    println!("scenarios");
    for scenario in catalog::scenarios(&args.scenario_file)? {
        println!("  {:16} {} [{}]", scenario.name, scenario.title, scenario.sets.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

fn render(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    report::write(&args.dir, &catalog::scenarios(&args.catalog.scenario_file)?)?;
    println!("{}", args.dir.join("report.md").display());
    Ok(ExitCode::SUCCESS)
}

fn compare(args: &CmpArgs) -> anyhow::Result<ExitCode> {
    print!("{}", cmp::compare(&Results::read(&args.old)?, &Results::read(&args.new)?));
    Ok(ExitCode::SUCCESS)
}

fn guarded(args: &GuardedArgs) -> anyhow::Result<ExitCode> {
    guard::become_guarded(args.parent, &args.command).context("guarded")?;
    Ok(ExitCode::FAILURE)
}

fn load(args: &[OsString]) -> ExitCode {
    let words = iter::once(OsString::from("zeolite-load")).chain(args.iter().cloned());
    zeolite_loadgen::commands::main(zeolite_loadgen::cli::Cli::parse_from(words))
}
