//! `fanout-churn`: fan-out to N sockets, alone and while others open and close subscriptions.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::churn::Churn;
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
    /// Subscribers that stay
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pub subscribers: usize,
    /// Sockets that open and close subscriptions as fast as they can
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub churners: usize,
    /// Events to publish in each row
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pub events: usize,
    /// Events a second
    #[arg(long, value_name = "N", default_value_t = 500.0)]
    pub rate: f64,
    /// Bytes of content of each event
    #[arg(long, value_name = "BYTES", default_value_t = 200)]
    pub content_bytes: usize,
    /// Seconds without any progress after which a row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// Two rows: `alone` and `churn`.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    for (case, churners) in [("alone", 0), ("churn", spec.churners)] {
        let mut row = Row::new("fanout-churn", case, target);
        row.param("subscribers", spec.subscribers)
            .param("churners", churners)
            .param("events", spec.events)
            .param("rate_per_s", spec.rate);
        let outcome = block_on(measure(target, spec, churners, &mut row));
        emit(row.close(outcome));
    }
}

async fn measure(
    target: &Target,
    spec: &Spec,
    churners: usize,
    row: &mut Row,
) -> Result<(), DriveError> {
    positive(&[("subscribers", spec.subscribers as f64), ("rate", spec.rate)])?;
    let silence = Duration::from_secs(spec.silence_s);
    let subscribers = spec.subscribers;
    let authors = authors(subscribers);
    let reader_of = move |place: usize| place.wrapping_mul(7_919) % subscribers;
    let notes = Arc::new(Notes::new(&authors, spec.events, spec.content_bytes, reader_of));
    let filter_of =
        |number: usize| format!(r#"{{"authors":["{}"],"kinds":[1]}}"#, authors[number].pubkey());
    let crowd = Crowd::gather(target, 1 + churners, subscribers, silence, filter_of).await?;
    let publisher = Publisher::connect(target, 0).await?;
    let churn = Churn::connect(target, 1, churners, silence).await?;

    let begin = row.begin();
    let schedule = Schedule::new(begin + Duration::from_millis(20), spec.rate);
    let audience = Audience::One(Box::new(reader_of));
    let live = Live::start(crowd, notes.clone(), schedule, audience);
    let turning = churn.start();
    let published = publisher.publish(notes, schedule);
    let all = live.expected() + spec.events as u64;
    wait_for(all, silence, || live.arrived() + published.answered()).await;
    turning.stop();
    let elapsed_s = row.end(live.arrived());
    tokio::time::sleep(SETTLE).await;
    live.report(row);
    turning.report(elapsed_s, row).await;
    published.finish(row)
}
