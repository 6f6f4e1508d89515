//! Scenario `crash`: the relay is killed while events are acknowledged, started again on what it
//! left, and asked for everything that it had acknowledged.

use crate::bench::Bench;
use crate::home::Installed;
use crate::scenario::{Run, Scenario};
use crate::under_load::Outcome;

/// Runs one start of the scenario against one engine.
pub fn run(
    _bench: &mut Bench<'_>,
    _scenario: &Scenario,
    _run: &Run,
    _installed: &Installed,
) -> anyhow::Result<Outcome> {
    anyhow::bail!("the driver is not here")
}
