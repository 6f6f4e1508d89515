//! `reconcile`: NIP-77 against a relay that holds a corpus, from sets that differ in known ways.
//!
//! The client is the negentropy crate, so that relays of all makes meet the same peer. Its own time is
//! left out of `relay_ms`: it sums the rest of its set for every frame that a limit cuts.

mod case;
mod session;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use zeolite_proto::EventId;

use super::error::DriveError;
use super::facts::{Expectation, expectation, name_some};
use super::runtime::block_on;
use crate::latency::Recorder;
use crate::report::Report;
use crate::row::Row;
use crate::target::Target;
pub use case::Case;
use session::Session;

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// The corpus that the relay holds, and nothing else
    #[arg(long, value_name = "FILE")]
    pub corpus: PathBuf,
    /// How the client's set differs, a row for each
    #[arg(long, value_name = "CASE,..", value_delimiter = ',', default_values_t = Case::value_variants().to_vec())]
    pub cases: Vec<Case>,
    /// Bytes of a message before hex doubles them
    #[arg(long, value_name = "BYTES", default_value_t = 60_000)]
    pub frame_bytes: u64,
    /// How often each case is repeated
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub repeats: u32,
    /// The filter; everything of the corpus must match it
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub filter: String,
    /// Seconds without any progress after which a row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// A row for each case.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let expected = match expectation(&spec.corpus) {
        Ok(expected) => expected,
        Err(error) => return emit(Row::new("reconcile", "corpus", target).fail(error)),
    };
    for case in &spec.cases {
        let mut row = Row::new("reconcile", case.to_string(), target);
        row.param("frame_bytes", spec.frame_bytes).param("relay_items", expected.len());
        let outcome = block_on(measure(target, spec, &expected, *case, &mut row));
        emit(row.close(outcome));
    }
}

async fn measure(
    target: &Target,
    spec: &Spec,
    expected: &Expectation,
    case: Case,
    row: &mut Row,
) -> Result<(), DriveError> {
    let relay: Vec<_> = expected.set().iter().collect();
    let sets = case.sets(&relay);
    row.param("client_items", sets.client.len());
    let silence = Duration::from_secs(spec.silence_s);
    let mut session = Session::connect(target, &spec.filter, spec.frame_bytes, silence).await?;
    let (mut total, mut waited) = (Recorder::new(), Recorder::new());
    row.begin();
    for _ in 0..spec.repeats.max(1) {
        let found = session.reconcile(&sets.client).await?;
        total.record(found.elapsed);
        waited.record(found.waited);
        row.figure("rounds", f64::from(found.rounds))
            .figure("sent_bytes", found.sent_bytes as f64)
            .figure("received_bytes", found.received_bytes as f64)
            .figure("need", found.need.len() as f64)
            .figure("have", found.have.len() as f64);
        compare(row, "need", expected, &sets.need, found.need);
        compare(row, "have", expected, &sets.have, found.have);
    }
    row.end(u64::from(spec.repeats.max(1)));
    row.figure("ms", total.at_us(0.5) / 1e3)
        .figure("relay_ms", waited.at_us(0.5) / 1e3)
        .latency("total", &total)
        .latency("relay", &waited);
    Ok(())
}

/// Verifies a list of ids exactly, apart from events on which the NIPs leave relays a choice.
fn compare(
    row: &mut Row,
    name: &str,
    expected: &Expectation,
    must: &[EventId],
    mut found: Vec<EventId>,
) {
    found.sort_unstable();
    let length = found.len();
    found.dedup();
    let mut must = must.to_vec();
    must.sort_unstable();
    let closed = |id: &&EventId| !expected.is_open(id);
    let missing: Vec<_> =
        must.iter().filter(|id| found.binary_search(id).is_err()).filter(closed).copied().collect();
    let extra: Vec<_> =
        found.iter().filter(|id| must.binary_search(id).is_err()).filter(closed).copied().collect();
    row.check(&format!("{name}_missing"), 0, missing.len())
        .check(&format!("{name}_extra"), 0, extra.len())
        .check(&format!("{name}_doubled"), 0, length - found.len());
    name_some(row, &format!("{name} missing"), &missing);
    name_some(row, &format!("{name} extra"), &extra);
}
