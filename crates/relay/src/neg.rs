//! Reconciliation for clients (NIP-77): what a peer lacks is found out, not sent.
//!
//! A [`Reconciliation`] is one `NEG-OPEN` of a connection. Its messages are [`Turn`]s in the
//! connection's lane, so that the query workers answer them in order, between the slices of other
//! work, and never a socket's task. The set of everything, and of a span of time, is kept by the
//! store and costs a session nothing; any other is built in slices first and held until the end, in
//! memory that [`Reconciliations`] counts for the connection and for the relay.

mod memory;
mod open;
mod reconciliation;
mod turn;

pub use open::{NegBounds, Reconciliations};
pub use reconciliation::Reconciliation;
pub use turn::Turn;
