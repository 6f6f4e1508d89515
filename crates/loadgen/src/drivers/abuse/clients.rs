//! The clients that send too much: an event, then a query, and so on, at their rate.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::nice;
use tokio::task::spawn_local;

use super::super::error::DriveError;
use super::super::notes::{Notes, authors};
use super::super::pace::Schedule;
use super::super::runtime::block_on;
use crate::row::Row;
use crate::socket::{Message, Sender, Socket};
use crate::target::Target;

/// The shortest sleep of the sending thread: what is due in between goes out together.
const SLEEP_MIN: Duration = Duration::from_micros(500);

/// How often the threads look whether they are to end.
const LOOK: Duration = Duration::from_millis(10);

/// The lowest priority there is.
const NICE_MOST: i32 = 19;

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

/// What is sent, and when.
pub(super) struct Plan {
    notes: Notes,
    queries: Vec<String>,
    clients: usize,
    messages: usize,
    /// Over how many turns the clients begin.
    beginning_turns: usize,
    rate_per_s: f64,
}

impl Plan {
    /// Signs what so many clients will send in this time: so many events a second each, and as many
    /// queries. Their authors are not the first ones, to whom others listen.
    ///
    /// They begin one after the other, over `begin_s`: if all had spent what they have in one moment,
    /// the relay would let all of them have more in one moment too, and again every time.
    pub(super) fn new(
        clients: usize,
        others: usize,
        seconds: f64,
        begin_s: f64,
        per_s: f64,
    ) -> Self {
        let turns = (seconds * per_s).ceil() as usize;
        let authors = authors(others + clients).split_off(others);
        let notes = Notes::new(&authors, turns * clients, 300, |place| place % clients);
        // Nobody publishes these: each is answered by a look at an index, and by nothing live.
        let query = |author: &crate::corpus::Author| {
            format!(r#"{{"authors":["{}"],"kinds":[7]}}"#, author.pubkey())
        };
        let queries = authors.iter().map(query).collect();
        let rate_per_s = 2.0 * per_s * clients as f64;
        let beginning_turns = (begin_s * 2.0 * per_s) as usize;
        let messages = 2 * turns * clients;
        Self { notes, queries, clients, messages, beginning_turns, rate_per_s }
    }

    /// The turn with which a client begins.
    fn first_turn(&self, client: usize) -> usize {
        client * self.beginning_turns / self.clients
    }

    /// How many messages are sent in all.
    fn planned(&self) -> u64 {
        let left_out: usize = (0..self.clients).map(|client| self.first_turn(client)).sum();
        (self.messages - left_out) as u64
    }

    /// The clients send in turn; each an event, then a query. `None` if its client has not begun.
    fn message(&self, place: usize) -> Option<Vec<u8>> {
        let (client, turn) = (place % self.clients, place / self.clients);
        if turn < self.first_turn(client) {
            return None;
        }
        Some(if turn.is_multiple_of(2) {
            self.notes.event(turn / 2 * self.clients + client).message().to_vec()
        } else {
            format!(r#"["REQ","{turn}",{}]"#, self.queries[client]).into_bytes()
        })
    }
}

/// Clients that are sending.
pub(super) struct Flooding {
    thread: Option<JoinHandle<Result<(), DriveError>>>,
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    planned: u64,
}

/// What came back, and whose connections were lost.
#[derive(Default)]
struct Seen {
    counts: Counts,
    lost: Vec<String>,
}

impl Flooding {
    /// Connects once with each of these numbers, and begins to send.
    ///
    /// In threads of their own, which give way to all others: these clients stand for machines
    /// elsewhere, and what they need must not be taken for what others suffer from them.
    pub(super) fn start(
        target: &Target,
        numbers: impl Iterator<Item = usize> + Send + 'static,
        plan: Plan,
    ) -> Result<Self, DriveError> {
        let (stop, seen) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Seen>>::default());
        let planned = plan.planned();
        let (connected, is_connected) = crossbeam_channel::bounded(1);
        let thread = std::thread::spawn({
            let (target, stop, seen) = (target.clone(), stop.clone(), seen.clone());
            move || {
                nice(NICE_MOST).map_err(std::io::Error::from)?;
                block_on(async {
                    let mut sockets = Vec::new();
                    for number in numbers {
                        sockets.push(Socket::connect(&target.address, number).await?);
                    }
                    // Whoever started this is gone if nobody hears it.
                    let _ = connected.send(());
                    flood(sockets, plan, &stop, &seen).await
                })
            }
        });
        let flooding = Self { thread: Some(thread), stop, seen, planned };
        match is_connected.recv() {
            Ok(()) => Ok(flooding),
            Err(_) => flooding.join().and(Err(DriveError::Program("nobody connected".into()))),
        }
    }

    pub(super) fn counts(&self) -> Counts {
        lock(&self.seen).counts
    }

    /// How many messages are sent in all.
    pub(super) fn planned(&self) -> u64 {
        self.planned
    }

    /// Ends them; none lost its connection meanwhile.
    pub(super) fn finish(self, row: &mut Row) -> Result<(), DriveError> {
        let lost = lock(&self.seen).lost.clone();
        row.check("abusers_lost", 0, lost.len());
        if let Some(error) = lost.first() {
            row.warn(format!("an abuser's connection: {error}"));
        }
        self.join()
    }

    fn join(mut self) -> Result<(), DriveError> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(DriveError::Program("the abusers' thread panicked".into())),
            None => Ok(()),
        }
    }
}

impl Drop for Flooding {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Sends in a thread and reads in this one, until it is told to stop.
async fn flood(
    sockets: Vec<Socket>,
    plan: Plan,
    stop: &Arc<AtomicBool>,
    seen: &Arc<Mutex<Seen>>,
) -> Result<(), DriveError> {
    let senders: Vec<_> = sockets.iter().map(|socket| socket.sender().clone()).collect();
    let stopped = stop.clone();
    let sending = std::thread::spawn(move || send(&senders, &plan, &stopped));
    for mut socket in sockets {
        let seen = seen.clone();
        spawn_local(async move {
            loop {
                let read = socket.read(|message, _| lock(&seen).counts.take(&message)).await;
                if let Err(error) = read {
                    lock(&seen).lost.push(error.to_string());
                    return;
                }
            }
        });
    }
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK).await;
    }
    match sending.join() {
        Ok(result) => Ok(result?),
        Err(_) => Err(DriveError::Program("the sending thread panicked".into())),
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().expect("no thread panics with it")
}

/// Sends everything at its time. What a full socket does not take goes with the client's next.
fn send(senders: &[Sender], plan: &Plan, stop: &AtomicBool) -> std::io::Result<()> {
    let schedule = Schedule::new(Instant::now(), plan.rate_per_s);
    let mut next = 0;
    while next < plan.messages && !stop.load(Ordering::Relaxed) {
        let due = schedule.due_by(Instant::now()).min(plan.messages);
        for place in next..due {
            let Some(message) = plan.message(place) else { continue };
            let sender = &senders[place % plan.clients];
            sender.queue(&message);
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
