//! Scenario `crash`: the relay is killed while events are acknowledged, started again on what it
//! left, and asked for everything that it had acknowledged.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow};
use zeolite_loadgen::report::Status;

use crate::bench::Bench;
use crate::home::{Home, Installed};
use crate::load::{Loader, Printed};
use crate::processes::{Process, Processes};
use crate::scenario::{Run, Scenario};
use crate::under_load::{Outcome, arguments, completed};

/// The first kill comes when the driver publishes at full speed.
const GAP_MIN_MS: u64 = 500;
/// Gaps are spread over this much more.
const GAP_SPREAD_MS: u64 = 1500;

/// Runs one start of the scenario against one engine.
pub fn run(
    bench: &mut Bench<'_>,
    scenario: &Scenario,
    run: &Run,
    installed: &Installed,
) -> anyhow::Result<Outcome> {
    let (home, dir) = bench.home(installed)?;
    let outcome = measure(bench.processes, &bench.loader, scenario, run, &home, &dir);
    bench.leave(&dir);
    outcome
}

fn measure(
    processes: &Processes,
    loader: &Loader<'_>,
    scenario: &Scenario,
    run: &Run,
    home: &Home,
    dir: &Path,
) -> anyhow::Result<Outcome> {
    let relay = home.boot(processes)?;
    let args = arguments(run, home, &relay, None, dir);
    let time_max = Duration::from_secs(scenario.timeout_s);
    let (ended, end) = channel();
    // The load's process lives as long as the thread that started it.
    let (printed, relay) = thread::scope(|scope| {
        let load = scope.spawn(move || {
            let printed = loader.run(dir, args, time_max, |_| {});
            // Nobody listens when the relay did not come back.
            let _ = ended.send(());
            printed
        });
        let relay = kill_and_restart(processes, home, relay, run.crashes, &end);
        let printed = load.join().map_err(|_| anyhow!("the thread of the load panicked"));
        (printed, relay)
    });
    let printed: Printed = printed??;
    let relay = relay.context("after a kill")?;
    let mut reports = completed(scenario, run, printed.reports, printed.failure);
    reports.iter_mut().for_each(|report| {
        report.params.insert("kills".to_owned(), run.crashes.into());
    });
    let is_bad = reports.iter().any(|report| report.status != Status::Passed);
    let stderr = is_bad.then(|| relay.stderr_tail());
    Home::stop(relay);
    Ok(Outcome { reports, stderr, ..Outcome::default() })
}

/// Kills and starts the relay again, as often as asked or until the load has ended.
fn kill_and_restart(
    processes: &Processes,
    home: &Home,
    mut relay: Process,
    crashes: u32,
    end: &Receiver<()>,
) -> anyhow::Result<Process> {
    for gap in gaps().take(crashes as usize) {
        if end.recv_timeout(gap) != Err(RecvTimeoutError::Timeout) {
            break;
        }
        relay.kill();
        drop(relay);
        relay = home.boot(processes)?;
    }
    Ok(relay)
}

/// Times between kills, the same in every run: a linear congruential generator (Knuth, MMIX).
fn gaps() -> impl Iterator<Item = Duration> {
    let step = |state: &u64| {
        Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
    };
    let states = std::iter::successors(Some(7_u64), step);
    states.skip(1).map(|state| Duration::from_millis(GAP_MIN_MS + (state >> 33) % GAP_SPREAD_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_within_bounds_and_differ() {
        let gaps: Vec<u128> = gaps().take(20).map(|gap| gap.as_millis()).collect();
        assert!(gaps.iter().all(|gap| (500..2000).contains(gap)), "{gaps:?}");
        assert!(gaps.windows(2).any(|pair| pair[0].abs_diff(pair[1]) > 200), "{gaps:?}");
    }
}
