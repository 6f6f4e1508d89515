//! Corpora, workloads and load over real sockets.

#![forbid(unsafe_code)]

pub mod cli;
pub mod commands;
pub mod corpus;
mod cost;
mod descriptors;
pub mod drivers;
mod latency;
pub mod limits;
mod null_server;
pub mod report;
mod result_ids;
mod row;
pub mod socket;
mod target;

pub use cost::Reading;
pub use latency::Recorder;
pub use null_server::NullServer;
pub use row::Row;
pub use target::Target;
