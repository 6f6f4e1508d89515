//! Boots relays as processes, runs scenarios against them, and writes what was measured.
//!
//! Relays ([`engine`]) and scenarios ([`scenario`]) are data. The relay under test, the load and
//! this harness are always three processes.

#![forbid(unsafe_code)]

// What is described: relays, scenarios, and where they are.
pub mod catalog;
pub mod engine;
pub mod locate;
pub mod scenario;
pub mod template;

// Processes: tied to the harness, watched from outside.
pub mod deadline;
pub mod guard;
pub mod probe;
pub mod proc_fs;
pub mod processes;
pub mod sampler;

// One measurement.
pub mod bench;
pub mod corpora;
pub mod crash;
pub mod home;
pub mod idset;
pub mod load;
pub mod sync;
pub mod transfer;
pub mod under_load;

// All of them, and what is kept.
pub mod date;
pub mod machine;
pub mod narrate;
pub mod record;
pub mod results;
pub mod runner;

// What is shown.
pub mod cmp;
pub mod report;
pub mod spread;
pub mod svg;

// The program.
pub mod cli;
pub mod commands;
