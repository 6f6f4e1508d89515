//! The seam between stored history and the live feed, as a machine without threads or clock.
//!
//! A query answers everything up to its ceiling; the subscription then attaches here and takes
//! everything above it. The machine holds the cursor (the newest admitted `Seq`), the filter index
//! over all live subscriptions, and a ring of recent events to bridge what was admitted between a
//! query's ceiling and its attach.
//!
//! ```text
//!             attach(seen)
//!                  |  seen below the ring: Replay from the log
//!                  v  <--------------------------------------+
//!   seen = cursor: Live ---- outbox full ----> Lagging ------+ outbox drained
//!                                                 | too far behind, or too long
//!                                                 v
//!                                              CLOSED "error: too slow"
//! ```
//!
//! *Invariant:* a subscription that is `Live` has been given every matching event up to the cursor.
//! Its position is the cursor's, so being live costs it nothing. A query may have seen what the
//! admitter has published and not handed over yet: then its subscription is ahead of the cursor.
//!
//! The edges are traits and values: [`Feed`] is a subscription's outbox, [`Replay`] is work for
//! the query workers. A simulation drives the machine as the thread does.

mod ephemerals;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use zeolite_filter_index::{FilterIndex, Handle};
use zeolite_proto::{Event, Filter, Gates, Seq};
use zeolite_session::SubKey;

pub use self::ephemerals::EphemeralCount;
use self::ephemerals::Ephemerals;
use crate::conn::ConnId;
use crate::inbox::FanoutIn;
use crate::limits::AT_ONCE_EVENTS_MAX;
use crate::outbox::Offer;

/// A subscription as the machine sees it.
pub trait Feed: Clone {
    /// The connection it belongs to.
    fn conn(&self) -> ConnId;
    /// Which of that connection's subscriptions it is.
    fn key(&self) -> SubKey;
    /// What it wants.
    fn filters(&self) -> &Arc<[Filter]>;
    /// Whether any of its filters matches.
    fn wants(&self, event: &Event) -> bool {
        self.filters().iter().any(|filter| filter.matches(event.view()))
    }
    /// False once it was closed, replaced or ended.
    fn is_active(&self) -> bool;
    /// Whether its client may be given this event. Asked only of gated kinds.
    fn may_read(&self, event: &Event) -> bool;
    /// Offers an event that its filters match and its client may read. `at_once`: there is time to hand
    /// it to the socket.
    fn offer(&self, event: &Event, at_once: bool) -> Offer;
    /// Ends it with `CLOSED "error: too slow"`.
    fn end_too_slow(&self);
}

/// Bounds of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FanoutBounds {
    /// Events in the ring; the oldest go when it is full.
    pub recent_events_max: usize,
    /// Bytes of the ring; the oldest go when it is full.
    pub recent_bytes_max: usize,
    /// Events a subscription may stand behind the cursor before it is ended.
    pub lag_events_max: u64,
    /// How long a lagging subscription's outbox may stay full before it is ended.
    pub lag_max: Duration,
    /// Deliveries of one message that may be handed to sockets at once.
    pub at_once_max: usize,
}

/// Work for the query workers: give `feed` what it wants of `(after, through]` by `Seq`, then
/// answer [`FanoutIn::Replayed`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay<F> {
    /// Whom to feed.
    pub feed: F,
    /// Where it stopped.
    pub after: Seq,
    /// The cursor when this was asked.
    pub through: Seq,
}

/// What the machine did, for the metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FanoutStats {
    /// Events handed to outboxes.
    pub delivered: u64,
    /// Bytes of these that went to sockets at once.
    pub sent_bytes: u64,
    /// Times a subscription fell behind.
    pub lagged: u64,
    /// Subscriptions ended as too slow.
    pub ended: u64,
    /// Ephemeral events that a full outbox did not take; they exist nowhere else.
    pub ephemeral_dropped: u64,
}

impl FanoutStats {
    fn sent(&mut self, bytes: usize, at_once_left: &mut usize) {
        self.delivered += 1;
        self.sent_bytes += bytes as u64;
        *at_once_left -= 1;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Has everything up to the cursor, and up to `seen` where that is ahead of the cursor.
    Live { seen: Seq },
    /// Has everything up to `seen`; waits for its outbox to drain.
    Lagging { seen: Seq, since: Duration },
    /// A query worker is feeding it.
    Replaying,
}

struct Standing<F> {
    feed: F,
    /// The newest ephemeral event at its `REQ`.
    heard: u64,
    phase: Phase,
    /// Its place in the index, from the first time it is live.
    handle: Option<Handle>,
}

type Slot = u32;

/// The machine.
pub struct Fanout<F> {
    bounds: FanoutBounds,
    gates: Arc<Gates>,
    now: Duration,
    cursor: Seq,
    index: FilterIndex<Slot>,
    slots: Vec<Option<Standing<F>>>,
    free: Vec<Slot>,
    by_key: BTreeMap<(ConnId, SubKey), Slot>,
    ring: Ring,
    ephemerals: Ephemerals,
    /// How many deliveries of this message may go to sockets at once.
    at_once_left: usize,
    stats: FanoutStats,
}

impl<F: Feed> Fanout<F> {
    /// A machine over a store whose newest event is `cursor`.
    pub fn new(bounds: FanoutBounds, gates: Arc<Gates>, cursor: Seq) -> Self {
        Self {
            bounds,
            gates,
            now: Duration::ZERO,
            cursor,
            index: FilterIndex::new(),
            slots: Vec::new(),
            free: Vec::new(),
            by_key: BTreeMap::new(),
            ring: Ring { events: VecDeque::new(), bytes: 0, floor: cursor },
            ephemerals: Ephemerals::default(),
            at_once_left: 0,
            stats: FanoutStats::default(),
        }
    }

    /// The newest event that was fanned out.
    pub fn cursor(&self) -> Seq {
        self.cursor
    }

    /// Subscriptions it holds.
    pub fn subscriptions(&self) -> usize {
        self.by_key.len()
    }

    /// What it did since the last call.
    pub fn take_stats(&mut self) -> FanoutStats {
        std::mem::take(&mut self.stats)
    }

    /// Takes one message; `replays` receives the work that follows from it. `is_last`: no other waits
    /// behind it.
    pub fn handle(
        &mut self,
        input: FanoutIn<F>,
        is_last: bool,
        replays: &mut impl FnMut(Replay<F>),
    ) {
        self.at_once_left = if is_last { self.bounds.at_once_max } else { 0 };
        match input {
            FanoutIn::Admitted(events) => {
                if events.len() > AT_ONCE_EVENTS_MAX {
                    self.at_once_left = 0;
                }
                for (seq, event) in events.iter() {
                    self.admitted(*seq, event);
                }
            }
            FanoutIn::Ephemeral { number, event } => self.ephemeral(number, event),
            FanoutIn::Attach { feed, seen, heard } => self.attach(feed, seen, heard, replays),
            FanoutIn::Replayed { conn, key, reached } => {
                if let Some(&slot) = self.by_key.get(&(conn, key)) {
                    self.catch_up(slot, reached, replays);
                }
            }
            FanoutIn::Drained(conn) => self.drained(conn, replays),
            FanoutIn::Detach(conn, key) => {
                if let Some(&slot) = self.by_key.get(&(conn, key)) {
                    self.remove(slot);
                }
            }
            FanoutIn::Disconnect(conn) => {
                for slot in self.slots_of(conn) {
                    self.remove(slot);
                }
            }
            FanoutIn::Tick(now) => self.tick(now),
        }
    }

    fn admitted(&mut self, seq: Seq, event: &Event) {
        assert!(seq > self.cursor, "admission hands over events in the order of their Seq");
        self.cursor = seq;
        self.ring.push(seq, event.clone(), &self.bounds);
        let is_gated = self.gates.cover(event.view().kind());
        let Self { index, slots, stats, now, at_once_left, .. } = self;
        index.matches(&event.view(), |_, &slot| {
            let standing = slots[slot as usize].as_mut().expect("the index names filled slots");
            if !matches!(standing.phase, Phase::Live { seen } if seen < seq) {
                return;
            }
            if is_gated && !standing.feed.may_read(event) {
                return;
            }
            match standing.feed.offer(event, *at_once_left > 0) {
                Offer::Taken => stats.delivered += 1,
                Offer::Sent(bytes) => stats.sent(bytes, at_once_left),
                Offer::Full => {
                    stats.lagged += 1;
                    standing.phase = Phase::Lagging { seen: Seq(seq.0 - 1), since: *now };
                }
                Offer::Gone => {}
            }
        });
    }

    /// An event without `Seq` goes to whoever is live at this moment.
    fn ephemeral(&mut self, number: u64, event: Event) {
        let is_gated = self.gates.cover(event.view().kind());
        let Self { index, slots, stats, at_once_left, .. } = self;
        index.matches(&event.view(), |_, &slot| {
            let standing = slots[slot as usize].as_ref().expect("the index names filled slots");
            if number <= standing.heard || (is_gated && !standing.feed.may_read(&event)) {
                return;
            }
            let is_live = matches!(standing.phase, Phase::Live { .. });
            match is_live.then(|| standing.feed.offer(&event, *at_once_left > 0)) {
                Some(Offer::Taken) => stats.delivered += 1,
                Some(Offer::Sent(bytes)) => stats.sent(bytes, at_once_left),
                Some(Offer::Full | Offer::Gone) | None => stats.ephemeral_dropped += 1,
            }
        });
        self.ephemerals.push(number, event);
    }

    fn attach(&mut self, feed: F, seen: Seq, heard: u64, replays: &mut impl FnMut(Replay<F>)) {
        if !feed.is_active() {
            return;
        }
        for event in self.ephemerals.after(heard) {
            if is_for(&self.gates, &feed, event) {
                match feed.offer(event, false) {
                    Offer::Taken | Offer::Sent(_) => self.stats.delivered += 1,
                    Offer::Full | Offer::Gone => self.stats.ephemeral_dropped += 1,
                }
            }
        }
        let key = (feed.conn(), feed.key());
        let standing = Standing { feed, heard, phase: Phase::Replaying, handle: None };
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(None);
                Slot::try_from(self.slots.len() - 1).expect("connections bound subscriptions")
            }
        };
        self.slots[slot as usize] = Some(standing);
        let doubled = self.by_key.insert(key, slot);
        assert_eq!(doubled, None, "a subscription attaches once");
        self.catch_up(slot, seen, replays);
    }

    /// Brings a subscription that has everything up to `seen` to the cursor, or as far as it goes.
    fn catch_up(&mut self, slot: Slot, seen: Seq, replays: &mut impl FnMut(Replay<F>)) {
        if self.is_too_far(seen) {
            self.end_too_slow(slot);
            return;
        }
        let cursor = self.cursor;
        let standing = self.slots[slot as usize].as_mut().expect("a known slot is filled");
        if !self.ring.covers(seen) {
            standing.phase = Phase::Replaying;
            replays(Replay { feed: standing.feed.clone(), after: seen, through: cursor });
            return;
        }
        for (seq, event) in self.ring.after(seen) {
            if is_for(&self.gates, &standing.feed, event) {
                match standing.feed.offer(event, false) {
                    Offer::Taken | Offer::Sent(_) => self.stats.delivered += 1,
                    Offer::Full => {
                        self.stats.lagged += 1;
                        standing.phase = Phase::Lagging { seen: Seq(seq.0 - 1), since: self.now };
                        return;
                    }
                    Offer::Gone => break,
                }
            }
        }
        if !standing.feed.is_active() {
            return self.remove(slot);
        }
        standing.phase = Phase::Live { seen };
        if standing.handle.is_none() {
            standing.handle = Some(self.index.insert(Arc::clone(standing.feed.filters()), slot));
        }
    }

    fn drained(&mut self, conn: ConnId, replays: &mut impl FnMut(Replay<F>)) {
        for slot in self.slots_of(conn) {
            let standing = self.slots[slot as usize].as_ref().expect("a known slot is filled");
            if let Phase::Lagging { seen, .. } = standing.phase {
                self.catch_up(slot, seen, replays);
            }
        }
    }

    /// Ends the subscriptions that lag too far or too long.
    fn tick(&mut self, now: Duration) {
        self.now = now;
        self.ephemerals.tick();
        for at in 0..self.slots.len() {
            if let Some(Standing { phase: Phase::Lagging { seen, since }, .. }) = self.slots[at]
                && (self.is_too_far(seen) || now.saturating_sub(since) > self.bounds.lag_max)
            {
                self.end_too_slow(at as Slot);
            }
        }
    }

    fn is_too_far(&self, seen: Seq) -> bool {
        self.cursor.0.saturating_sub(seen.0) > self.bounds.lag_events_max
    }

    fn end_too_slow(&mut self, slot: Slot) {
        self.stats.ended += 1;
        let standing = self.slots[slot as usize].as_ref().expect("a known slot is filled");
        standing.feed.end_too_slow();
        self.remove(slot);
    }

    fn remove(&mut self, slot: Slot) {
        let standing = self.slots[slot as usize].take().expect("a known slot is filled");
        if let Some(handle) = standing.handle {
            self.index.remove(handle);
        }
        self.by_key.remove(&(standing.feed.conn(), standing.feed.key()));
        self.free.push(slot);
    }

    fn slots_of(&self, conn: ConnId) -> Vec<Slot> {
        let keys = (conn, SubKey(0))..=(conn, SubKey(u64::MAX));
        self.by_key.range(keys).map(|(_, &slot)| slot).collect()
    }
}

/// Whether an event that the index was not asked about is to be offered.
fn is_for(gates: &Gates, feed: &impl Feed, event: &Event) -> bool {
    feed.wants(event) && (!gates.cover(event.view().kind()) || feed.may_read(event))
}

/// The newest admitted events.
struct Ring {
    events: VecDeque<(Seq, Event)>,
    bytes: usize,
    /// Everything admitted above this is in the ring.
    floor: Seq,
}

impl Ring {
    fn push(&mut self, seq: Seq, event: Event, bounds: &FanoutBounds) {
        self.bytes += Self::bytes_of(&event);
        self.events.push_back((seq, event));
        while self.events.len() > bounds.recent_events_max || self.bytes > bounds.recent_bytes_max {
            let Some((gone, event)) = self.events.pop_front() else { break };
            self.bytes -= Self::bytes_of(&event);
            self.floor = gone;
        }
    }

    /// The record, and as much again for its JSON.
    fn bytes_of(event: &Event) -> usize {
        2 * event.record_bytes()
    }

    fn covers(&self, seen: Seq) -> bool {
        seen >= self.floor
    }

    fn after(&self, seen: Seq) -> impl Iterator<Item = &(Seq, Event)> {
        let from = self.events.partition_point(|(seq, _)| *seq <= seen);
        self.events.range(from..)
    }
}
