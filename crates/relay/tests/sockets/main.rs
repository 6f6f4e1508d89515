//! The wiring of the relay, over real sockets: one test per wire, not per rule.

mod frames;
mod http;
mod road;
mod slow;
mod stop;
mod support;
