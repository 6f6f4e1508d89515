//! What happens to a machine.

use zeolite_proto::{Event, EventId, FromRelay, FromRelayError, Timestamp};

use super::limits::PeerLimits;
use crate::login::Login;

/// Names one window's comparison of sets, from its [`Effect::Reconcile`](super::Effect::Reconcile)
/// or [`Effect::Compare`](super::Effect::Compare) on. Never used twice by one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// What happens to a machine. Every effect that asks for an answer gets exactly one, at any later
/// time; answers that come after the connection they belong to are recognised and ignored.
#[derive(Debug)]
pub enum Input {
    /// A connection to the upstream stands.
    Connected {
        /// The time of day. The machine reads no clock.
        wall: Timestamp,
        /// What the upstream says of itself.
        peer: PeerLimits,
    },
    /// The connection is gone, or an attempt failed.
    Disconnected {
        /// Why, for people.
        reason: String,
    },
    /// A message of the upstream.
    Received(FromRelay),
    /// A message of the upstream that cannot be read.
    Unreadable(FromRelayError),
    /// The answer to [`Effect::Reconcile`](super::Effect::Reconcile).
    Reconciled {
        /// Which.
        job: JobId,
        /// The next message for the upstream; `None` at the end.
        next: Option<Vec<u8>>,
        /// Ids that only the local side has.
        have: Vec<EventId>,
        /// Ids that only the upstream has.
        need: Vec<EventId>,
    },
    /// The other answer to [`Effect::Reconcile`](super::Effect::Reconcile) and
    /// [`Effect::Compare`](super::Effect::Compare).
    ReconcileFailed {
        /// Which.
        job: JobId,
        /// Why.
        cause: ReconcileFault,
    },
    /// The answer to [`Effect::Compare`](super::Effect::Compare).
    Compared {
        /// Which.
        job: JobId,
        /// Ids that only the local side has.
        have: Vec<EventId>,
        /// Ids that only the upstream has.
        need: Vec<EventId>,
    },
    /// What became of events of [`Effect::Ingest`](super::Effect::Ingest), in any order and any
    /// grouping; each event of an `Ingest` is answered once, also one that came twice.
    Ingested(Vec<(EventId, Verdict)>),
    /// The answer to [`Effect::FetchLocal`](super::Effect::FetchLocal).
    LocalEvents {
        /// What is still there.
        events: Vec<Event>,
        /// What is not.
        missing: Vec<EventId>,
        /// What was not looked for, as there were bytes enough; to be asked for again.
        unread: Vec<EventId>,
    },
    /// The local side took a new event, from whomever; asked for by
    /// [`Effect::FollowLocal`](super::Effect::FollowLocal).
    LocalLive(Event),
    /// The answer to [`Effect::LogIn`](super::Effect::LogIn).
    Signed(Login),
    /// The local side is gone for a while: nothing that was asked of it will be answered.
    LocalLost {
        /// Why, for people.
        reason: String,
    },
    /// The local side is back.
    LocalBack,
    /// The time of the latest [`Effect::Deadline`](super::Effect::Deadline) is reached.
    DeadlineReached,
    /// End in order: what was sent up and what the local side took is not waited for.
    Stop,
}

/// What the local side did with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It is new and durable.
    Stored,
    /// It was there already.
    Duplicate,
    /// It was handed to live subscribers and is never stored.
    Ephemeral,
    /// A newer version is there.
    Superseded,
    /// Its author deleted it.
    Deleted,
    /// Its author vanished.
    Vanished,
    /// It has expired.
    Expired,
    /// It is malformed or its signature is wrong.
    Invalid,
    /// Local policy does not want it.
    Blocked,
    /// The local side failed or is too busy; it may be asked again.
    Failed,
}

/// Why a comparison ended without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReconcileFault {
    /// The message of the upstream breaks the protocol.
    Malformed(String),
    /// The local side cannot compare a window of this size.
    TooLarge {
        /// The most it can, if known.
        cap: Option<u64>,
    },
    /// The local side can, later.
    Busy(String),
    /// The local side cannot do this at all.
    Unsupported(String),
    /// The local side failed.
    Failed(String),
}
