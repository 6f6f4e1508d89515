//! What a machine wants done.

use std::time::Duration;

use zeolite_proto::{Event, EventId, Filter, Timestamp};

use super::input::JobId;
use super::progress::{Outcome, Progress};

/// What a machine wants done, in this order. Nothing here may block the caller: what takes time is
/// done elsewhere and answered by an [`Input`](super::Input).
#[derive(Debug)]
pub enum Effect {
    /// Send this text message to the upstream. Only while connected.
    Send(String),
    /// Do a step of reconciliation over the local set; answered by
    /// [`Input::Reconciled`](super::Input::Reconciled) or
    /// [`Input::ReconcileFailed`](super::Input::ReconcileFailed).
    Reconcile {
        /// Which. At most one step of a job is under way.
        job: JobId,
        /// What to do.
        step: ReconcileStep,
    },
    /// No further step of this job will come: its set can go. Not answered; an answer that is
    /// under way is ignored.
    EndReconcile {
        /// Which.
        job: JobId,
    },
    /// Compare the local set with the upstream's whole list for a filter; answered by
    /// [`Input::Compared`](super::Input::Compared) or
    /// [`Input::ReconcileFailed`](super::Input::ReconcileFailed).
    Compare {
        /// Which.
        job: JobId,
        /// What the list covers; has `since` and `until`, both inclusive, and no `limit`.
        filter: Filter,
        /// All that the upstream has there, sorted by time and id, without doubles.
        items: Vec<(Timestamp, EventId)>,
    },
    /// Give these events to the local side; answered by
    /// [`Input::Ingested`](super::Input::Ingested).
    Ingest {
        /// They match the mirror's filter, and were asked for.
        events: Vec<Event>,
        /// Whether signatures need no check.
        trusted: bool,
    },
    /// Read events of the local side, so as to send them up; answered by
    /// [`Input::LocalEvents`](super::Input::LocalEvents).
    FetchLocal {
        /// Never empty.
        ids: Vec<EventId>,
        /// How many bytes of records to read: the event that reaches it is the last.
        bytes_max: usize,
    },
    /// From now on say [`Input::LocalLive`](super::Input::LocalLive) for new local events that
    /// match the mirror's filter. Said once, at the first connection.
    FollowLocal,
    /// Sign a login (NIP-42) for this question of the upstream; answered by
    /// [`Input::Signed`](super::Input::Signed). Only with [`Settings::has_key`](super::Settings).
    LogIn {
        /// What the upstream asks.
        challenge: Box<str>,
    },
    /// Give up the connection, if one stands, and connect after this wait; answered by
    /// [`Input::Connected`](super::Input::Connected) or
    /// [`Input::Disconnected`](super::Input::Disconnected). Giving up is not answered.
    Reconnect {
        /// How long to wait first.
        after: Duration,
    },
    /// Say [`Input::DeadlineReached`](super::Input::DeadlineReached) at this time, on the clock of
    /// `now`. Replaces the deadline said before.
    Deadline(Duration),
    /// How far the mirror is. Said when a phase begins or ends, and once a second in between.
    Report(Box<Progress>),
    /// The mirror has ended: close the connection. Nothing follows.
    Finished(Box<Outcome>),
}

/// A step of reconciliation over the local set.
#[derive(Debug)]
pub enum ReconcileStep {
    /// Take the set of this filter and make the first message.
    Start {
        /// What to compare; has no `limit`.
        filter: Filter,
        /// Bytes of a message at most, before hex.
        frame_bytes_max: usize,
    },
    /// Take the upstream's answer and make the next message.
    Answer {
        /// Decoded from hex.
        message: Vec<u8>,
    },
}
