//! zeolite-relay: a Nostr relay. Sockets, threads and the command line around the pure crates.

pub mod config;
