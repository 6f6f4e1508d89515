//! Scenarios of kind `sync`: one relay serves, and the sync command of another engine brings both
//! stores to the same set. What was reached is read from exports of both stores afterwards.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use zeolite_loadgen::report::{Check, Point, Report, Status, Window};

use crate::bench::Bench;
use crate::engine::{Direction, Mechanism, Sync};
use crate::home::{Home, Installed, Way, disk_bytes, finish};
use crate::idset::IdSet;
use crate::locate::Places;
use crate::record::CorpusId;
use crate::sampler::{Sampler, Usage};
use crate::scenario::{Scenario, SyncCase};
use crate::template::Values;
use crate::transfer::unix_ms;
use crate::under_load::Outcome;

/// An export of a million events takes seconds.
const EXPORT_MAX: Duration = Duration::from_secs(1200);

/// Two engines: the one that runs its sync command, and the one that serves.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// Runs the command on its own store.
    pub local: &'a Installed,
    /// Is connected to.
    pub remote: &'a Installed,
}

impl Pair<'_> {
    /// `source -> sink`, or `a <-> b`.
    pub fn name(&self, direction: Direction) -> String {
        let (local, remote) = (&self.local.engine.name, &self.remote.engine.name);
        match direction {
            Direction::Down => format!("{remote} -> {local}"),
            Direction::Up => format!("{local} -> {remote}"),
            Direction::Both => format!("{local} <-> {remote}"),
        }
    }
}

/// Whether an engine can be the other side of a case: whoever speaks negentropy itself can serve it,
/// and everyone answers pages of REQ.
pub fn can_serve(remote: &Installed, case: &SyncCase) -> bool {
    let speaks = |sync: &Sync| sync.mechanism == Mechanism::Negentropy;
    case.mechanism == Mechanism::Paged || remote.engine.sync.iter().any(speaks)
}

/// What must be true of the two stores in the end, and what was there in the beginning.
#[derive(Debug)]
struct Sets {
    local: IdSet,
    remote: IdSet,
}

/// Runs one case of a pair.
pub fn run(
    bench: &mut Bench<'_>,
    scenario: &Scenario,
    case: &SyncCase,
    pair: Pair<'_>,
) -> anyhow::Result<Outcome> {
    let corpus = bench.corpus(scenario)?.context("no corpus is named")?;
    let effective = bench.effective(&corpus)?;
    let (remote, remote_dir) = bench.filled_home(pair.remote, &corpus, case.remote_lacks)?;
    let filled = bench.filled_home(pair.local, &corpus, case.local_lacks);
    let outcome = match &filled {
        Ok((local, local_dir)) => {
            let both = Homes { local, local_dir, remote: &remote, remote_dir: &remote_dir };
            let corpus = (corpus.id, &*effective);
            measure(bench, scenario, case, pair, &both, corpus)
        }
        Err(error) => Err(anyhow::anyhow!("{error:#}")),
    };
    if let Ok((_, dir)) = &filled {
        bench.leave(dir);
    }
    bench.leave(&remote_dir);
    outcome
}

struct Homes<'a> {
    local: &'a Home,
    local_dir: &'a Path,
    remote: &'a Home,
    remote_dir: &'a Path,
}

fn measure(
    bench: &Bench<'_>,
    scenario: &Scenario,
    case: &SyncCase,
    pair: Pair<'_>,
    homes: &Homes<'_>,
    (corpus, effective): (CorpusId, &IdSet),
) -> anyhow::Result<Outcome> {
    let Some(sync) = pair.local.engine.sync(case.mechanism, case.direction) else {
        bail!("{} has no such command", pair.local.engine.name);
    };
    let before = read_sets(bench, pair, homes)?;
    let relay = homes.remote.boot(bench.processes)?;
    let values = command_values(sync, pair, homes, case.direction)?;
    let time_max = Duration::from_secs(scenario.timeout_s);
    let names =
        if case.repeat { vec![String::new(), " again".to_owned()] } else { vec![String::new()] };
    let mut outcome = Outcome { corpus: Some(corpus), ..Outcome::default() };
    for name in names {
        let (mut report, samples) = once(bench, homes, sync, &values, case, relay.id(), time_max)?;
        report.scenario.clone_from(&scenario.name);
        report.case = format!("{}{name}: {}", case.name, pair.name(case.direction));
        outcome.samples.extend(samples);
        outcome.reports.push(report);
    }
    Home::stop(relay);
    let after = read_sets(bench, pair, homes)?;
    for (at, report) in outcome.reports.iter_mut().enumerate() {
        // A repeat finds what the first left behind.
        let before = if at == 0 { &before } else { &after };
        judge(report, case, before, &after, effective);
    }
    Ok(outcome)
}

fn command_values(
    sync: &Sync,
    pair: Pair<'_>,
    homes: &Homes<'_>,
    direction: Direction,
) -> anyhow::Result<Values> {
    let program: PathBuf = match &sync.binary {
        Some(binary) => Places::of_this_process()?.find(binary)?,
        None => pair.local.program.clone(),
    };
    let values = homes.local.values().clone().with("bin", program.to_string_lossy());
    Ok(values.with("url", homes.remote.url()).with("direction", direction.name()))
}

/// One run of the command, timed from its start to its end.
fn once(
    bench: &Bench<'_>,
    homes: &Homes<'_>,
    sync: &Sync,
    values: &Values,
    case: &SyncCase,
    remote: u32,
    time_max: Duration,
) -> anyhow::Result<(Report, Vec<crate::sampler::Sample>)> {
    let command = values.fill_all(&sync.command);
    let sink = if case.direction == Direction::Up { homes.remote } else { homes.local };
    let (store, points) = (sink.store(), Arc::new(Mutex::new(Vec::new())));
    let taken = Arc::clone(&points);
    let progress = move |at_s| {
        let point = Point { at_s, value: disk_bytes(&store) as f64 };
        taken.lock().unwrap_or_else(PoisonError::into_inner).push(point);
    };
    let from_unix_ms = unix_ms();
    let start = Instant::now();
    let mut process =
        homes.local.start(bench.processes, "sync", command, Stdio::null(), Stdio::null())?;
    let local = Sampler::start(process.id(), progress, || {});
    let served = Sampler::start(remote, |_| {}, || {});
    finish(&mut process, "the sync command", time_max)?;
    let seconds = start.elapsed().as_secs_f64();
    let (mut local, served) = (local.stop(), served.stop());
    local.extend(process.last_look());
    let window = Some(Window { from_unix_ms, to_unix_ms: unix_ms() });
    let mut report = Report { window, ..Report::default() };
    report.params.insert("mechanism".to_owned(), case.mechanism.name().into());
    report.params.insert("direction".to_owned(), case.direction.name().into());
    report.figures.insert("seconds".to_owned(), seconds);
    for (name, samples) in [("command", &local), ("server", &served)] {
        if let Some(usage) = Usage::over(samples) {
            report.figures.insert(format!("{name}_cpu_s"), usage.cpu_s());
            report.figures.insert(format!("{name}_rss_peak_bytes"), usage.rss_peak_bytes as f64);
        }
    }
    let points = std::mem::take(&mut *points.lock().unwrap_or_else(PoisonError::into_inner));
    report.series.insert("store_bytes".to_owned(), points);
    Ok((report, local))
}

/// Both stores by their engines' export commands; no relay runs on them.
fn read_sets(bench: &Bench<'_>, pair: Pair<'_>, homes: &Homes<'_>) -> anyhow::Result<Sets> {
    Ok(Sets {
        local: read_set(bench, pair.local, homes.local, homes.local_dir)?,
        remote: read_set(bench, pair.remote, homes.remote, homes.remote_dir)?,
    })
}

fn read_set(
    bench: &Bench<'_>,
    installed: &Installed,
    home: &Home,
    dir: &Path,
) -> anyhow::Result<IdSet> {
    if disk_bytes(&home.store()) == 0 {
        return Ok(IdSet::default());
    }
    let name = &installed.engine.name;
    let export = installed.engine.export.as_ref();
    let export = export.with_context(|| format!("{name} has no export command"))?;
    let file = dir.join("export.ndjson");
    // Some programs refuse to overwrite.
    let _ = std::fs::remove_file(&file);
    let mut process = home.transfer(bench.processes, export, &file, Way::Out)?;
    finish(&mut process, "the export", EXPORT_MAX)?;
    let set = IdSet::of_file(&file)?;
    std::fs::remove_file(&file)?;
    Ok(set)
}

/// Adds what was offered, what came, and whether the sink has all that it must have: of what the
/// source has, the events of the effective set. What else it lacks it may have refused with reason,
/// since a source may hold what NIPs 09, 40 and 62 remove.
fn judge(report: &mut Report, case: &SyncCase, before: &Sets, after: &Sets, effective: &IdSet) {
    let lacks = |sets: &Sets| match case.direction {
        Direction::Down => vec![sets.remote.without(&sets.local)],
        Direction::Up => vec![sets.local.without(&sets.remote)],
        Direction::Both => {
            vec![sets.remote.without(&sets.local), sets.local.without(&sets.remote)]
        }
    };
    let count = |sets: &[IdSet]| sets.iter().map(IdSet::len).sum::<u64>();
    let (offered, left) = (count(&lacks(before)), lacks(after));
    let outside: u64 = left.iter().map(|set| set.missing_in(effective)).sum();
    let (left, missing) = (count(&left), count(&left) - outside);
    let synced = offered.saturating_sub(left);
    add_rates(report, synced);
    let figures = [
        ("offered", offered),
        ("synced", synced),
        ("left_outside_the_effective_set", outside),
        ("effective", effective.len()),
        ("sink_holds", sink_holds(case, after)),
    ];
    report.figures.extend(figures.map(|(name, value)| (name.to_owned(), value as f64)));
    let converged = if missing == 0 { "yes" } else { "no" };
    report.params.insert("converged".to_owned(), converged.into());
    report.checks.push(Check {
        name: "events that the sink still lacks".to_owned(),
        expected: "0".to_owned(),
        found: missing.to_string(),
        passed: missing == 0,
    });
    if missing > 0 {
        report.status = Status::Failed;
    }
}

fn add_rates(report: &mut Report, synced: u64) {
    if synced == 0 {
        return;
    }
    let per_event = |name: &str| report.figures.get(name).map(|value| value / synced as f64);
    let rates = [
        ("events_per_s", per_event("seconds").map(|seconds| 1.0 / seconds)),
        ("command_cpu_us_per_event", per_event("command_cpu_s").map(|cpu_s| cpu_s * 1e6)),
        ("server_cpu_us_per_event", per_event("server_cpu_s").map(|cpu_s| cpu_s * 1e6)),
    ];
    let known = rates.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    report.figures.extend(known);
}

fn sink_holds(case: &SyncCase, after: &Sets) -> u64 {
    if case.direction == Direction::Up { after.remote.len() } else { after.local.len() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Share;

    fn sets(local: &[u8], remote: &[u8]) -> Sets {
        let set = |bytes: &[u8]| IdSet::of(bytes.iter().map(|byte| [*byte; 32]).collect());
        Sets { local: set(local), remote: set(remote) }
    }

    fn check(direction: Direction, before: Sets, after: Sets, expected: (f64, f64, Status)) {
        let case = SyncCase {
            name: "x".to_owned(),
            mechanism: Mechanism::Negentropy,
            direction,
            local_lacks: Share::All,
            remote_lacks: Share::None,
            repeat: false,
        };
        let mut report = Report::default();
        let effective = IdSet::of((1..=8).map(|byte| [byte; 32]).collect());
        judge(&mut report, &case, &before, &after, &effective);
        let figures = &report.figures;
        assert_eq!((figures["offered"], figures["synced"], report.status), expected);
    }

    #[test]
    fn convergence_is_judged_in_the_direction_of_travel() {
        let passed = |offered, synced| (offered, synced, Status::Passed);
        check(
            Direction::Down,
            sets(&[], &[1, 2, 3]),
            sets(&[1, 2, 3], &[1, 2, 3]),
            passed(3.0, 3.0),
        );
        check(Direction::Down, sets(&[9], &[1]), sets(&[9, 1], &[1]), passed(1.0, 1.0));
        check(Direction::Up, sets(&[1, 2], &[2, 3]), sets(&[1, 2], &[1, 2, 3]), passed(1.0, 1.0));
        check(Direction::Both, sets(&[1], &[2]), sets(&[1, 2], &[1, 2]), passed(2.0, 2.0));
    }

    /// A source may hold what the NIPs remove: a sink that refuses it has converged.
    #[test]
    fn what_need_not_be_held_may_be_left_behind() {
        let expected = (3.0, 2.0, Status::Passed);
        check(Direction::Down, sets(&[], &[1, 2, 99]), sets(&[1, 2], &[1, 2, 99]), expected);
    }

    #[test]
    fn what_is_left_behind_fails_the_row() {
        let expected = (3.0, 2.0, Status::Failed);
        check(Direction::Down, sets(&[], &[1, 2, 3]), sets(&[1, 2], &[1, 2, 3]), expected);
    }
}
