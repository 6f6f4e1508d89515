//! `converged`: whether a relay holds what it must after a mirror, an import or an ingest.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use zeolite_proto::EventId;

use super::ask::Asker;
use super::error::DriveError;
use super::facts::{Expectation, expectation};
use super::listing::Pager;
use super::runtime::block_on;
use crate::report::Report;
use crate::row::Row;
use crate::target::Target;

/// How to look.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// The corpus that was offered
    #[arg(long, value_name = "FILE")]
    pub corpus: PathBuf,
    /// A file with an id on each line, exported by other means, instead of asking the relay
    #[arg(long, value_name = "FILE")]
    pub ids: Option<PathBuf>,
    /// Events of a page
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub page: usize,
    /// Seconds without any progress after which the row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// One row: `held`.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let mut row = Row::new("converged", "held", target);
    row.param("page", spec.page);
    let outcome = expectation(&spec.corpus)
        .and_then(|expected| block_on(measure(target, spec, &expected, &mut row)));
    emit(row.close(outcome));
}

async fn measure(
    target: &Target,
    spec: &Spec,
    expected: &Expectation,
    row: &mut Row,
) -> Result<(), DriveError> {
    row.begin();
    let found = match &spec.ids {
        Some(path) => read_ids(&std::fs::read_to_string(path)?)?,
        None => list(target, spec, row).await?,
    };
    let elapsed_s = row.end(found.len() as u64);
    let comparison = expected.check_all(row, &found);
    row.figure("offered", expected.len() as f64)
        .figure("synced", comparison.held as f64)
        .figure("events_per_s", found.len() as f64 / elapsed_s)
        .results(&found);
    Ok(())
}

async fn list(target: &Target, spec: &Spec, row: &mut Row) -> Result<Vec<EventId>, DriveError> {
    let mut asker = Asker::connect(target, 0, Duration::from_secs(spec.silence_s)).await?;
    let mut pager = Pager::new("", spec.page);
    while !pager.next(&mut asker, |_, _| {}).await?.is_last {}
    row.check("seconds_stepped_over", 0, pager.stepped_over()).check(
        "doubled_in_a_page",
        0,
        pager.doubled(),
    );
    Ok(pager.into_found())
}

fn read_ids(text: &str) -> Result<Vec<EventId>, DriveError> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let ids = lines.map(|line| {
        EventId::from_hex(line).map_err(|error| DriveError::Spec(format!("{line:?}: {error}")))
    });
    ids.collect()
}
