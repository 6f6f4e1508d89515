//! Corpora, workloads and load over real sockets.

#![forbid(unsafe_code)]
