//! `fanout-slow`: some sockets that want everything stop reading; the others must not notice.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::task::JoinSet;

use super::crowd::Crowd;
use super::error::DriveError;
use super::ledger::{Audience, Ledger};
use super::live::Live;
use super::notes::{Notes, authors};
use super::pace::Schedule;
use super::publish::Publisher;
use super::runtime::{SETTLE, block_on, wait_for};
use super::spec::positive;
use crate::report::Report;
use crate::row::Row;
use crate::socket::{Message, Socket};
use crate::target::Target;

/// Receive buffers of the slow sockets, so that it is the relay that must keep what they do not take.
const SLOW_RECEIVE_BYTES: u32 = 32 << 10;

/// How much of it.
#[derive(Args, Clone, Debug)]
pub struct Spec {
    /// Sockets with a subscription of their own
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub subscribers: usize,
    /// Sockets beside them that want every event; they are the ones that stop reading
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub slow: usize,
    /// Events to publish in each row
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    pub events: usize,
    /// Events a second
    #[arg(long, value_name = "N", default_value_t = 500.0)]
    pub rate: f64,
    /// Bytes of content of each event: what a stopped socket misses must not fit the kernel's buffers
    #[arg(long, value_name = "BYTES", default_value_t = 4_000)]
    pub content_bytes: usize,
    /// Seconds without any progress after which a row ends
    #[arg(long, value_name = "S", default_value_t = 20)]
    pub silence_s: u64,
}

/// Two rows: `all read`, then `some stop`.
pub fn run(target: &Target, spec: &Spec, emit: &mut dyn FnMut(Report)) {
    let mut healthy_p99_us = 0.0;
    for (case, stops) in [("all read", false), ("some stop", true)] {
        let mut row = Row::new("fanout-slow", case, target);
        row.param("subscribers", spec.subscribers)
            .param("slow", spec.slow)
            .param("events", spec.events)
            .param("rate_per_s", spec.rate)
            .param("content_bytes", spec.content_bytes);
        let outcome = block_on(measure(target, spec, stops, &mut row)).map(|p99_us| {
            if stops && healthy_p99_us > 0.0 {
                row.figure("p99_ratio", p99_us / healthy_p99_us);
            }
            healthy_p99_us = p99_us;
        });
        emit(row.close(outcome));
    }
}

/// Gives the 99th percentile of the deliveries to those who read.
async fn measure(
    target: &Target,
    spec: &Spec,
    stops: bool,
    row: &mut Row,
) -> Result<f64, DriveError> {
    positive(&[("subscribers", spec.subscribers as f64), ("rate", spec.rate)])?;
    let silence = Duration::from_secs(spec.silence_s);
    let subscribers = spec.subscribers;
    let authors = authors(subscribers);
    let reader_of = move |place: usize| place.wrapping_mul(7_919) % subscribers;
    let notes = Arc::new(Notes::new(&authors, spec.events, spec.content_bytes, reader_of));
    let filter_of =
        |number: usize| format!(r#"{{"authors":["{}"],"kinds":[1]}}"#, authors[number].pubkey());
    let crowd = Crowd::gather(target, 1 + spec.slow, subscribers, silence, filter_of).await?;
    let all = |_| r#"{"kinds":[1],"limit":1}"#.to_owned();
    let small = Some(SLOW_RECEIVE_BYTES);
    let slow = Crowd::gather_with(target, 1, spec.slow, silence, small, all).await?.into_members();
    let publisher = Publisher::connect(target, 0).await?;

    let begin = row.begin();
    let schedule = Schedule::new(begin + Duration::from_millis(20), spec.rate);
    let live = Live::start(crowd, notes.clone(), schedule, Audience::One(Box::new(reader_of)));
    let drains = Drains::new(notes.clone(), schedule, spec.slow, silence);
    let published = publisher.publish(notes, schedule);
    let all = live.expected() + spec.events as u64;
    let both = || live.arrived() + published.answered();
    if stops {
        wait_for(all, silence, both).await;
        row.end(live.arrived());
        drains.run(slow, row).await;
    } else {
        tokio::join!(wait_for(all, silence, both), drains.run(slow, row));
        row.end(live.arrived());
    }
    tokio::time::sleep(SETTLE).await;
    live.report(row);
    published.finish(row)?;
    Ok(live.delivery_us(0.99))
}

/// What the slow sockets receive once they read.
struct Drains {
    ledger: Rc<RefCell<Ledger>>,
    events: u64,
    silence: Duration,
}

/// How a slow socket's story ended.
enum End {
    Complete,
    Closed(String),
    Cut(String),
}

impl Drains {
    fn new(notes: Arc<Notes>, schedule: Schedule, slow: usize, silence: Duration) -> Self {
        let events = notes.len() as u64;
        let ledger = Ledger::new(notes, schedule, Audience::All(slow));
        Self { ledger: Rc::new(RefCell::new(ledger)), events, silence }
    }

    /// Reads all of them to the end: everything, or a CLOSED. Anything else is a silent gap.
    async fn run(&self, slow: Vec<Socket>, row: &mut Row) {
        let mut lanes = JoinSet::new();
        for (member, socket) in slow.into_iter().enumerate() {
            let (ledger, events, silence) = (self.ledger.clone(), self.events, self.silence);
            lanes.spawn_local(async move { drain(member, socket, &ledger, events, silence).await });
        }
        let (mut complete, mut closed, mut cut) = (0_u64, 0_u64, 0_u64);
        while let Some(lane) = lanes.join_next().await {
            match lane {
                Ok(End::Complete) => complete += 1,
                Ok(End::Closed(text)) => {
                    closed += 1;
                    row.warn(format!("a slow socket was closed: {text}"));
                }
                Ok(End::Cut(text)) => {
                    cut += 1;
                    row.warn(format!("a slow socket has a gap: {text}"));
                }
                Err(error) => {
                    cut += 1;
                    row.warn(error.to_string());
                }
            }
        }
        let counts = self.ledger.borrow().counts();
        row.figure("slow_complete", complete as f64)
            .figure("slow_closed", closed as f64)
            .figure("slow_deliveries", counts.delivered as f64)
            .check("slow_with_a_gap", 0, cut)
            .check("slow_doubled", 0, counts.doubled)
            .check("slow_stray", 0, counts.stray);
    }
}

async fn drain(
    member: usize,
    mut socket: Socket,
    ledger: &RefCell<Ledger>,
    events: u64,
    silence: Duration,
) -> End {
    let (mut arrived, mut closed) = (0, None);
    let reading = socket.read_until(silence, |message, now| match message {
        Message::Event(_, id, _) => {
            arrived += u64::from(ledger.borrow_mut().take(member, &id, now));
            arrived == events
        }
        Message::Closed(_, text) => {
            closed = Some(text);
            true
        }
        _ => false,
    });
    match (reading.await, closed) {
        (_, Some(text)) => End::Closed(text),
        (Ok(()), None) => End::Complete,
        (Err(error), None) => End::Cut(format!("{arrived} of {events} events, then {error}")),
    }
}
