//! The clients that send too much: an event, then a query, and so on, at their rate.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::task::{AbortHandle, spawn_local};

use super::super::error::DriveError;
use super::super::notes::{Notes, authors};
use super::super::pace::Schedule;
use crate::row::Row;
use crate::socket::{Message, Sender, Socket};
use crate::target::Target;

/// The shortest sleep of the sending thread: what is due in between goes out together.
const SLEEP_MIN: Duration = Duration::from_micros(500);

/// How the relay answered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Events that were accepted and queries that were answered.
    pub(super) allowed: u64,
    /// Refused as too much.
    pub(super) refused: u64,
    /// Refused for another reason, or no answer to anything.
    pub(super) other: u64,
}

impl Counts {
    pub(super) fn answered(&self) -> u64 {
        self.allowed + self.refused
    }

    fn take(&mut self, message: &Message<'_>) {
        let of_refusal = |text: &str| text.starts_with("rate-limited:");
        match message {
            Message::Ok(_, true, _) | Message::Eose(_) => self.allowed += 1,
            Message::Ok(_, false, text) | Message::Closed(_, text) if of_refusal(text) => {
                self.refused += 1;
            }
            _ => self.other += 1,
        }
    }
}

/// Connected, and silent so far.
pub(super) struct Abusers {
    sockets: Vec<Socket>,
    plan: Option<Plan>,
}

/// What is sent, and when.
struct Plan {
    notes: Notes,
    queries: Vec<String>,
    clients: usize,
    messages: usize,
    rate_per_s: f64,
}

impl Plan {
    /// The clients send in turn; each an event, then a query.
    fn message(&self, place: usize) -> Vec<u8> {
        let (client, turn) = (place % self.clients, place / self.clients);
        if turn.is_multiple_of(2) {
            return self.notes.event(turn / 2 * self.clients + client).message().to_vec();
        }
        format!(r#"["REQ","{turn}",{}]"#, self.queries[client]).into_bytes()
    }
}

impl Abusers {
    /// Connects once with each of these numbers.
    pub(super) async fn connect(
        target: &Target,
        numbers: impl Iterator<Item = usize>,
    ) -> Result<Self, DriveError> {
        let mut sockets = Vec::new();
        for number in numbers {
            sockets.push(Socket::connect(&target.address, number).await?);
        }
        Ok(Self { sockets, plan: None })
    }

    /// Signs what they will send in this time: so many events a second each, and as many queries.
    /// Their authors are not the first ones, to whom others listen.
    pub(super) fn arm(&mut self, others: usize, seconds: f64, per_s: f64) {
        let clients = self.sockets.len();
        let turns = (seconds * per_s).ceil() as usize;
        let authors = authors(others + clients).split_off(others);
        let notes = Notes::new(&authors, turns * clients, 300, |place| place % clients);
        // Nobody publishes these: each is answered by a look at an index, and by nothing live.
        let query = |author: &crate::corpus::Author| {
            format!(r#"{{"authors":["{}"],"kinds":[7]}}"#, author.pubkey())
        };
        let queries = authors.iter().map(query).collect();
        let rate_per_s = 2.0 * per_s * clients as f64;
        let messages = 2 * turns * clients;
        self.plan = Some(Plan { notes, queries, clients, messages, rate_per_s });
    }

    /// Begins to send, in a thread, and to read, here.
    pub(super) fn start(mut self) -> Flooding {
        let plan = self.plan.take().expect("they are armed before they start");
        let planned = plan.messages as u64;
        let senders: Vec<_> = self.sockets.iter().map(|socket| socket.sender().clone()).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || send(&senders, &plan, &stopped));
        let seen = Rc::new(RefCell::new((Counts::default(), Vec::new())));
        let readers = self.sockets.into_iter().map(|mut socket| {
            let seen = seen.clone();
            let reading = async move {
                loop {
                    let read = socket.read(|message, _| seen.borrow_mut().0.take(&message)).await;
                    if let Err(error) = read {
                        seen.borrow_mut().1.push(error.to_string());
                        return;
                    }
                }
            };
            spawn_local(reading).abort_handle()
        });
        let readers = readers.collect();
        Flooding { thread: Some(thread), stop, readers, seen, planned }
    }
}

/// Clients that are sending.
pub(super) struct Flooding {
    thread: Option<JoinHandle<std::io::Result<()>>>,
    stop: Arc<AtomicBool>,
    readers: Vec<AbortHandle>,
    seen: Rc<RefCell<(Counts, Vec<String>)>>,
    planned: u64,
}

impl Flooding {
    pub(super) fn counts(&self) -> Counts {
        self.seen.borrow().0
    }

    /// How many messages are sent in all.
    pub(super) fn planned(&self) -> u64 {
        self.planned
    }

    /// Ends them; none lost its connection meanwhile.
    pub(super) fn finish(mut self, row: &mut Row) -> Result<(), DriveError> {
        self.stop.store(true, Ordering::Relaxed);
        let lost = self.seen.borrow().1.clone();
        row.check("abusers_lost", 0, lost.len());
        if let Some(error) = lost.first() {
            row.warn(format!("an abuser's connection: {error}"));
        }
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => Ok(result?),
            Some(Err(_)) => Err(DriveError::Program("the sending thread panicked".into())),
            None => Ok(()),
        }
    }
}

impl Drop for Flooding {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.readers.iter().for_each(AbortHandle::abort);
    }
}

/// Sends everything at its time. What a full socket does not take goes with the client's next.
fn send(senders: &[Sender], plan: &Plan, stop: &AtomicBool) -> std::io::Result<()> {
    let schedule = Schedule::new(Instant::now(), plan.rate_per_s);
    let mut next = 0;
    while next < plan.messages && !stop.load(Ordering::Relaxed) {
        let due = schedule.due_by(Instant::now()).min(plan.messages);
        for place in next..due {
            let sender = &senders[place % plan.clients];
            sender.queue(&plan.message(place));
            sender.try_flush()?;
        }
        next = due;
        let wake = schedule.due(next).max(Instant::now() + SLEEP_MIN);
        std::thread::sleep(wake.saturating_duration_since(Instant::now()));
    }
    while !stop.load(Ordering::Relaxed) {
        let flushed: Vec<bool> = senders.iter().map(Sender::try_flush).collect::<Result<_, _>>()?;
        if flushed.iter().all(|is_done| *is_done) {
            return Ok(());
        }
        std::thread::sleep(SLEEP_MIN);
    }
    Ok(())
}
