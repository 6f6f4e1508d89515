//! `fanout-churn`: fan-out to N sockets, alone and while others open and close subscriptions.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::task::JoinSet;

use super::crowd::Crowd;
use super::error::DriveError;
use super::ledger::{Audience, Ledger};
use super::notes::{Notes, authors};
use super::pace::Schedule;
use super::publish::Publisher;
use super::rng::Rng;
use super::runtime::{SETTLE, block_on, wait_for};
use crate::latency::Recorder;
use crate::report::Report;
use crate::row::Row;
use crate::socket::{Message, Socket, SocketError};
use crate::target::Target;

/// Different filters that the churning sockets take in turn.
const FILTERS: usize = 64;

/// Authors of the largest of them.
const FILTER_AUTHORS_MAX: f64 = 1_000.0;

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
    let silence = Duration::from_secs(spec.silence_s);
    let subscribers = spec.subscribers;
    let authors = authors(subscribers);
    let reader_of = move |place: usize| place.wrapping_mul(7_919) % subscribers;
    let notes = Arc::new(Notes::new(&authors, spec.events, spec.content_bytes, reader_of));
    let filter_of =
        |number: usize| format!(r#"{{"authors":["{}"],"kinds":[1]}}"#, authors[number].pubkey());
    let crowd = Crowd::gather(target, 1 + churners, subscribers, silence, filter_of).await?;
    let publisher = Publisher::connect(target, 0).await?;
    let churn = Churn::connect(target, churners, silence).await?;

    let begin = row.begin();
    let schedule = Schedule::new(begin + Duration::from_millis(20), spec.rate);
    let audience = Audience::One(Box::new(reader_of));
    let ledger = Rc::new(RefCell::new(Ledger::new(notes.clone(), schedule, audience)));
    let deliveries = ledger.clone();
    let listening = crowd.listen(move |member, message, now: Instant| {
        if let Message::Event(_, id, _) = message {
            deliveries.borrow_mut().take(member, &id, now);
        }
    });
    let turning = churn.start();
    let published = publisher.publish(notes, schedule);
    let arrived = || ledger.borrow().counts().delivered;
    wait_for(2 * spec.events as u64, silence, || arrived() + published.answered()).await;
    turning.stop();
    let elapsed_s = row.end(arrived());
    tokio::time::sleep(SETTLE).await;

    ledger.borrow().check(row);
    row.latency("delivery", &ledger.borrow().delivery).check("lost_sockets", 0, listening.lost());
    turning.report(elapsed_s, row).await;
    published.finish(row)
}

/// Sockets that will open and close subscriptions.
struct Churn {
    sockets: Vec<Socket>,
    filters: Rc<Vec<String>>,
    silence: Duration,
}

/// Sockets that do.
struct Turning {
    state: Rc<State>,
    lanes: RefCell<JoinSet<Result<(), SocketError>>>,
}

#[derive(Default)]
struct State {
    stopped: Cell<bool>,
    turns: Cell<u64>,
    refused: Cell<u64>,
    stray: Cell<u64>,
    eose: RefCell<Recorder>,
}

impl Churn {
    async fn connect(target: &Target, count: usize, silence: Duration) -> Result<Self, DriveError> {
        let mut sockets = Vec::new();
        for number in 0..count {
            sockets.push(Socket::connect(&target.address, 1 + number).await?);
        }
        Ok(Self { sockets, filters: Rc::new(filters()), silence })
    }

    fn start(self) -> Turning {
        let state = Rc::new(State::default());
        let mut lanes = JoinSet::new();
        for (number, socket) in self.sockets.into_iter().enumerate() {
            let (state, filters) = (state.clone(), self.filters.clone());
            let silence = self.silence;
            lanes.spawn_local(async move { turn(socket, number, &filters, &state, silence).await });
        }
        Turning { state, lanes: RefCell::new(lanes) }
    }
}

/// Opens a subscription, waits for its EOSE, closes it, and so on.
async fn turn(
    mut socket: Socket,
    first: usize,
    filters: &[String],
    state: &State,
    silence: Duration,
) -> Result<(), SocketError> {
    let mut serial = first;
    while !state.stopped.get() {
        serial += 1;
        let sub = format!("c{serial}");
        let filter = &filters[serial % filters.len()];
        let begin = Instant::now();
        socket.sender().send(format!("[\"REQ\",\"{sub}\",{filter}]").as_bytes()).await?;
        let reading = socket.read_until(silence, |message, now| match message {
            Message::Eose(of) if of == sub => {
                state.eose.borrow_mut().record(now - begin);
                true
            }
            Message::Closed(..) => {
                state.refused.set(state.refused.get() + 1);
                true
            }
            Message::Event(..) => {
                state.stray.set(state.stray.get() + 1);
                false
            }
            _ => false,
        });
        reading.await?;
        socket.sender().send(format!("[\"CLOSE\",\"{sub}\"]").as_bytes()).await?;
        state.turns.set(state.turns.get() + 1);
    }
    Ok(())
}

impl Turning {
    fn stop(&self) {
        self.state.stopped.set(true);
    }

    async fn report(self, elapsed_s: f64, row: &mut Row) {
        let mut lanes = self.lanes.take();
        let mut lost = 0_u64;
        while let Some(lane) = lanes.join_next().await {
            if let Ok(Err(error)) = lane {
                lost += 1;
                row.warn(format!("a churning socket: {error}"));
            }
        }
        let state = &self.state;
        row.figure("subscriptions", state.turns.get() as f64)
            .figure("subscriptions_per_s", state.turns.get() as f64 / elapsed_s)
            .latency("churn_eose", &state.eose.borrow())
            .check("churn_lost_sockets", 0, lost)
            .check("churn_refused", 0, state.refused.get())
            .check("churn_stray", 0, state.stray.get());
    }
}

/// Filters of 1 to 1,000 authors whom nobody knows; as many of one size as of ten times that size.
fn filters() -> Vec<String> {
    let mut rng = Rng::new(0x6368_7572);
    let filters = (0..FILTERS).map(|_| {
        let size = FILTER_AUTHORS_MAX.powf(rng.share()).round() as usize;
        let authors: Vec<_> = (0..size).map(|_| format!("\"{}\"", rng.hex())).collect();
        format!("{{\"authors\":[{}],\"kinds\":[1]}}", authors.join(","))
    });
    filters.collect()
}
