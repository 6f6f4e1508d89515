//! What each command does.

mod corpus;
mod progress;
mod run;

use std::process::ExitCode;

use crate::cli::{Cli, Command};

/// Runs what the command line asks for; the error goes to standard error.
#[allow(clippy::print_stderr, reason = "the program's own report")]
pub fn main(cli: Cli) -> ExitCode {
    let result = match cli.command {
        Command::Corpus(command) => corpus::run(command),
        Command::Run(args) => run::run(&args),
        Command::NullServer(args) => run::null_server(args.listen),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
