//! `fanout-scaling`: N sockets, each with a subscription of its own; every event is for exactly one.

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
    /// Numbers of subscribers, a row for each
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_values_t = [100, 1_000, 5_000, 15_000])]
    pub subscribers: Vec<usize>,
    /// Events to publish, spread over the subscribers
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pub events: usize,
    /// Events a second, from one publisher on its own socket
    #[arg(long, value_name = "N", default_value_t = 500.0)]
    pub rate: f64,
    /// Bytes of content of each event
    #[arg(long, value_name = "BYTES", default_value_t = 200)]
    pub content_bytes: usize,
    /// Seconds without any progress after which a row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// A row for each number of subscribers.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    for &subscribers in &spec.subscribers {
        let mut row = Row::new("fanout-scaling", format!("n={subscribers}"), target);
        row.param("subscribers", subscribers)
            .param("events", spec.events)
            .param("rate_per_s", spec.rate)
            .param("content_bytes", spec.content_bytes);
        let outcome = block_on(measure(target, spec, subscribers, &mut row));
        emit(row.close(outcome));
    }
}

async fn measure(
    target: &Target,
    spec: &Spec,
    subscribers: usize,
    row: &mut Row,
) -> Result<(), DriveError> {
    positive(&[("subscribers", subscribers as f64), ("rate", spec.rate)])?;
    let silence = Duration::from_secs(spec.silence_s);
    let authors = authors(subscribers);
    // A step that shares no factor with the number visits every subscriber, in no local order.
    let reader_of = move |place: usize| place.wrapping_mul(7_919) % subscribers;
    let notes = Arc::new(Notes::new(&authors, spec.events, spec.content_bytes, reader_of));
    let filter_of =
        |number: usize| format!(r#"{{"authors":["{}"],"kinds":[1]}}"#, authors[number].pubkey());
    let crowd = Crowd::gather(target, 1, subscribers, silence, filter_of).await?;
    row.latency("connect", &crowd.connect);
    let publisher = Publisher::connect(target, 0).await?;

    let begin = row.begin();
    let schedule = Schedule::new(begin + Duration::from_millis(20), spec.rate);
    let audience = Audience::One(Box::new(reader_of));
    let live = Live::start(crowd, notes.clone(), schedule, audience);
    let published = publisher.publish(notes, schedule);
    let all = live.expected() + spec.events as u64;
    wait_for(all, silence, || live.arrived() + published.answered()).await;
    row.end(live.arrived());
    tokio::time::sleep(SETTLE).await;
    live.report(row);
    published.finish(row)
}
