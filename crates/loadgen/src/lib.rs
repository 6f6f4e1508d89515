//! Corpora, workloads and load over real sockets.

pub mod limits;
pub mod report;
