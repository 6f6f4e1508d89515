//! Corpora, workloads and load over real sockets.

pub mod cli;
pub mod commands;
pub mod corpus;
pub mod limits;
pub mod report;
