//! The event store: an LMDB log that is the truth, indexes that may lag behind it, and the head
//! that covers the difference in memory.
//!
//! [`open`] gives three things. [`Store`] is a cheap handle for readers. [`Admitter`] decides about
//! events, gives them their [`Seq`](zeolite_proto::Seq) and makes them visible. [`Committer`] makes
//! batches durable and moves keys from the head into LMDB in slices. Admitter and committer may
//! live on different threads; what one admits goes to the other in order.
//!
//! Readers [scan](Scan) for what filters match, [count] it, read the log in order, and get
//! [sets](ReconcileSet) to reconcile with other relays. What was replaced or deleted can be kept in
//! an archive, which only [a walk](ArchiveWalk) of its own reads.
//!
//! The format is described in `docs/store-format.md`.

mod admission;
mod admit;
mod archive;
mod batch;
mod check;
mod commit;
mod copy;
mod deletion;
mod draft;
mod entries;
mod env;
mod error;
mod flush;
mod head;
mod id_filter;
mod keys;
pub mod limits;
mod mapped;
mod oldest_first;
mod options;
mod purge;
mod read_log;
mod reconcile;
mod recovery;
mod room;
mod run;
mod scan;
mod slice;
mod snapshot;
mod stats;
mod store;
mod stored_bytes;
mod sums;
mod tombs;
mod vanish;
mod vanish_job;
mod version;

pub use admit::{Admitted, Admitter, Outcome};
pub use archive::{ArchiveCause, ArchivePart, ArchiveWalk};
pub use batch::PendingBatch;
pub use check::{CheckProgress, CheckReport, Problem};
pub use commit::Committer;
pub use copy::CopyError;
pub use error::{CommitError, OpenError, ReadError, WriteError};
pub use oldest_first::OldestFirst;
pub use options::{Durability, Options};
pub use reconcile::{BuildState, LiveSet, LiveView, ReconcileSet, SetBuild, SetOptions};
pub use recovery::Recovery;
pub use scan::{
    Considered, Count, Dimension, Estimate, Explanation, Scan, ScanOptions, ScanState, count,
};
pub use slice::SliceBudget;
pub use snapshot::Snapshot;
pub use stats::{Stats, TableStats};
pub use store::{Store, open};
pub use stored_bytes::event_bytes;

pub(crate) use store::Inner;
