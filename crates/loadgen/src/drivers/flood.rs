//! Sending as fast as the answers allow: a closed loop with a window on each connection.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use zeolite_proto::EventId;

use super::error::DriveError;
use super::ingest::Shape;
use crate::corpus::Corpus;
use crate::latency::Recorder;
use crate::row::Row;
use crate::socket::{Message, Socket};
use crate::target::Target;

/// What became of the events.
#[derive(Default)]
pub(crate) struct Flood {
    /// Events with an answer.
    pub(crate) answered: u64,
    /// Ids that were accepted.
    pub(crate) accepted: Vec<EventId>,
    /// How many were refused, by the prefix of the reason.
    pub(crate) refused: BTreeMap<String, u64>,
    /// Ids that were refused.
    pub(crate) refused_ids: Vec<EventId>,
    /// The first refusal in full.
    pub(crate) first_refusal: Option<String>,
    /// Answers that came again.
    pub(crate) doubled: u64,
    /// Answers to events that were not sent on that connection.
    pub(crate) stray: u64,
    /// Why a connection ended early.
    pub(crate) loss: Option<String>,
    /// From sending to the answer.
    pub(crate) times: Recorder,
    /// From the first event sent to the last answer.
    pub(crate) elapsed_s: f64,
}

/// Events that are ready to be sent.
pub(crate) trait Supply {
    /// How many.
    fn events(&self) -> usize;
    /// The id and the message `["EVENT",{..}]` of the event at a place.
    fn message(&self, place: usize) -> (EventId, &[u8]);
}

impl Supply for Corpus {
    fn events(&self) -> usize {
        self.len()
    }

    fn message(&self, place: usize) -> (EventId, &[u8]) {
        let event = self.event(place);
        (event.id, event.message())
    }
}

/// Events that wait to be sent, and who takes the next.
struct Stock {
    supply: Rc<dyn Supply>,
    next: Cell<usize>,
    end: usize,
}

impl Stock {
    fn take(&self) -> Option<(EventId, &[u8])> {
        let next = self.next.get();
        if next == self.end {
            return None;
        }
        self.next.set(next + 1);
        Some(self.supply.message(next))
    }
}

/// Sends the first `events` over `shape` and measures from the first to the last answer. The
/// measured phase of `row` is the sending.
pub(crate) async fn flood(
    target: &Target,
    supply: Rc<dyn Supply>,
    events: usize,
    shape: Shape,
    silence: Duration,
    row: &mut Row,
) -> Result<Flood, DriveError> {
    let mut sockets = Vec::new();
    for number in 0..shape.connections {
        sockets.push(Socket::connect(&target.address, number).await?);
    }
    let end = events.min(supply.events());
    let stock = Rc::new(Stock { supply, next: Cell::new(0), end });
    let flood = Rc::new(RefCell::new(Flood::default()));
    let begin = row.begin();
    let last = Rc::new(Cell::new(begin));
    let mut lanes = JoinSet::new();
    for socket in sockets {
        let mut lane = Lane {
            socket,
            stock: stock.clone(),
            flood: flood.clone(),
            last: last.clone(),
            waiting: VecDeque::with_capacity(shape.window),
        };
        lanes.spawn_local(async move { lane.run(shape.window, silence).await });
    }
    while let Some(lane) = lanes.join_next().await {
        if let Ok(Err(error)) = lane {
            flood.borrow_mut().loss.get_or_insert(error.to_string());
        }
    }
    let mut flood = flood.take();
    row.end(flood.answered);
    flood.elapsed_s = (last.get() - begin).as_secs_f64().max(1e-9);
    Ok(flood)
}

/// One connection.
struct Lane {
    socket: Socket,
    stock: Rc<Stock>,
    flood: Rc<RefCell<Flood>>,
    last: Rc<Cell<Instant>>,
    /// Sent and not answered. Relays answer in order or nearly so: the front is looked at first.
    waiting: VecDeque<(EventId, Instant)>,
}

impl Lane {
    async fn run(&mut self, window: usize, silence: Duration) -> Result<(), DriveError> {
        loop {
            self.fill(window);
            if self.waiting.is_empty() {
                return Ok(());
            }
            self.socket.sender().flush().await?;
            let Self { socket, flood, last, waiting, .. } = self;
            let reading = socket.read(|message, now| {
                if let Message::Ok(id, accepted, text) = message {
                    flood.borrow_mut().take(waiting, id, accepted, text, now);
                    last.set(now);
                }
            });
            let silent = || crate::socket::SocketError::Silent(silence);
            tokio::time::timeout(silence, reading).await.map_err(|_| silent())??;
        }
    }

    fn fill(&mut self, window: usize) {
        let now = Instant::now();
        while self.waiting.len() < window
            && let Some((id, message)) = self.stock.take()
        {
            self.socket.sender().queue(message);
            self.waiting.push_back((id, now));
        }
    }
}

impl Flood {
    fn take(
        &mut self,
        waiting: &mut VecDeque<(EventId, Instant)>,
        id: EventId,
        accepted: bool,
        text: String,
        now: Instant,
    ) {
        let Some(place) = waiting.iter().position(|(waiting, _)| *waiting == id) else {
            // An id that was answered before comes again; any other was never sent here.
            if self.accepted.contains(&id) || self.refused_ids.contains(&id) {
                self.doubled += 1;
            } else {
                self.stray += 1;
            }
            return;
        };
        let (_, sent) = waiting.remove(place).expect("the position was found in this list");
        self.answered += 1;
        self.times.record(now - sent);
        if accepted {
            self.accepted.push(id);
            return;
        }
        let prefix = text.split_once(':').map_or("other", |(prefix, _)| prefix);
        *self.refused.entry(prefix.to_owned()).or_default() += 1;
        self.refused_ids.push(id);
        self.first_refusal.get_or_insert(text);
    }
}
