//! The one road by which events come in: queue, verifiers, admitter, committer.
//!
//! ```text
//! sessions -> queue -> verifiers -> (plugin) -> (ticket order) -> admitter -> committer -> OK
//!             bounded  one per core                                  |
//!                                                                    +-> fan-out
//! ```
//!
//! A verifier takes what is queued at that moment as one slice; nothing waits to fill one. Slices
//! carry tickets, and the admitter takes them in ticket order, so each connection's events are
//! admitted in the order they came. `OK` is said by the committer when the batch that carried the
//! event is on disk, and for duplicates when everything admitted before them is.
//!
//! One permit for each event covers its whole way, from the parser to its `OK`.

mod admit;
mod answer;
mod batch;
mod commit;
mod queue;
mod verify;

pub(crate) use admit::AdmitterThread;
pub use answer::{Answer, Verdict};
pub(crate) use commit::commit;
pub(crate) use queue::{Ingest, Queue, SubmissionBatch};
pub use verify::CheckedSlice;
pub(crate) use verify::{Checked, Next, Verifiers};
