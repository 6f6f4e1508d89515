//! Corpora, workloads and load over real sockets.

#![forbid(unsafe_code)]

mod cost;
mod descriptors;
mod fingerprint;
mod latency;
pub mod limits;
pub mod report;
mod row;
pub mod socket;
mod target;

pub use cost::Reading;
pub use fingerprint::fingerprint;
pub use latency::Recorder;
pub use row::Row;
pub use target::Target;
