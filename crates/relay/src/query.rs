//! Reading the store for clients: stored answers, counts, and replays for those who lag.
//!
//! Work comes as [`Job`]s, each of which runs in slices and holds nothing of the store in
//! between. A connection's jobs wait in its [`Lane`]; the lanes with work take turns on the worker
//! threads, one slice at a time, so that a client with a hundred heavy queries gets as much as one
//! with a light one. A job whose outbox is full parks its lane until the socket took enough.

mod job;
mod lane;
mod worker;

pub use job::{Desk, Job, Step};
pub use lane::{Lane, Lanes};
pub(crate) use worker::work;
