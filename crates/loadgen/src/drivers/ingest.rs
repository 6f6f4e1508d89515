//! `ingest`: a corpus over C connections with W unanswered events each; then all of it again.

use std::collections::HashSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use zeolite_proto::EventId;

use super::ask::Asker;
use super::error::DriveError;
use super::facts::{Expectation, name_some};
use super::flood::{Flood, flood};
use super::runtime::block_on;
use crate::corpus::Corpus;
use crate::report::Report;
use crate::row::Row;
use crate::target::Target;

/// Accepted events that are asked for afterwards: an `OK` is a promise.
const SAMPLE: usize = 2_000;

/// Ids in one REQ of the sample.
const SAMPLE_IDS: usize = 100;

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// The corpus to send
    #[arg(long, value_name = "FILE")]
    pub corpus: PathBuf,
    /// Connections x unanswered events of each: 4x200, 1x1, 64x50
    #[arg(long, value_name = "CxW", default_value = "4x200")]
    pub shape: Shape,
    /// Only so many events of the corpus; 0 is all
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub events: usize,
    /// Do not send the same events again
    #[arg(long)]
    pub once: bool,
    /// Seconds without any progress after which a row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// Connections and the unanswered events that each may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Connections.
    pub connections: usize,
    /// Unanswered events of each.
    pub window: usize,
}

impl FromStr for Shape {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once('x');
        let parts = parts.and_then(|(c, w)| Some((c.parse().ok()?, w.parse().ok()?)));
        match parts {
            Some((connections @ 1.., window @ 1..)) => Ok(Self { connections, window }),
            _ => Err("expected CONNECTIONSxWINDOW, such as 4x200"),
        }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.connections, self.window)
    }
}

/// Two rows: `4x200 new` and `4x200 again`.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let row = |pass: &str| {
        let mut row = Row::new("ingest", format!("{} {pass}", spec.shape), target);
        row.param("connections", spec.shape.connections).param("window", spec.shape.window);
        row
    };
    let loaded = Corpus::open(&spec.corpus).map_err(DriveError::from);
    let loaded = loaded.and_then(|corpus| {
        let events = if spec.events > 0 { spec.events.min(corpus.len()) } else { corpus.len() };
        let expected = Expectation::of_corpus(&corpus, events)?;
        Ok((Rc::new(corpus), events, expected))
    });
    let (corpus, events, expected) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return emit(row("new").fail(error)),
    };
    for pass in ["new", "again"].into_iter().take(if spec.once { 1 } else { 2 }) {
        let mut row = row(pass);
        row.param("events", events);
        let outcome = block_on(measure(target, spec, corpus.clone(), events, &expected, &mut row));
        emit(row.close(outcome));
    }
}

async fn measure(
    target: &Target,
    spec: &Spec,
    corpus: Rc<Corpus>,
    events: usize,
    expected: &Expectation,
    row: &mut Row,
) -> Result<(), DriveError> {
    let silence = Duration::from_secs(spec.silence_s);
    let flood = flood(target, corpus, events, spec.shape, silence, row).await?;
    report(&flood, events, row);
    check_promises(target, &flood, expected, silence, row).await
}

/// The figures of a flood, and that each event was answered once.
fn report(flood: &Flood, events: usize, row: &mut Row) {
    row.figure("events_per_s", flood.answered as f64 / flood.elapsed_s)
        .figure("accepted", flood.accepted.len() as f64)
        .latency("ok", &flood.times)
        .check("answered", events as u64, flood.answered)
        .check("answered_twice", 0, flood.doubled)
        .check("stray_answers", 0, flood.stray);
    for (prefix, count) in &flood.refused {
        row.figure(&format!("refused_{prefix}"), *count as f64);
    }
    if let Some(text) = &flood.first_refusal {
        row.warn(format!("the first refusal: {text}"));
    }
    if let Some(text) = &flood.loss {
        row.warn(text.clone());
    }
}

/// What was accepted and must be held is there; what must be held was not refused.
async fn check_promises(
    target: &Target,
    flood: &Flood,
    expected: &Expectation,
    silence: Duration,
    row: &mut Row,
) -> Result<(), DriveError> {
    let wrongly: Vec<_> =
        flood.refused_ids.iter().filter(|id| expected.holds_surely(id)).copied().collect();
    row.check("wrongly_refused", 0, wrongly.len());
    name_some(row, "wrongly refused", &wrongly);

    let held: Vec<_> =
        flood.accepted.iter().filter(|id| expected.holds_publicly(id)).copied().collect();
    let step = held.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<EventId> = held.into_iter().step_by(step).collect();
    let mut asker = Asker::connect(target, 0, silence).await?;
    let missing = missing(&mut asker, &sample).await?;
    row.figure("sampled", sample.len() as f64).check("accepted_and_missing", 0, missing.len());
    name_some(row, "accepted and missing", &missing);
    Ok(())
}

/// Which of these ids the relay does not give.
pub(crate) async fn missing(
    asker: &mut Asker,
    ids: &[EventId],
) -> Result<Vec<EventId>, DriveError> {
    let mut missing = Vec::new();
    for ids in ids.chunks(SAMPLE_IDS) {
        let list: Vec<_> = ids.iter().map(|id| format!("\"{id}\"")).collect();
        let filter = format!("{{\"ids\":[{}],\"limit\":{}}}", list.join(","), ids.len());
        let found: HashSet<_> = asker.ask(&filter).await?.ids.into_iter().collect();
        missing.extend(ids.iter().filter(|id| !found.contains(id)));
    }
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read() {
        assert_eq!("4x200".parse(), Ok(Shape { connections: 4, window: 200 }));
        for bad in ["4", "x", "0x1", "1x0", "4x200x1", "-1x2"] {
            assert!(bad.parse::<Shape>().is_err(), "{bad}");
        }
    }
}
