//! Range-based set reconciliation: the negentropy protocol, version 1, of NIP-77.
//!
//! Two peers hold sets of (created_at, id). They exchange fingerprints of ranges, split those that
//! differ, and list the ids of small ones, until the initiator knows what each side lacks.
//!
//! A [`Set`] is what a peer holds: a [`SortedSet`] in memory, or an index that keeps sums. The
//! responder has no state: [`respond`] turns one message into the next. The [`Initiator`] starts,
//! takes each answer, and says what it has and needs. Both work on whatever the set lends them, so
//! neither holds the set itself. [`Ranges`] and [`Writer`] are the messages themselves.
//!
//! Nothing a peer sends is trusted: a message is checked whole before the first of it is used,
//! counts are held against the bytes that follow them, and ranges that run backwards are empty.

#![forbid(unsafe_code)]

mod bound;
mod cross;
mod found;
mod initiator;
pub mod limits;
mod ranges;
mod respond;
mod set;
mod sorted_set;
mod sum;
mod turn;
mod varint;
mod writer;

pub use bound::{Bound, Item};
pub use cross::{Cross, CrossError, CrossTurn};
pub use initiator::{Initiator, Step, StepError};
pub use limits::{FrameLimit, FrameLimitError};
pub use ranges::{Body, MessageError, Range, Ranges};
pub use respond::{RespondError, respond};
pub use set::{Edge, Set};
pub use sorted_set::SortedSet;
pub use sum::{Fingerprint, Sum};
pub use writer::Writer;
