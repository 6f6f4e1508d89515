//! The wiring of the relay, over real sockets: one test per wire, not per rule.

mod http;
mod road;
mod support;
