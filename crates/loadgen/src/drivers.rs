//! The scenarios: each has a driver of its own, a `Spec` that says how much, and rows that say what
//! came back.
//!
//! Every driver measures over real sockets and checks everything it receives. Whatever goes wrong
//! becomes a row with a failed check or an error; a driver never panics on what a relay does, and
//! never waits for ever: silence ends it.

mod ask;
mod churn;
mod crowd;
mod error;
mod facts;
mod flood;
mod ledger;
mod listing;
mod live;
mod memory;
mod notes;
mod pace;
mod publish;
mod rng;
mod runtime;
mod spec;

pub mod abuse;
pub mod bulk_read;
pub mod connections;
pub mod converged;
pub mod crash;
pub mod fanout_broadcast;
pub mod fanout_churn;
pub mod fanout_scaling;
pub mod fanout_slow;
pub mod ingest;
pub mod open_loop;
pub mod query;
pub mod reconcile;
pub mod self_check;
pub mod soak;
pub mod visible;

pub use error::DriveError;
pub use spec::parse;

use crate::report::Report;
use crate::target::Target;

/// A scenario and how much of it.
#[derive(clap::Subcommand, Clone, Debug)]
#[command(disable_help_subcommand = true)]
pub enum Scenario {
    /// N sockets with a subscription each; every event is for exactly one of them
    FanoutScaling(fanout_scaling::Spec),
    /// N sockets that want the same events: one alone, then a stream
    FanoutBroadcast(fanout_broadcast::Spec),
    /// Fan-out, alone and while other sockets open and close subscriptions
    FanoutChurn(fanout_churn::Spec),
    /// Fan-out while some sockets stop reading
    FanoutSlow(fanout_slow::Spec),
    /// Fan-out while many clients send and ask ten times what the relay allows them
    Abuse(abuse::Spec),
    /// A corpus over C connections with W unanswered events each, then all of it again
    Ingest(ingest::Spec),
    /// Events at fixed rates, timed from when they were due
    OpenLoop(open_loop::Spec),
    /// How long after its publication an event can be asked for
    Visible(visible::Spec),
    /// A table of filters, with answers worked out from the corpus
    Query(query::Spec),
    /// One REQ for everything, at full speed and through a slow reader
    BulkRead(bulk_read::Spec),
    /// A ramp to N sockets that subscribe and then say nothing
    Connections(connections::Spec),
    /// Publishing, listening, asking and churning for minutes
    Soak(soak::Spec),
    /// Publishing while the relay is killed and started again
    Crash(crash::Spec),
    /// NIP-77 from sets that differ in known ways
    Reconcile(reconcile::Spec),
    /// Whether the relay holds what it must of a corpus
    Converged(converged::Spec),
    /// What the generator takes from the relay, and from a server that does nothing
    SelfCheck(self_check::Spec),
}

impl Scenario {
    /// Runs it and gives every row to `emit` as soon as it is there.
    pub fn run(&self, target: &Target, emit: &mut dyn FnMut(Report)) {
        match self {
            Self::FanoutScaling(spec) => fanout_scaling::run(target, spec, emit),
            Self::FanoutBroadcast(spec) => fanout_broadcast::run(target, spec, emit),
            Self::FanoutChurn(spec) => fanout_churn::run(target, spec, emit),
            Self::FanoutSlow(spec) => fanout_slow::run(target, spec, emit),
            Self::Abuse(spec) => abuse::run(target, spec, emit),
            Self::OpenLoop(spec) => open_loop::run(target, spec, emit),
            Self::Ingest(spec) => ingest::run(target, spec, emit),
            Self::Visible(spec) => visible::run(target, spec, emit),
            Self::Query(spec) => query::run(target, spec, emit),
            Self::BulkRead(spec) => bulk_read::run(target, spec, emit),
            Self::Connections(spec) => connections::run(target, spec, emit),
            Self::Soak(spec) => soak::run(target, spec, emit),
            Self::Crash(spec) => crash::run(target, spec, emit),
            Self::Reconcile(spec) => reconcile::run(target, spec, emit),
            Self::Converged(spec) => converged::run(target, spec, emit),
            Self::SelfCheck(spec) => self_check::run(target, spec, emit),
        }
    }
}
