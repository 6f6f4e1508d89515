//! Retention: what is too old, or too much, goes.
//!
//! ```text
//! policy::Retention (rules, bound on size)
//!      |  fate of an event                     SizePlan: how much of the oldest
//!      v                                           v
//! pass: a scan for each rule with an age, then a walk from the oldest event on, then one over the
//!      |  archive; slices of seqs and ids
//!      v
//! Target: the admitter of a running relay (thread.rs), a store of one's own, or nothing (dry run)
//! ```

pub(crate) mod floor;
mod pass;
mod thread;

pub(crate) use pass::{Cause, Pass, Report, Slice, Target};
pub(crate) use thread::RetentionThread;
