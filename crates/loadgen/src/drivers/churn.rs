//! Sockets that open and close subscriptions as fast as the relay lets them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::error::DriveError;
use super::rng::Rng;
use crate::latency::Recorder;
use crate::row::Row;
use crate::socket::{Message, Socket, SocketError};
use crate::target::Target;

/// Different filters that the sockets take in turn.
const FILTERS: usize = 64;

/// Authors of the largest of them.
const FILTER_AUTHORS_MAX: f64 = 1_000.0;

/// Sockets that will open and close subscriptions.
pub(crate) struct Churn {
    sockets: Vec<Socket>,
    filters: Rc<Vec<String>>,
    silence: Duration,
}

/// Sockets that do.
pub(crate) struct Turning {
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
    /// Connects `count` sockets, numbered from `first`.
    pub(crate) async fn connect(
        target: &Target,
        first: usize,
        count: usize,
        silence: Duration,
    ) -> Result<Self, DriveError> {
        let mut sockets = Vec::new();
        for number in 0..count {
            sockets.push(Socket::connect(&target.address, first + number).await?);
        }
        Ok(Self { sockets, filters: Rc::new(filters()), silence })
    }

    /// Starts them.
    pub(crate) fn start(self) -> Turning {
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
    /// Lets every socket finish its turn.
    pub(crate) fn stop(&self) {
        self.state.stopped.set(true);
    }

    /// Waits for the last turns and says how many there were.
    pub(crate) async fn report(self, elapsed_s: f64, row: &mut Row) {
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
