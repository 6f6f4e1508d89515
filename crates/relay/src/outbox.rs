//! What waits for one connection's socket, and who may still add to it.
//!
//! Everything a client is sent goes through its outbox as whole WebSocket frames in one buffer,
//! which the connection's writer swaps out and hands to the socket in one call. Four kinds of
//! frames come from four sides, and each has its own answer to a client that does not read:
//!
//! | what | who adds it | when the outbox is full |
//! |---|---|---|
//! | replies (`OK`, `NOTICE`, `CLOSED`, pongs) | session, committer | the connection's reader stops reading |
//! | stored results, replays | query workers | the job is parked until the socket took enough |
//! | live events | fan-out | the subscription lags and is fed from the log later |
//! | the close frame | anyone, once | it goes out last, whatever waits |
//!
//! So the memory of a connection is bounded by [`OutboxBounds`] and one frame of each kind.
//!
//! A writer that has nothing to do is woken for a frame, which costs as much as writing it. So the fan-out
//! hands a live event to the socket itself where nothing waits and the event has few takers; what the
//! socket does not take waits for the writer.
//!
//! A subscription's frames are added under the outbox's lock and only while it is
//! [active](Ticket). Ending it takes the same lock, so nothing of a closed or replaced `REQ` can
//! follow its end (R01-47).

#[cfg(test)]
mod tests;

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;
use zeolite_proto::RelayMsg;
use zeolite_session::SubKey;

use crate::frames;

/// How much may wait in one outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutboxBounds {
    /// Waiting bytes at which query jobs park.
    pub results_high_bytes: usize,
    /// Waiting bytes at which parked jobs and lagging subscriptions go on.
    pub low_bytes: usize,
    /// Waiting bytes above which a live event is not added and its subscription lags.
    pub live_bytes_max: usize,
    /// Waiting bytes of replies above which the reader takes no further message.
    pub reply_bytes_max: usize,
    /// Bytes of this connection's events between parser and `OK` above which the reader waits.
    pub ingest_bytes_max: usize,
}

/// Whether a subscription may still be sent anything. Shared by all that feed it.
#[derive(Debug)]
pub struct Ticket(AtomicBool);

impl Default for Ticket {
    fn default() -> Self {
        Self(AtomicBool::new(true))
    }
}

impl Ticket {
    /// True until the subscription was closed, replaced or ended. What is decided on it is decided
    /// again under the outbox's lock before anything is sent.
    pub fn is_active(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What became of a live event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It waits for the socket.
    Taken,
    /// The socket took this many bytes of it at once; the rest, if any, waits.
    Sent(usize),
    /// The outbox is above its bound: nothing was added, and [`Drained::lag`] will follow.
    Full,
    /// The subscription has ended or the connection is closing.
    Gone,
}

/// Whether a query job may go on after it added results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Below high water.
    Some,
    /// At or above high water.
    None,
    /// The subscription has ended or the connection is closing: nothing was added.
    Gone,
}

/// What the writer finds.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken {
    /// Frames to write.
    Frames,
    /// Nothing waits; [`Outbox::filled`] tells when something does.
    Nothing,
    /// The last frame, a close frame, was taken before. Nothing will follow.
    Closed,
}

/// Who waited for the outbox to drain and may go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Parked query jobs.
    pub jobs: bool,
    /// Lagging subscriptions.
    pub lag: bool,
}

/// The last frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    No,
    Asked,
    FrameTaken,
}

struct State {
    /// Frames that the writer has not taken.
    pending: Vec<u8>,
    /// Bytes that the writer took and the socket did not.
    taken_bytes: usize,
    /// How many bytes of `pending` and of the taken buffer are replies.
    reply_bytes: usize,
    taken_reply_bytes: usize,
    ingest_bytes: usize,
    closing: Closing,
    writer_idle: bool,
    reader_waits: bool,
    jobs_wait: bool,
    lag_waits: bool,
    ended: Vec<SubKey>,
    /// While there is a writer: what it writes to.
    socket: Option<Arc<OwnedWriteHalf>>,
}

/// The outbox of one connection.
pub struct Outbox {
    state: Mutex<State>,
    /// The same for all connections.
    bounds: Arc<OutboxBounds>,
    filled: Notify,
    room: Notify,
}

impl State {
    fn backlog(&self) -> usize {
        self.pending.len() + self.taken_bytes
    }

    fn is_open(&self) -> bool {
        self.closing == Closing::No
    }

    fn reader_may_go_on(&self, bounds: &OutboxBounds) -> bool {
        let replies = self.reply_bytes + self.taken_reply_bytes;
        !self.is_open()
            || (replies <= bounds.reply_bytes_max && self.ingest_bytes <= bounds.ingest_bytes_max)
    }

    /// True if the reader waits and need not any longer; it has to be told then.
    fn take_waiting_reader(&mut self, bounds: &OutboxBounds) -> bool {
        let wake = self.reader_waits && self.reader_may_go_on(bounds);
        self.reader_waits &= !wake;
        wake
    }

    /// Ends what the ticket is for with its last message, unless it has ended.
    fn end(&mut self, ticket: &Ticket, last: &RelayMsg<'_>) -> bool {
        if !self.is_open() || !ticket.0.swap(false, Ordering::Relaxed) {
            return false;
        }
        self.push_reply(|out| frames::push_text(out, |out| last.encode(out)));
        true
    }

    /// Hands what waits to the socket, which has nothing to do; gives the bytes that it took. Whatever is
    /// wrong with it is the writer's to find.
    fn send(&mut self) -> usize {
        let socket = self.socket.as_ref().filter(|_| self.writer_idle);
        let sent = socket.and_then(|socket| socket.try_write(&self.pending).ok()).unwrap_or(0);
        if sent == self.pending.len() {
            // An idle connection holds no buffer.
            self.pending = Vec::new();
        } else {
            self.pending.drain(..sent);
        }
        sent
    }

    fn push_reply(&mut self, add: impl FnOnce(&mut Vec<u8>)) {
        if self.is_open() {
            let before = self.pending.len();
            add(&mut self.pending);
            self.reply_bytes += self.pending.len() - before;
        }
    }
}

/// For those who add frames.
impl Outbox {
    /// An empty outbox.
    pub fn new(bounds: impl Into<Arc<OutboxBounds>>) -> Self {
        let bounds = bounds.into();
        let state = State {
            pending: Vec::new(),
            taken_bytes: 0,
            reply_bytes: 0,
            taken_reply_bytes: 0,
            ingest_bytes: 0,
            closing: Closing::No,
            writer_idle: false,
            reader_waits: false,
            jobs_wait: false,
            lag_waits: false,
            ended: Vec::new(),
            socket: None,
        };
        Self { state: Mutex::new(state), bounds, filled: Notify::new(), room: Notify::new() }
    }

    /// Changes the state and wakes the writer if that gave it something to do.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let out = change(&mut state);
        let has_work = !state.pending.is_empty() || state.closing == Closing::Asked;
        let wake = has_work && mem::take(&mut state.writer_idle);
        drop(state);
        if wake {
            self.filled.notify_one();
        }
        out
    }

    fn add_reply(&self, add: impl FnOnce(&mut Vec<u8>)) {
        self.change(|state| state.push_reply(add));
    }

    /// Adds a reply. It is never refused: the reader asks [`Outbox::reader_room`] before the next
    /// message, and what it already let in is bounded.
    pub fn reply(&self, message: &RelayMsg<'_>) {
        self.add_reply(|out| frames::push_text(out, |out| message.encode(out)));
    }

    /// Adds a reply that is already encoded.
    pub fn reply_json(&self, json: &[u8]) {
        self.add_reply(|out| frames::push_text_parts(out, &[json]));
    }

    /// Answers a ping.
    pub fn pong(&self, payload: &[u8]) {
        self.add_reply(|out| frames::push_pong(out, payload));
    }

    /// Asks the client for a sign of life.
    pub fn ping(&self) {
        self.add_reply(frames::push_ping);
    }

    /// Adds frames of stored results; `frames` is empty afterwards unless the answer is
    /// [`Room::Gone`].
    pub fn results(&self, ticket: &Ticket, frames: &mut Vec<u8>) -> Room {
        self.change(|state| {
            if !state.is_open() || !ticket.is_active() {
                return Room::Gone;
            }
            if state.pending.is_empty() {
                mem::swap(&mut state.pending, frames);
            } else {
                state.pending.append(frames);
            }
            if state.backlog() < self.bounds.results_high_bytes { Room::Some } else { Room::None }
        })
    }

    /// Offers a live event as the parts of one message. `at_once`: the socket may be tried here and now.
    pub fn live(&self, ticket: &Ticket, parts: &[&[u8]], at_once: bool) -> Offer {
        self.change(|state| {
            if !state.is_open() || !ticket.is_active() {
                Offer::Gone
            } else if state.backlog() > self.bounds.live_bytes_max {
                state.lag_waits = true;
                Offer::Full
            } else {
                frames::push_text_parts(&mut state.pending, parts);
                match if at_once { state.send() } else { 0 } {
                    0 => Offer::Taken,
                    sent => Offer::Sent(sent),
                }
            }
        })
    }

    /// Ends a subscription at the client's wish. Nothing of it is added afterwards.
    pub fn end(&self, ticket: &Ticket) {
        let _adders_are_out = self.state.lock();
        ticket.0.store(false, Ordering::Relaxed);
    }

    /// Ends a subscription at the relay's wish: `closed` is its last message, and the session
    /// hears of it through [`Outbox::take_ended`]. False if it had ended before.
    pub fn end_with(&self, ticket: &Ticket, key: SubKey, closed: &RelayMsg<'_>) -> bool {
        self.change(|state| {
            let ended = state.end(ticket, closed);
            if ended {
                state.ended.push(key);
            }
            ended
        })
    }

    /// Ends a reconciliation at the relay's wish with its last message. The reader sees by the
    /// ticket that it has ended. False if it had ended before.
    pub fn end_unnamed(&self, ticket: &Ticket, last: &RelayMsg<'_>) -> bool {
        self.change(|state| state.end(ticket, last))
    }

    /// Whether a job may add results.
    pub fn has_results_room(&self) -> bool {
        let state = self.state.lock();
        !state.is_open() || state.backlog() < self.bounds.results_high_bytes
    }

    /// Lets a parked job wait for low water. False if it is there already.
    pub fn wait_for_low_water(&self) -> bool {
        let mut state = self.state.lock();
        state.jobs_wait = state.is_open() && state.backlog() > self.bounds.low_bytes;
        state.jobs_wait
    }

    /// Closes the connection once what waits was written. Only the first close counts.
    pub fn close(&self, code: u16, reason: &str) {
        self.close_with(|out| frames::push_close(out, code, reason));
    }

    /// Answers a client's close frame without a code.
    pub fn close_empty(&self) {
        self.close_with(frames::push_close_empty);
    }

    fn close_with(&self, add: impl FnOnce(&mut Vec<u8>)) {
        self.change(|state| {
            if state.is_open() {
                add(&mut state.pending);
                state.closing = Closing::Asked;
            }
        });
        self.room.notify_one();
    }

    /// Closes without a word and drops what waits: the peer is gone.
    pub fn abandon(&self) {
        self.change(|state| {
            state.pending = Vec::new();
            state.closing = Closing::Asked;
        });
        self.room.notify_one();
    }
}

/// For the connection's reader.
impl Outbox {
    /// Waits until the next message may be taken: until replies were read and events were
    /// answered.
    pub async fn reader_room(&self) {
        while !self.has_reader_room() {
            self.room.notified().await;
        }
    }

    fn has_reader_room(&self) -> bool {
        let mut state = self.state.lock();
        let go_on = state.reader_may_go_on(&self.bounds);
        state.reader_waits = !go_on;
        go_on
    }

    /// True once the connection is closing.
    pub fn is_closing(&self) -> bool {
        !self.state.lock().is_open()
    }

    /// The subscriptions that the relay ended since the last call.
    pub fn take_ended(&self) -> Vec<SubKey> {
        mem::take(&mut self.state.lock().ended)
    }

    /// An event of this many bytes is under way.
    pub fn ingest_began(&self, bytes: usize) {
        self.state.lock().ingest_bytes += bytes;
    }

    /// That event was answered, with this message.
    pub fn ingest_ended(&self, bytes: usize, answer: &RelayMsg<'_>) {
        let reader_may_go_on = self.change(|state| {
            state.push_reply(|out| frames::push_text(out, |out| answer.encode(out)));
            state.ingest_bytes -= bytes;
            state.take_waiting_reader(&self.bounds)
        });
        if reader_may_go_on {
            self.room.notify_one();
        }
    }
}

/// For the connection's writer.
impl Outbox {
    /// Says what the writer writes to; nothing, once it has ended.
    pub fn set_socket(&self, socket: Option<Arc<OwnedWriteHalf>>) {
        self.state.lock().socket = socket;
    }

    /// Waits until there may be something to take.
    pub async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Swaps everything that waits into `frames`, which must be empty.
    pub fn take(&self, frames: &mut Vec<u8>) -> Taken {
        debug_assert!(frames.is_empty(), "what was taken before must have been written");
        let mut state = self.state.lock();
        if state.closing == Closing::FrameTaken {
            return Taken::Closed;
        }
        if state.closing == Closing::Asked {
            state.closing = Closing::FrameTaken;
        }
        if state.pending.is_empty() {
            // The buffer of an earlier burst may still hang here.
            state.pending = Vec::new();
            state.writer_idle = true;
            let closed = state.closing == Closing::FrameTaken;
            return if closed { Taken::Closed } else { Taken::Nothing };
        }
        mem::swap(&mut state.pending, frames);
        state.taken_bytes = frames.len();
        state.taken_reply_bytes = mem::take(&mut state.reply_bytes);
        Taken::Frames
    }

    /// The socket took this many bytes of what was taken. Says who may go on.
    pub fn written(&self, bytes: usize) -> Drained {
        let mut state = self.state.lock();
        state.taken_bytes -= bytes;
        if state.taken_bytes == 0 {
            state.taken_reply_bytes = 0;
        }
        let mut drained = Drained::default();
        if state.backlog() <= self.bounds.low_bytes {
            drained.jobs = mem::take(&mut state.jobs_wait);
            drained.lag = mem::take(&mut state.lag_waits);
        }
        let reader_may_go_on = state.take_waiting_reader(&self.bounds);
        drop(state);
        if reader_may_go_on {
            self.room.notify_one();
        }
        drained
    }
}
