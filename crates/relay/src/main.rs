//! The `zeolite-relay` program.

use std::process::ExitCode;

use clap::Parser;
use zeolite_relay::cli::Cli;
use zeolite_relay::commands;

fn main() -> ExitCode {
    commands::main(Cli::parse())
}
