//! The wiring of the relay, over real sockets: one test per wire, not per rule.

#![allow(clippy::unwrap_used, reason = "a panic in a test is its report")]

mod admin;
mod archive;
mod clients;
mod document;
mod frames;
mod hll;
mod http;
mod plugin;
mod policy;
mod privacy;
mod reconcile;
mod retention;
mod road;
mod roles;
mod seam;
mod slow;
mod stop;
mod support;
