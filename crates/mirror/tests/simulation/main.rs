//! The mirror's machine against a simulated upstream and local side, on a virtual clock.
//!
//! Every run is drawn from a seed; a failure prints the command that replays it. `ZEOLITE_SEEDS=n`
//! runs more of them.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod habits;
mod local;
mod pairs;
mod random;
mod refusals;
mod scenarios;
mod store;
mod upstream;
mod world;
