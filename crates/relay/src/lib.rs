//! zeolite-relay: a Nostr relay. Sockets, threads and the command line around the pure crates.

pub mod cli;
pub mod commands;
pub mod config;

mod accept;
mod clock;
pub mod conn;
mod descriptors;
pub mod fanout;
mod fanout_thread;
pub mod frames;
mod http;
mod hub;
pub mod inbox;
pub mod ingest;
mod landing;
pub mod limits;
mod metrics;
mod nip11;
pub mod outbox;
pub mod query;
mod registry;
mod server;
mod settings;
pub mod subscription;
mod topology;

pub use server::{RunningRelay, serve, start};
