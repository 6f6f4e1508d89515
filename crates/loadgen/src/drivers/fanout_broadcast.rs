//! `fanout-broadcast`: N sockets want the same events: one alone, then a steady stream.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::crowd::Crowd;
use super::error::DriveError;
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

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// Numbers of subscribers, two rows for each
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [1_000])]
    pub subscribers: Vec<usize>,
    /// Events that are published alone, a second apart as long as the deliveries take less
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub single_events: usize,
    /// Events of the stream
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub events: usize,
    /// Events a second of the stream
    #[arg(long, value_name = "N", default_value_t = 100.0)]
    pub rate: f64,
    /// Bytes of content of each event
    #[arg(long, value_name = "BYTES", default_value_t = 200)]
    pub content_bytes: usize,
    /// Seconds without any progress after which a row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// Two rows for each number of subscribers: `n=1000 single` and `n=1000 100/s`.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    for &subscribers in &spec.subscribers {
        let phases = [("single".to_owned(), spec.single_events, 1.0)];
        let stream = (format!("{}/s", spec.rate), spec.events, spec.rate);
        for (name, events, rate) in phases.into_iter().chain([stream]) {
            let mut row = Row::new("fanout-broadcast", format!("n={subscribers} {name}"), target);
            row.param("subscribers", subscribers)
                .param("events", events)
                .param("rate_per_s", rate)
                .param("content_bytes", spec.content_bytes);
            let phase = Phase { subscribers, events, rate };
            let outcome = block_on(measure(target, spec, phase, &mut row));
            emit(row.close(outcome));
        }
    }
}

#[derive(Clone, Copy)]
struct Phase {
    subscribers: usize,
    events: usize,
    rate: f64,
}

async fn measure(
    target: &Target,
    spec: &Spec,
    phase: Phase,
    row: &mut Row,
) -> Result<(), DriveError> {
    positive(&[("subscribers", phase.subscribers as f64), ("rate", phase.rate)])?;
    let silence = Duration::from_secs(spec.silence_s);
    let author = authors(1);
    let notes = Arc::new(Notes::new(&author, phase.events, spec.content_bytes, |_| 0));
    let filter_of = |_| r#"{"kinds":[1],"limit":1}"#.to_owned();
    let crowd = Crowd::gather(target, 1, phase.subscribers, silence, filter_of).await?;
    let publisher = Publisher::connect(target, 0).await?;

    let begin = row.begin();
    let schedule = Schedule::new(begin + Duration::from_millis(20), phase.rate);
    let audience = Audience::All(phase.subscribers);
    let live = Live::start(crowd, notes.clone(), schedule, audience);
    let published = publisher.publish(notes, schedule);
    let all = live.expected() + phase.events as u64;
    wait_for(all, silence, || live.arrived() + published.answered()).await;
    let elapsed_s = row.end(live.arrived());
    tokio::time::sleep(SETTLE).await;
    live.report(row);
    live.report_edges(row);
    row.figure("deliveries_per_s", live.arrived() as f64 / elapsed_s);
    published.finish(row)
}
