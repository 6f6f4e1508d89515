//! What tests need and must not take from the product: an event factory, oracles and seeded runs.
//!
//! Nothing here depends on another crate of this workspace, so that a test which compares the
//! product with an oracle compares two readings of the specification. Everything works on
//! [`serde_json::Value`]: slow, obvious, and a different shape from the product's records.

#![forbid(unsafe_code)]

mod canonical;
mod factory;
mod matcher;
mod oracle;
mod privacy;
mod relay_url;
mod seeds;
mod universe;

pub use canonical::{canonical_form, canonical_id};
pub use factory::{Draft, Factory, Signing};
pub use matcher::oracle_matches;
pub use oracle::{OracleOutcome, OracleStore};
pub use privacy::oracle_may_read;
pub use relay_url::same_relay;
pub use seeds::{Scheduler, run_seeds};
pub use universe::Universe;

/// The generator of all seeded randomness: the same bytes on every platform.
pub use rand_chacha::ChaCha8Rng as TestRng;
