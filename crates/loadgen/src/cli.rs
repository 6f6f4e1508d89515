//! The command line of `zeolite-load`: parsed here, without any IO.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::corpus::{SEED, Shape};
use crate::drivers::Scenario;

/// What the user asked for.
#[derive(Debug, Parser)]
#[command(
    name = "zeolite-load",
    version,
    about = "Corpora, and load over real sockets for any Nostr relay.",
    after_long_help = EXAMPLES,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  zeolite-load corpus generate --events 1000000 --out network.ndjson   about 2.2 GB
  zeolite-load corpus import events.jsonl.zst --out mine.ndjson        a corpus of your own events
  zeolite-load corpus inspect mine.ndjson                              what is in it
  zeolite-load corpus verify network.ndjson                            every id, signature, order, manifest
  zeolite-load run fanout-scaling --url ws://127.0.0.1:7447            a row for each number of sockets

Exit codes:
  0  done
  1  failed; standard error says why
  2  wrong usage
  3  done, with findings: `corpus verify` found something wrong, or a row of `run` did not pass";

/// One command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make, check and describe corpora
    #[command(subcommand)]
    Corpus(CorpusCommand),
    /// Run a scenario against a relay; a JSON line for each row on standard output
    Run(RunArgs),
    /// Be the cheapest relay there can be: shows what the generator itself can offer
    NullServer(NullServerArgs),
}

/// Which scenario, against which relay.
#[derive(Args, Debug)]
#[command(after_long_help = RUN_EXAMPLES)]
pub struct RunArgs {
    /// The relay's URL
    #[arg(long, value_name = "URL", global = true, default_value = "ws://127.0.0.1:7447")]
    pub url: String,
    /// The relay's process on this machine: its processor time and memory are read from /proc
    #[arg(long, value_name = "PID", global = true)]
    pub pid: Option<u32>,
    /// What to run
    #[command(subcommand)]
    pub scenario: Scenario,
}

/// Where the null server listens.
#[derive(Args, Debug)]
pub struct NullServerArgs {
    /// Address; the one it got is printed as a URL. Port 0 lets the system choose
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
}

const RUN_EXAMPLES: &str = "\
Examples:
  zeolite-load run fanout-scaling --url ws://127.0.0.1:7447 --subscribers 100,1000
  zeolite-load run ingest --corpus network.ndjson --shape 64x50 --pid 4711
  zeolite-load run query --corpus network.ndjson > rows.jsonl

A row that failed is a row too: `status` says passed, failed (a check did not hold: the relay gave a
wrong answer) or error (the scenario could not go on). Exit code 3 if any row did not pass.";

/// What to do with a corpus.
#[derive(Debug, Subcommand)]
pub enum CorpusCommand {
    /// Generate a corpus: equal arguments give equal bytes
    Generate(GenerateArgs),
    /// Make a corpus of any file of events: verified, without doubles and ephemerals, in order
    Import(ImportArgs),
    /// Describe a file of events: kinds, sizes, tags, ties, authors, deletions
    Inspect(InspectArgs),
    /// Check ids, signatures and order of a file of events, and the manifest beside it
    Verify(VerifyArgs),
}

/// Which corpus to generate, and where to.
#[derive(Args, Debug)]
pub struct GenerateArgs {
    /// Shape: classic-v1 or network-v1
    #[arg(long, value_name = "SHAPE", default_value_t = Shape::NetworkV1)]
    pub corpus: Shape,
    /// Number of events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub events: u32,
    /// Where the randomness comes from
    #[arg(long, value_name = "N", default_value_t = SEED)]
    pub seed: u64,
    /// Threads that sign; 0 is one for each core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// File to write; - is standard output, without a manifest
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}

/// What to make a corpus of, and where to.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// NDJSON or JSON arrays, plain, gzip or zstd; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// The time for which the effective set is worked out [default: the clock]
    #[arg(long, value_name = "SECONDS")]
    pub now: Option<u64>,
}

/// What to describe.
#[derive(Args, Debug)]
pub struct InspectArgs {
    /// NDJSON or JSON arrays, plain, gzip or zstd; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The time for which the effective set is worked out [default: the clock]
    #[arg(long, value_name = "SECONDS")]
    pub now: Option<u64>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

/// What to check.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// NDJSON or JSON arrays, plain, gzip or zstd; - is standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Threads that verify; 0 is one for each core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// clap's own consistency checks over the whole definition.
    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }
}
