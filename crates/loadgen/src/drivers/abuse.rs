//! `abuse`: many clients that send and ask far more than the relay allows one address, beside others
//! that keep within it and must not notice.
//!
//! Each client has a loopback address of its own. What the relay allows is a matter of its
//! configuration, which `--per-s` and `--burst` only repeat.

mod clients;

use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use self::clients::{Counts, Flooding, Plan};
use super::crowd::Crowd;
use super::error::DriveError;
use super::ledger::Audience;
use super::live::Live;
use super::notes::{Notes, authors};
use super::pace::Schedule;
use super::publish::Publisher;
use super::runtime::{SETTLE, block_on, make_room, wait_for};
use super::spec::positive;
use crate::limits::SOCKETS_PER_SOURCE;
use crate::report::Report;
use crate::row::Row;
use crate::target::Target;

/// The share of its budget that a well-behaved publisher uses.
const MODEST: f64 = 0.5;

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// Clients that send and ask too much
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub abusers: usize,
    /// Events a second, and queries a second, that the relay allows one address
    #[arg(long, value_name = "N", default_value_t = 1.0)]
    pub per_s: f64,
    /// Events, and queries, that it lets an address save up
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub burst: usize,
    /// How many times as much the abusers send and ask
    #[arg(long, value_name = "N", default_value_t = 10.0)]
    pub times: f64,
    /// Seconds of each row
    #[arg(long, value_name = "S", default_value_t = 6.0)]
    pub seconds: f64,
    /// Sockets that listen, all of one address; at most half of what it may save up, since both rows
    /// subscribe
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub subscribers: usize,
    /// Clients that publish for them at half of what they may
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub publishers: usize,
    /// Seconds without any progress after which a row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// What one row came to.
struct Outcome {
    p99_us: f64,
    cpu_share: Option<f64>,
    refused_per_s: f64,
}

/// Two rows: `within limits`, then `too much`.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let mut within = None;
    for (case, times) in [("within limits", 1.0), ("too much", spec.times)] {
        let mut row = Row::new("abuse", case, target);
        row.param("abusers", spec.abusers)
            .param("allowed_per_s", spec.per_s)
            .param("sent_per_s", spec.per_s * times)
            .param("subscribers", spec.subscribers);
        let outcome = block_on(measure(target, spec, times, &mut row)).map(|outcome| {
            if let Some(within) = &within {
                compare(within, &outcome, &mut row);
            }
            within = Some(outcome);
        });
        emit(row.close(outcome));
    }
}

/// What the refusals cost: the processor time beyond that of the same clients within their limits.
fn compare(within: &Outcome, beyond: &Outcome, row: &mut Row) {
    if let (Some(before), Some(after)) = (within.cpu_share, beyond.cpu_share) {
        row.figure("refusal_cpu_us", (after - before) * 1e6 / beyond.refused_per_s.max(1.0));
    }
    if within.p99_us > 0.0 {
        row.figure("p99_ratio", beyond.p99_us / within.p99_us);
    }
}

/// The number of a connection that has an address of its own. The first address is that of the
/// subscribers.
fn apart(client: usize) -> usize {
    (client + 1) * SOCKETS_PER_SOURCE
}

async fn measure(
    target: &Target,
    spec: &Spec,
    times: f64,
    row: &mut Row,
) -> Result<Outcome, DriveError> {
    positive(&[
        ("abusers", spec.abusers as f64),
        ("per-s", spec.per_s),
        ("times", times),
        ("publishers", spec.publishers as f64),
        ("subscribers", spec.subscribers as f64),
    ])?;
    make_room(spec.abusers + spec.publishers + spec.subscribers + 16)?;
    let silence = Duration::from_secs(spec.silence_s);
    let asked_s = spent_s(spec, times) + spec.seconds;
    let per_s = spec.per_s * times;
    let plan = Plan::new(spec.abusers, spec.subscribers, asked_s, begin_s(spec), per_s);
    let subscribers = spec.subscribers;
    let authors = authors(subscribers);
    let reader_of = move |place: usize| place % subscribers;
    let rate = spec.publishers as f64 * spec.per_s * MODEST;
    let events = (spec.seconds * rate) as usize;
    let notes = Arc::new(Notes::new(&authors, events, 300, reader_of));
    let filter_of =
        |number: usize| format!(r#"{{"authors":["{}"],"kinds":[1]}}"#, authors[number].pubkey());
    let crowd = Crowd::gather(target, 0, subscribers, silence, filter_of).await?;
    let numbers = (spec.abusers..spec.abusers + spec.publishers).map(apart);
    let publisher = Publisher::connect_from(target, numbers).await?;

    let flooding = Flooding::start(target, (0..spec.abusers).map(apart), plan)?;
    tokio::time::sleep(Duration::from_secs_f64(spent_s(spec, times))).await;
    let before = flooding.counts();
    let begin = row.begin();
    let schedule = Schedule::new(begin + Duration::from_millis(20), rate);
    let live = Live::start(crowd, notes.clone(), schedule, Audience::One(Box::new(reader_of)));
    let published = publisher.publish(notes, schedule);
    let all = live.expected() + events as u64;
    wait_for(all, silence, || live.arrived() + published.answered()).await;
    let counts = flooding.counts();
    let refused = counts.refused - before.refused;
    let elapsed_s = row.end(refused);
    wait_for(flooding.planned(), silence, || flooding.counts().answered()).await;
    tokio::time::sleep(SETTLE).await;
    live.report(row);
    report(spec, times, &flooding.counts(), flooding.planned(), row);
    flooding.finish(row)?;
    published.finish(row)?;
    Ok(Outcome {
        p99_us: live.delivery_us(0.99),
        cpu_share: row.relay_cpu_s().map(|cpu_s| cpu_s / elapsed_s),
        refused_per_s: refused as f64 / elapsed_s,
    })
}

/// How long it takes until all abusers have begun: until the first has earned another event.
fn begin_s(spec: &Spec) -> f64 {
    1.0 / spec.per_s
}

/// How long it takes until the abusers have nothing saved up, and a little more.
fn spent_s(spec: &Spec, times: f64) -> f64 {
    let beyond_per_s = spec.per_s * (times - 1.0);
    let spent_s = if beyond_per_s > 0.0 { spec.burst as f64 / beyond_per_s + 0.5 } else { 0.0 };
    begin_s(spec) + spent_s
}

/// Everything the abusers sent was answered, and what they may not have was refused for that.
fn report(spec: &Spec, times: f64, counts: &Counts, planned: u64, row: &mut Row) {
    let asked_s = spent_s(spec, times) + spec.seconds;
    // Of events and of queries; a refill more or less at either end.
    let allowed = 2.0 * spec.abusers as f64 * (spec.burst as f64 + spec.per_s * (asked_s + 1.0));
    let refused_min = (planned as f64 - allowed).max(0.0) as u64;
    row.figure("refused", counts.refused as f64)
        .figure("allowed", counts.allowed as f64)
        .check("abuse_answered", planned, counts.answered())
        .check("abuse_otherwise_answered", 0, counts.other)
        .require(
            "refused",
            &format!("at least {refused_min}"),
            counts.refused,
            counts.refused >= refused_min,
        );
    if times <= 1.0 {
        row.check("refused_within_limits", 0, counts.refused);
    }
}
