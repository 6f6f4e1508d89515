//! Boots relays as processes, runs scenarios against them, and writes what was measured.
//!
//! Relays ([`engine`]) and scenarios ([`scenario`]) are data. The relay under test, the load and
//! this harness are always three processes.

#![forbid(unsafe_code)]

pub mod template;
pub mod engine;
pub mod locate;
pub mod guard;
pub mod deadline;
pub mod processes;
pub mod proc_fs;
pub mod sampler;
