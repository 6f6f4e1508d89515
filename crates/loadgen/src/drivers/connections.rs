//! `connections`: a ramp to N sockets that subscribe and then say nothing.

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
use crate::cost::Reading;
use crate::report::Report;
use crate::row::Row;
use crate::target::Target;

/// Events by which a sample of the idle sockets proves that it still listens.
const PROOFS: usize = 200;

/// Proofs a second.
const PROOF_RATE: f64 = 200.0;

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// Sockets
    #[arg(long, value_name = "N", default_value_t = 15_000)]
    pub sockets: usize,
    /// Seconds in which nothing happens, before memory is read
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    pub idle_s: f64,
    /// Seconds without any progress after which the row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// One row: `n=15000`.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let mut row = Row::new("connections", format!("n={}", spec.sockets), target);
    row.param("sockets", spec.sockets).param("idle_s", spec.idle_s);
    let outcome = block_on(measure(target, spec, &mut row));
    emit(row.close(outcome));
}

async fn measure(target: &Target, spec: &Spec, row: &mut Row) -> Result<(), DriveError> {
    positive(&[("sockets", spec.sockets as f64)])?;
    let silence = Duration::from_secs(spec.silence_s);
    let sockets = spec.sockets;
    let authors = authors(sockets);
    let reader_of = move |place: usize| place.wrapping_mul(7_919) % sockets;
    let notes = Arc::new(Notes::new(&authors, PROOFS, 100, reader_of));
    let filter_of =
        |number: usize| format!(r#"{{"authors":["{}"],"kinds":[1]}}"#, authors[number].pubkey());
    let publisher = Publisher::connect(target, 0).await?;
    let rss = || target.pid.and_then(Reading::of).map(|reading| reading.rss_bytes());
    let rss_before = rss();

    row.begin();
    let crowd = Crowd::gather(target, 1, sockets, silence, filter_of).await?;
    let elapsed_s = row.end(sockets as u64);
    row.figure("connects_per_s", sockets as f64 / elapsed_s).latency("connect", &crowd.connect);
    tokio::time::sleep(Duration::from_secs_f64(spec.idle_s)).await;
    if let (Some(before), Some(after)) = (rss_before, rss()) {
        let grown = after.saturating_sub(before) as f64;
        row.figure("rss_per_connection_bytes", grown / sockets as f64);
    }

    let schedule = Schedule::new(std::time::Instant::now(), PROOF_RATE);
    let live = Live::start(crowd, notes.clone(), schedule, Audience::One(Box::new(reader_of)));
    let published = publisher.publish(notes, schedule);
    let all = live.expected() + PROOFS as u64;
    wait_for(all, silence, || live.arrived() + published.answered()).await;
    tokio::time::sleep(SETTLE).await;
    live.report(row);
    published.finish(row)
}
