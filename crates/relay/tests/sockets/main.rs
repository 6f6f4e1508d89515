//! The wiring of the relay, over real sockets: one test per wire, not per rule.

#![allow(clippy::unwrap_used, reason = "a panic in a test is its report")]

mod frames;
mod http;
mod reconcile;
mod road;
mod seam;
mod slow;
mod stop;
mod support;
