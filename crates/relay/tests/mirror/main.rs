//! The mirror over real sockets: between relays of ours, with independent peers, over TLS, against
//! upstreams that refuse, and through crashes.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod directions;
mod fake;
mod guard;
mod independent;
mod kills;
mod listen;
mod logins;
mod pairs;
mod refusals;
mod retention;
mod support;
mod tls;
