//! What a query worker does for a client, slice by slice.

use std::sync::Arc;

use zeolite_proto::{
    EoseHint, EventRef, Filter, Prefix, Reader, Reason, RelayMsg, SubId, Timestamp,
};
use zeolite_session::{NegKey, SubKey};
use zeolite_store::{
    Count as StoredCount, ReadError, Scan, ScanOptions, ScanState, SliceBudget, Store,
};

use crate::conn::Conn;
use crate::fanout::Replay;
use crate::frames;
use crate::inbox::FanoutIn;
use crate::limits::SCAN_SLICE_BYTES;
use crate::neg::Turn;
use crate::outbox::Room;
use crate::subscription::Subscription;

/// What every job works with.
pub struct Desk {
    /// What is read.
    pub store: Store,
    /// Limits of filters.
    pub options: ScanOptions,
    /// How long one slice may take.
    pub budget: SliceBudget,
    /// Frames on their way to an outbox, empty between slices.
    pub frames: Vec<u8>,
}

/// What became of a slice.
#[derive(Debug)]
pub enum Step {
    /// There is more to do.
    More,
    /// There is more to do, and the outbox is full.
    Parked,
    /// The job is over; the fan-out has to hear of it.
    Done(Option<FanoutIn<Arc<Subscription>>>),
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// One job of a connection.
pub enum Job {
    /// The stored answer to a REQ.
    Query(Query),
    /// A COUNT.
    Count(Count),
    /// What a subscription missed since its query or its lag.
    Replay(Replay<Arc<Subscription>>),
    /// A message of a reconciliation.
    Reconcile(Turn),
}

/// The stored answer to a REQ, on its way.
pub struct Query {
    subscription: Arc<Subscription>,
    /// For whom. A login while it runs does not change it.
    reader: Arc<Reader>,
    /// The newest ephemeral event at its `REQ`.
    heard: u64,
    /// Made in the first slice: what is admitted before that is part of the stored answer.
    scan: Option<Scan>,
}

/// A COUNT, on its way.
pub struct Count {
    conn: Arc<Conn>,
    sub: SubId,
    filters: Arc<[Filter]>,
    reader: Arc<Reader>,
    /// Made in the first slice.
    stored: Option<StoredCount>,
}

impl Job {
    /// The stored answer for `subscription`, then `EOSE`, then its attachment to the live feed, with
    /// the ephemeral events after `heard`.
    pub fn query(subscription: Arc<Subscription>, heard: u64) -> Self {
        let reader = subscription.conn().login.reader();
        Self::Query(Query { subscription, reader, heard, scan: None })
    }

    /// How many stored events match.
    pub fn count(conn: Arc<Conn>, sub: SubId, filters: Arc<[Filter]>) -> Self {
        let reader = conn.login.reader();
        Self::Count(Count { conn, sub, filters, reader, stored: None })
    }

    /// The subscription it works for.
    pub fn key(&self) -> Option<SubKey> {
        match self {
            Self::Query(query) => Some(query.subscription.key()),
            Self::Replay(replay) => Some(replay.feed.key()),
            Self::Count(_) | Self::Reconcile(_) => None,
        }
    }

    /// The reconciliation it works for.
    pub fn neg_key(&self) -> Option<NegKey> {
        match self {
            Self::Reconcile(turn) => Some(turn.key()),
            Self::Query(_) | Self::Count(_) | Self::Replay(_) => None,
        }
    }

    /// True for a COUNT.
    pub fn is_count(&self) -> bool {
        matches!(self, Self::Count(_))
    }

    /// Runs for one slice.
    pub fn run(&mut self, desk: &mut Desk, now: Timestamp) -> Step {
        match self {
            Self::Query(query) => query.run(desk, now),
            Self::Count(count) => count.run(desk, now),
            Self::Replay(replay) => run_replay(replay, desk, now),
            Self::Reconcile(turn) => turn.run(desk, now),
        }
    }
}

impl Query {
    fn run(&mut self, desk: &mut Desk, now: Timestamp) -> Step {
        if !self.subscription.is_active() {
            return Step::Done(None);
        }
        match self.slice(desk, now) {
            Ok(step) => step,
            Err(error) => give_up(&self.subscription, &error),
        }
    }

    fn slice(&mut self, desk: &mut Desk, now: Timestamp) -> Result<Step, ReadError> {
        let Self { subscription, reader, heard, scan } = self;
        let scan = match scan {
            Some(scan) => scan,
            None => {
                let filters = subscription.filters();
                scan.insert(Scan::new(&desk.store, filters, desk.options, reader)?)
            }
        };
        let frames = &mut desk.frames;
        let state = scan.slice(now, desk.budget, &mut |_, event| {
            push_event(frames, subscription, event);
            frames.len() < SCAN_SLICE_BYTES
        })?;
        let ScanState::Done { complete } = state else {
            return Ok(hand_over(subscription, frames));
        };
        if is_login_needed(reader, subscription.filters(), scan.withheld()) {
            return Ok(demand_login(subscription, frames));
        }
        let hint = if complete { EoseHint::Finish } else { EoseHint::None };
        let eose = RelayMsg::Eose(subscription.sub(), hint);
        frames::push_text(frames, |out| eose.encode(out));
        if hand_over(subscription, frames) == Step::Done(None) {
            return Ok(Step::Done(None));
        }
        let feed = Arc::clone(subscription);
        Ok(Step::Done(Some(FanoutIn::Attach { feed, seen: scan.ceiling(), heard: *heard })))
    }
}

impl Count {
    fn run(&mut self, desk: &mut Desk, now: Timestamp) -> Step {
        if self.conn.outbox.is_closing() {
            return Step::Done(None);
        }
        match self.slice(desk, now) {
            Ok(None) => return Step::More,
            Ok(Some(total)) => {
                let hll = self.stored.as_ref().and_then(StoredCount::hll);
                self.conn.outbox.reply(&RelayMsg::Count(&self.sub, total, hll));
            }
            Err(error) => {
                tracing::error!(%error, "count failed");
                let reason = Reason::error("the store could not be read");
                self.conn.outbox.reply(&RelayMsg::Closed(self.sub.as_str(), reason));
            }
        }
        Step::Done(None)
    }

    /// The total, once there is nothing left to count.
    fn slice(&mut self, desk: &mut Desk, now: Timestamp) -> Result<Option<u64>, ReadError> {
        let Self { filters, reader, stored, .. } = self;
        let stored = match stored {
            Some(stored) => stored,
            None => stored.insert(StoredCount::new(&desk.store, filters, reader)?),
        };
        let budget = SliceBudget { events_max: usize::MAX, ..desk.budget };
        stored.slice(now, budget)
    }
}

/// Walks the log from where the subscription stopped. `after` moves along.
fn run_replay(replay: &mut Replay<Arc<Subscription>>, desk: &mut Desk, now: Timestamp) -> Step {
    let Replay { feed, after, through } = replay;
    if !feed.is_active() {
        return Step::Done(None);
    }
    let frames = &mut desk.frames;
    let reader = feed.conn().login.reader();
    let wanted = |event: EventRef<'_>| {
        !event.is_expired(now)
            && feed.filters().iter().any(|filter| filter.matches(event))
            && reader.may_read(event)
    };
    let reached = desk.store.read_log(*after, *through, desk.budget, &mut |_, event| {
        if wanted(event) {
            push_event(frames, feed, event);
        }
        frames.len() < SCAN_SLICE_BYTES
    });
    let reached = match reached {
        Ok(reached) => reached,
        Err(error) => return give_up(feed, &error),
    };
    // The log can end before `through`: a failed commit took back what had been fanned out.
    let is_through = reached >= *through || reached == *after;
    *after = reached;
    let step = hand_over(feed, frames);
    if !is_through || step == Step::Done(None) {
        return step;
    }
    let (conn, key) = (feed.conn().id, feed.key());
    Step::Done(Some(FanoutIn::Replayed { conn, key, reached: *through }))
}

/// Whether a client that has not logged in asked for what was withheld from it. Whoever has logged
/// in knows that it gets what is its own.
fn is_login_needed(
    reader: &Reader,
    filters: &[Filter],
    withheld: impl Iterator<Item = bool>,
) -> bool {
    let asked = |(filter, withheld): (&Filter, bool)| withheld && reader.is_asked_for_gated(filter);
    reader.is_anonymous() && filters.iter().zip(withheld).any(asked)
}

/// After what is for everybody, says that there is more for who logs in, and ends the subscription.
fn demand_login(subscription: &Subscription, frames: &mut Vec<u8>) -> Step {
    if hand_over(subscription, frames) != Step::Done(None) {
        let text = "some of what matches is for its recipients only";
        let reason = Reason::new(Prefix::AuthRequired, text);
        subscription.conn().demand_login(|_| subscription.end_with(reason));
    }
    Step::Done(None)
}

fn push_event(frames: &mut Vec<u8>, subscription: &Subscription, event: EventRef<'_>) {
    frames::push_text(frames, |out| {
        out.extend_from_slice(subscription.head());
        event.push_json(out);
        out.push(b']');
    });
}

/// Moves the frames to the outbox.
fn hand_over(subscription: &Subscription, frames: &mut Vec<u8>) -> Step {
    let room = subscription.results(frames);
    frames.clear();
    match room {
        Room::Some => Step::More,
        Room::None => Step::Parked,
        Room::Gone => Step::Done(None),
    }
}

fn give_up(subscription: &Subscription, error: &ReadError) -> Step {
    tracing::error!(%error, "query failed");
    subscription.end_with(Reason::error("the store could not be read"));
    let (conn, key) = (subscription.conn().id, subscription.key());
    Step::Done(Some(FanoutIn::Detach(conn, key)))
}
