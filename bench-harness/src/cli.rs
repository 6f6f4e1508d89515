//! The command line: parsed here, without any IO.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

/// What the user asked for.
#[derive(Debug, Parser)]
#[command(
    name = "zeolite-bench",
    version,
    about = "Boots relays as processes, runs scenarios, writes tables and plots.",
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
  zeolite-bench run short                                  everything small, under 10 minutes
  zeolite-bench run fanout ingest --rounds 5               two sets, five rounds
  zeolite-bench run sync --events 50000                    a look at mirroring
  zeolite-bench run all --budget 20m                       everything, as often as fits
  STRFRY_BIN=/opt/strfry/strfry zeolite-bench run query --engine zeolite-durable --engine strfry
  zeolite-bench run query --engine-file mine.toml          bring your own relay
  zeolite-bench cmp results/A results/B                    what changed beyond noise
  zeolite-bench report results/A                           render again

A relay whose program is not found is skipped, and the report says so. A relay that breaks gives rows
that say why. Ctrl-C ends every process; what was measured so far is in the results folder.

Exit codes:
  0  done; rows may be error rows, the report names them
  1  failed; standard error says why
  2  wrong usage
  130  interrupted";

/// One command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run sets or single scenarios and write a results folder
    Run(RunArgs),
    /// List engines and whether their programs are here, and scenarios with their sets
    List(CatalogArgs),
    /// Render the report of a results folder again
    Report(ReportArgs),
    /// Say what changed between two results folders
    Cmp(CmpArgs),
    /// Become a program that dies with the harness (for the harness itself)
    #[command(hide = true)]
    Guarded(GuardedArgs),
    /// Be the load generator (for the harness itself)
    #[command(hide = true, disable_help_flag = true)]
    Load(LoadArgs),
    /// Be the load generator's null server (for the load generator, which starts its own program)
    #[command(hide = true)]
    NullServer,
    /// Ask the harness to kill the relay and start it again (for the load generator)
    #[command(hide = true)]
    AskRestart {
        /// Where the harness listens
        addr: SocketAddr,
    },
}

/// Descriptions beside those that come along.
#[derive(Args, Debug, Default)]
pub struct CatalogArgs {
    /// One more engine, described by this file; may be repeated
    #[arg(long, value_name = "FILE")]
    pub engine_file: Vec<PathBuf>,
    /// One more scenario, described by this file; may be repeated
    #[arg(long, value_name = "FILE")]
    pub scenario_file: Vec<PathBuf>,
}

/// What to run, and how often.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Sets (short, fanout, ingest, query, sync, churn, slow, conns, soak, crash, all) or names of scenarios
    #[arg(value_name = "NAME", default_value = "short")]
    pub names: Vec<String>,
    /// Descriptions beside those that come along.
    #[command(flatten)]
    pub catalog: CatalogArgs,
    /// Only this engine; may be repeated [default: all that are found]
    #[arg(long, value_name = "NAME")]
    pub engine: Vec<String>,
    /// Rounds of every scenario [default: what each says, one in the set short]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// Time for everything, such as 20m or 90s; later rounds are left out
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub budget: Option<Duration>,
    /// Events of every corpus, instead of what the scenarios say (also as N=50000)
    #[arg(long, value_name = "N", value_parser = parse_events)]
    pub events: Option<u64>,
    /// Folder to write [default: results/DATE]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where corpora are kept
    #[arg(long, value_name = "DIR", default_value = "results/corpora")]
    pub corpora: PathBuf,
}

/// What to render.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Results folder
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Descriptions beside those that come along.
    #[command(flatten)]
    pub catalog: CatalogArgs,
}

/// What to compare.
#[derive(Args, Debug)]
pub struct CmpArgs {
    /// Results folder from before
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// Results folder from after
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
}

/// What to become.
#[derive(Args, Debug)]
pub struct GuardedArgs {
    /// Process that must live
    pub parent: u32,
    /// Command
    #[arg(last = true)]
    pub command: Vec<OsString>,
}

/// Arguments of the load generator.
#[derive(Args, Debug)]
pub struct LoadArgs {
    /// Arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, factor) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60),
        None => (text.strip_suffix('s').unwrap_or(text), 1),
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    seconds.map(Duration::from_secs).ok_or_else(|| "expected a time such as 20m or 90s".to_owned())
}

fn parse_events(text: &str) -> Result<u64, String> {
    let number = text.strip_prefix("N=").unwrap_or(text).replace('_', "");
    let events = number.parse::<u64>().ok().filter(|events| (100..=10_000_000).contains(events));
    events.ok_or_else(|| "expected a number from 100 to 10000000".to_owned())
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

    #[test]
    fn times_and_numbers_of_events() {
        let time = |text| parse_time(text).ok().map(|time| time.as_secs());
        assert_eq!(
            [time("20m"), time("90s"), time("7"), time("x")],
            [Some(1200), Some(90), Some(7), None]
        );
        let events = |text| parse_events(text).ok();
        assert_eq!(events("N=50000"), Some(50_000));
        assert_eq!(events("1_000_000"), Some(1_000_000));
        assert_eq!([events("N="), events("7")], [None, None]);
    }
}
