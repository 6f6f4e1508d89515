//! Every driver against an honest relay, and against relays that lie in ways that it must see.

#![allow(missing_docs, reason = "a test crate has no callers")]
#![allow(clippy::unwrap_used, reason = "a panic in a test is its report")]

mod crash;
mod lie;
mod lies;
mod relay;
mod support;
mod talk;
