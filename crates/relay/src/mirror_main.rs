//! The `zeolite-mirror` program.

use std::process::ExitCode;

use clap::Parser;
use zeolite_relay::mirror_cli::MirrorCli;
use zeolite_relay::mirror_command;

fn main() -> ExitCode {
    mirror_command::main(MirrorCli::parse())
}
