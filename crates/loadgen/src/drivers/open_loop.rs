//! `open-loop`: events at a fixed rate, timed from when they were due, at shares of the maximum.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::crowd::Crowd;
use super::error::DriveError;
use super::flood::flood;
use super::ingest::Shape;
use super::ledger::Audience;
use super::live::Live;
use super::notes::{Notes, authors};
use super::pace::Schedule;
use super::publish::Publisher;
use super::runtime::{SETTLE, block_on, wait_for};
use super::spec::positive;
use crate::report::Report;
use crate::row::Row;
use crate::target::Target;

/// How the maximum is found, and over how many connections the open loop publishes.
const SHAPE: Shape = Shape { connections: 4, window: 200 };

/// Authors of the events.
const AUTHORS: usize = 1_000;

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// The relay's maximum in events a second; 0 finds it by a closed loop first
    #[arg(long, value_name = "N", default_value_t = 0.0)]
    pub max_per_s: f64,
    /// Events by which the maximum is found
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub max_events: usize,
    /// Shares of the maximum in percent, a row for each
    #[arg(long, value_name = "%,..", value_delimiter = ',', default_values_t = [25.0, 50.0, 75.0])]
    pub percent: Vec<f64>,
    /// Seconds of each row
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub seconds: f64,
    /// Bytes of content of each event
    #[arg(long, value_name = "BYTES", default_value_t = 350)]
    pub content_bytes: usize,
    /// Seconds without any progress after which a row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// A row `maximum` unless it is given, and a row for each share: `25 %`.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let mut max_per_s = spec.max_per_s;
    if max_per_s <= 0.0 {
        let mut row = Row::new("open-loop", "maximum", target);
        row.param("events", spec.max_events);
        let outcome = block_on(maximum(target, spec, &mut row));
        let found = outcome.as_ref().ok().copied();
        emit(row.close(outcome.map(|_| ())));
        let Some(found) = found else { return };
        max_per_s = found;
    }
    for percent in &spec.percent {
        let rate = max_per_s * percent / 100.0;
        let events = (rate * spec.seconds).max(1.0) as usize;
        let mut row = Row::new("open-loop", format!("{percent} %"), target);
        row.param("percent", *percent)
            .param("rate_per_s", rate.round())
            .param("events", events)
            .param("connections", SHAPE.connections);
        let outcome = block_on(measure(target, spec, rate, events, &mut row));
        emit(row.close(outcome));
    }
}

fn fresh_notes(spec: &Spec, events: usize) -> Notes {
    Notes::new(&authors(AUTHORS), events, spec.content_bytes, |place| place % AUTHORS)
}

async fn maximum(target: &Target, spec: &Spec, row: &mut Row) -> Result<f64, DriveError> {
    let silence = Duration::from_secs(spec.silence_s);
    let notes = Rc::new(fresh_notes(spec, spec.max_events));
    let flood = flood(target, notes, spec.max_events, SHAPE, silence, row).await?;
    let per_s = flood.accepted.len() as f64 / flood.elapsed_s;
    row.figure("events_per_s", per_s)
        .latency("ok", &flood.times)
        .check("accepted", spec.max_events, flood.accepted.len())
        .check("answered_twice", 0, flood.doubled)
        .check("stray_answers", 0, flood.stray);
    if let Some(text) = flood.loss.or(flood.first_refusal) {
        row.warn(text);
    }
    Ok(per_s)
}

async fn measure(
    target: &Target,
    spec: &Spec,
    rate_per_s: f64,
    events: usize,
    row: &mut Row,
) -> Result<(), DriveError> {
    positive(&[("rate", rate_per_s)])?;
    let silence = Duration::from_secs(spec.silence_s);
    let notes = Arc::new(fresh_notes(spec, events));
    let first = SHAPE.connections;
    let filter_of = |_| r#"{"kinds":[1],"limit":1}"#.to_owned();
    let crowd = Crowd::gather(target, first, 1, silence, filter_of).await?;
    let publisher = Publisher::connect_many(target, 0, SHAPE.connections).await?;

    let begin = row.begin();
    let schedule = Schedule::new(begin + Duration::from_millis(20), rate_per_s);
    let live = Live::start(crowd, notes.clone(), schedule, Audience::All(1));
    let published = publisher.publish(notes, schedule);
    let all = live.expected() + events as u64;
    wait_for(all, silence, || live.arrived() + published.answered()).await;
    let elapsed_s = row.end(published.answered());
    tokio::time::sleep(SETTLE).await;
    row.figure("events_per_s", published.answered() as f64 / elapsed_s);
    live.report(row);
    published.finish(row)
}
