//! zeolite-relay: a Nostr relay. Sockets, threads and the command line around the pure crates.

// The command line.
pub mod cli;
pub mod commands;
pub mod config;
pub mod mirror_cli;
pub mod mirror_command;

// A running relay: its threads and channels, and what bounds them.
mod core;
pub mod inbox;
pub mod limits;
mod server;
mod settings;
mod topology;

// Sockets, HTTP, and one connection after its upgrade.
mod accept;
mod admin;
pub mod clients;
pub mod conn;
mod descriptors;
pub mod frames;
mod herald;
mod http;
mod hub;
mod landing;
pub mod login;
mod nip11;
pub mod outbox;
mod registry;
pub mod subscription;

// Events in, answers and live events out.
pub mod fanout;
mod fanout_thread;
pub mod ingest;
mod mirror;
pub mod neg;
mod plugin;
mod policy_cell;
pub mod query;
mod retention;

mod clock;
mod metrics;
mod random;
mod replace_file;
mod secret_key;

pub use server::{RunningRelay, serve, start};
