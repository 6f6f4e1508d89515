//! The `zeolite-load` program.

use std::process::ExitCode;

use clap::Parser;
use zeolite_loadgen::cli::Cli;
use zeolite_loadgen::commands;

fn main() -> ExitCode {
    commands::main(Cli::parse())
}
