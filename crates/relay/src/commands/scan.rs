//! `scan`: what filters select, how many, or how it would be found.

use zeolite_proto::{Filter, Reader};
use zeolite_store::{Scan, ScanOptions, ScanState, Store, count};

use super::export::{Compression, Lines, Sink};
use super::store::open_to_read;
use super::walk::{SLICE, newest_first};
use super::{Exit, filters, output};
use crate::cli::ScanArgs;
use crate::clock::now;
use crate::config::Config;

/// Runs the command.
pub(crate) fn run(args: &ScanArgs, config: &Config) -> anyhow::Result<Exit> {
    let filters = filters::parse(&args.filters)?;
    let store = open_to_read(config)?;
    if args.count {
        let total = count(&store, &filters, &Reader::of_everything().into(), now(), &mut |_| true)?;
        output::print(total.expect("the count was never told to give up"))?;
    } else if args.explain {
        output::print(explain(&store, &filters)?)?;
    } else {
        let mut lines = Lines::new(Sink::stdout(Compression::None)?);
        newest_first(&store, &filters, &mut lines)?;
        lines.finish()?;
    }
    Ok(Exit::Done)
}

/// Reads what the filters ask for and tells how it was found.
fn explain(store: &Store, filters: &[Filter]) -> anyhow::Result<String> {
    let reader = Reader::of_everything().into();
    let options = ScanOptions { default_limit: None, max_limit: None };
    let mut scan = Scan::new(store, filters, options, &reader)?;
    while scan.slice(now(), SLICE, &mut |_, _| true)? == ScanState::More {}
    let explanations = scan.explain();
    Ok(explanations.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}
