//! What can be wrong with a store.

use zeolite_proto::{EventId, RecordError, Seq};

/// One broken reference or damaged entry.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// `indexed_through` lies above the last seq.
    #[error("the indexes claim to cover events that were never stored")]
    IndexedPastLast,
    /// A key or value has a length or content that its table does not have.
    #[error("table {0} has an entry that is malformed")]
    Malformed(&'static str),
    /// A record lies above the last seq.
    #[error("event {0} lies above the last seq")]
    PastLast(Seq),
    /// A record cannot be read or does not have the id it claims.
    #[error("event {seq}: {source}")]
    Damaged {
        /// Which record.
        seq: Seq,
        /// What is wrong.
        source: RecordError,
    },
    /// An event is not found by one of its values.
    #[error("event {seq} lacks an entry in the {family} family of the index")]
    MissingEntry {
        /// The event.
        seq: Seq,
        /// The family of the missing key.
        family: &'static str,
    },
    /// An event is not in the timeline, or its place leads to another event.
    #[error("event {0} is not in the timeline")]
    MissingInTimeline(Seq),
    /// An index entry leads to no event, or to one without that value.
    #[error("the index has an entry for event {0}, which does not have that value")]
    DanglingEntry(Seq),
    /// A timeline entry leads to no event, or to another one.
    #[error("the timeline has an entry for event {0}, which is not there")]
    DanglingInTimeline(Seq),
    /// Buckets of the sums do not say what the timeline has.
    #[error("{0} of the sums differ from the timeline")]
    WrongSums(u64),
    /// The sum of what events take is not theirs.
    #[error("the events take {found} bytes, and {kept} are written down")]
    WrongBytes {
        /// What `meta` says.
        kept: u64,
        /// What the log has.
        found: u64,
    },
    /// An event is in the log and counts as removed.
    #[error("event {0} is in the log and in the graveyard")]
    Buried(Seq),
    /// An entry of the archive cannot be read, or is not the event it is filed as.
    #[error("the archive's event {0} is damaged")]
    DamagedInArchive(EventId),
    /// An archived event would not go when its owner vanishes.
    #[error("event {0} of the archive lacks an entry in its index")]
    MissingInArchive(EventId),
    /// An entry of the archive's index leads to no event.
    #[error("the archive's index has an entry for event {0}, which does not have that value")]
    DanglingInArchive(EventId),
    /// A request to vanish did not take an event out of the archive.
    #[error("event {0} is archived although its owner has vanished")]
    ArchivedThoughVanished(EventId),
    /// Two versions of an address are stored.
    #[error("events {older} and {newer} are versions of the same address")]
    TwoVersions {
        /// The one with the lower seq.
        older: Seq,
        /// The other.
        newer: Seq,
    },
    /// A deletion, an expired version or a request to vanish bars this event.
    #[error("event {seq} is stored although it is barred: {verdict}")]
    Barred {
        /// The event.
        seq: Seq,
        /// What the admitter would say of it.
        verdict: String,
    },
}
