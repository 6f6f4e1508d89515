//! `zeolite-bench`: see `zeolite-bench --help`.

use std::process::ExitCode;

use clap::Parser;
use zeolite_bench::cli::Cli;
use zeolite_bench::commands;

fn main() -> ExitCode {
    commands::main(Cli::parse())
}
