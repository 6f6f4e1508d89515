//! What the threads say to one another: one closed enum for each inbox.
//!
//! `topology.rs` shows who holds which end. Every inbox is bounded; its enum says
//! what happens when it is full.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Sender;
use zeolite_proto::{Event, Seq, Timestamp, Verified};
use zeolite_session::SubKey;
use zeolite_store::{ArchivePart, PendingBatch};

use crate::conn::ConnId;
use crate::ingest::{Answer, CheckedSlice};

/// To the fan-out thread. Full: the sender waits. The fan-out never waits for anything, so that is
/// short.
#[derive(Debug)]
pub enum FanoutIn<F> {
    /// Events in the order of their `Seq`, from the admitter.
    Admitted(Arc<[(Seq, Event)]>),
    /// An event without `Seq`, from the admitter.
    Ephemeral {
        /// Its place among these.
        number: u64,
        /// The event.
        event: Event,
    },
    /// A subscription that was given everything up to `seen`, and `EOSE`; from a query worker.
    Attach {
        /// The subscription.
        feed: F,
        /// The ceiling of its query.
        seen: Seq,
        /// The newest ephemeral event at its `REQ`.
        heard: u64,
    },
    /// A replay came this far; from a query worker.
    Replayed {
        /// The subscription's connection.
        conn: ConnId,
        /// The subscription.
        key: SubKey,
        /// It was given everything up to here.
        reached: Seq,
    },
    /// The outbox of this connection was full and has drained; from its writer.
    Drained(ConnId),
    /// The subscription was closed or replaced; from the connection's reader.
    Detach(ConnId, SubKey),
    /// The connection is gone; from its writer.
    Disconnect(ConnId),
    /// The time since start.
    Tick(Duration),
}

/// To the admitter thread. Full: the verifiers wait, then the ingest queue fills, then publishers
/// wait.
#[derive(Debug)]
pub enum AdmitterIn {
    /// Checked events, from a verifier.
    Checked(CheckedSlice),
    /// Remove these on the operator's behalf.
    Remove(Vec<Seq>),
    /// The same, and say when it is on disk; the sender is dropped if it never will be.
    Retire {
        /// Which events.
        seqs: Vec<Seq>,
        /// Has room for one.
        done: Sender<()>,
    },
    /// Take these out of the archive, and say when that is on disk.
    WipeArchive {
        /// Which events, or whose.
        parts: Vec<ArchivePart>,
        /// Has room for one; nobody if nobody asks.
        done: Option<Sender<()>>,
    },
    /// The relay's own events. No policy stands against them, and they wait for no slice that a policy
    /// program holds.
    Own {
        /// What to store.
        events: Vec<Verified<Event>>,
        /// Has room for one. Is told when all of it is on disk; dropped if it never will be.
        done: Sender<()>,
    },
    /// Remove what NIP-40 says is over.
    Expire(Timestamp),
}

/// To the committer thread: a batch and what to answer once it is on disk. Full: the admitter
/// waits.
pub struct CommitterIn {
    /// What to write; `None` if only answers have to wait for earlier batches.
    pub pending: Option<PendingBatch>,
    /// What to tell the publishers afterwards.
    pub answers: Vec<Answer>,
    /// Whom to tell that it is on disk.
    pub done: Option<Sender<()>>,
}
