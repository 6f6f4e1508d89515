//! The operator's policy program: a thread between verifiers and admitter that asks it.
//!
//! ```text
//! verifiers -> inbox -> plugin thread -> admitter
//!                        |        ^
//!                        v        | lines
//!                      writer   reader          threads of one child
//!                        |        ^
//!                        +-> child +
//! ```
//!
//! A slice of checked events goes on once each of them is decided. The rules are
//! [`PluginDesk`]'s; here are its process, pipes and clock. Neither admitter nor committer ever waits
//! for the program, and a program that hangs is waited for once.

mod child;
mod thread;

pub(crate) use thread::PluginThread;
