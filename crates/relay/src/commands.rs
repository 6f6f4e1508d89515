//! The commands. Each takes its arguments and the configuration, and says how it ended.

mod admin;
mod backup;
mod check;
mod delete;
mod export;
mod filters;
mod import;
pub(crate) mod output;
mod retention;
mod scan;
mod serve;
mod signals;
mod stats;
mod store;
mod walk;

use std::process::ExitCode;

use anyhow::{Context, bail};

use crate::cli::{Cli, Command};
use crate::config::{Layers, PREFIX, Resolved, resolve};

/// How a command ended, when it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well.
    Done,
    /// Wrong usage or configuration; nothing was done.
    Usage,
    /// Done, and there is something to look at.
    Findings,
    /// The user interrupted it.
    Interrupted,
}

/// The exit code of a command that failed; standard error says why.
pub const FAILED: u8 = 1;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Usage => 2,
            Exit::Findings => 3,
            Exit::Interrupted => 130,
        })
    }
}

/// Resolves the configuration and runs the command. An error is told to the user here.
pub fn main(cli: Cli) -> ExitCode {
    let resolved = match configure(&cli) {
        Ok(resolved) => resolved,
        Err(error) => {
            output::complain(format_args!("{error:#}"));
            return Exit::Usage.into();
        }
    };
    match run(cli.command, resolved) {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::complain(format_args!("{error:#}"));
            ExitCode::from(FAILED)
        }
    }
}

fn run(command: Option<Command>, resolved: Resolved) -> anyhow::Result<Exit> {
    let config = &resolved.config;
    match command {
        None | Some(Command::Serve(_)) => serve::run(resolved.config),
        Some(Command::Import(args)) => import::run(&args, config),
        Some(Command::Export(args)) => export::run(&args, config),
        Some(Command::Scan(args)) => scan::run(&args, config),
        Some(Command::Delete(args)) => delete::run(&args, config),
        Some(Command::Retention(args)) => retention::run(&args, config),
        Some(Command::Stats) => stats::run(config),
        Some(Command::Check) => check::run(config),
        Some(Command::Compact(args)) => backup::compact(&args, config),
        Some(Command::Backup(args)) => backup::backup(&args, config),
        Some(Command::Admin(args)) => admin::run(&args),
        Some(Command::Config) => output::print(resolved.to_toml().trim_end()).map(|()| Exit::Done),
    }
}

/// Collects the layers of the configuration: file, environment, flags.
fn configure(cli: &Cli) -> anyhow::Result<Resolved> {
    let environment = environment()?;
    let variable = environment.iter().find(|(name, _)| name == "ZEOLITE_CONFIG");
    let path = cli.settings.config.clone().or(variable.map(|(_, path)| path.into()));
    let file = match path {
        Some(path) => {
            let text = std::fs::read_to_string(&path);
            let text = text.with_context(|| format!("cannot read {}", path.display()))?;
            Some((path.display().to_string(), text))
        }
        None => None,
    };
    let flags = cli.overrides().map_err(anyhow::Error::msg)?;
    Ok(resolve(Layers { file, environment, flags })?)
}

/// The variables that are ours.
pub(crate) fn environment() -> anyhow::Result<Vec<(String, String)>> {
    let mut ours = Vec::new();
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        match value.into_string() {
            Ok(value) => ours.push((name.to_owned(), value)),
            Err(_) => bail!("environment {name}: is not UTF-8"),
        }
    }
    Ok(ours)
}
