//! The command line of `zeolite-load`: parsed here, without any IO.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::corpus::{SEED, Shape};

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
  zeolite-load corpus generate --events 1000000 --out network.ndjson   about 2.3 GB
  zeolite-load corpus import events.jsonl.zst --out mine.ndjson        a corpus of your own events
  zeolite-load corpus inspect mine.ndjson                              what is in it
  zeolite-load corpus verify network.ndjson                            every id, signature, order, manifest

Exit codes:
  0  done
  1  failed; standard error says why
  2  wrong usage
  3  done, with findings: `corpus verify` found something wrong";

/// One command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make, check and describe corpora
    #[command(subcommand)]
    Corpus(CorpusCommand),
}

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
