//! `retention`: removes what the configured rules do not keep, or tells what that would be.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError};
use indicatif::ProgressBar;
use serde_json::json;
use zeolite_policy::Retention;
use zeolite_proto::Timestamp;
use zeolite_store::{Admitter, Committer, Store};

use super::store::{open_to_read, open_to_write};
use super::{Exit, output, signals};
use crate::cli::RetentionArgs;
use crate::clock::now;
use crate::config::Config;
use crate::retention::{Pass, Report, Slice, Target, floor};

/// Time after which a spinner appears: short runs end without one.
const QUIET: Duration = Duration::from_secs(2);

/// Runs the command.
pub(crate) fn run(args: &RetentionArgs, config: &Config) -> anyhow::Result<Exit> {
    let retention = &config.policy.rules.retention;
    if retention.keeps_all() {
        output::complain(
            "nothing is configured to go: add [[retention]] rules with age_s_max to the file \
             named by --config, or set store.events_bytes_max or store.archive_age_s_max",
        );
        return Ok(Exit::Usage);
    }
    let work = Work { stop: signals::stop_signal()?, start: Instant::now(), events: 0, bar: None };
    let report = if args.dry_run {
        let store = open_to_read(config)?;
        pass(&store, retention, true).run(&mut Counting(work))?
    } else {
        remove(config, retention, work)?
    };
    let text = if args.json { to_json(&report, args) } else { render(&report, retention, args) };
    output::print(text)?;
    Ok(if report.is_cut_short { Exit::Interrupted } else { Exit::Done })
}

fn pass<'a>(store: &'a Store, retention: &'a Retention, is_dry: bool) -> Pass<'a> {
    Pass { store, retention, from: Timestamp(0), now: now(), is_dry }
}

fn remove(config: &Config, retention: &Retention, work: Work) -> anyhow::Result<Report> {
    let instead = "a running relay removes by itself what its configuration does not keep; \
                   --dry-run works beside it";
    let (store, admitter, committer) = open_to_write(config, instead)?;
    let mut removing = Removing { admitter, committer, work };
    let report = pass(&store, retention, false).run(&mut removing)?;
    removing.committer.flush_all()?;
    if let (Some(bytes_max), Some(reached)) = (retention.bytes_max, report.reached) {
        let before = floor::read(&config.db, Some(bytes_max));
        floor::write(&config.db, bytes_max, before.max(Some(reached)))?;
    }
    Ok(report)
}

/// What both ways share: the wish to stop, and a sign of life.
struct Work {
    stop: Receiver<()>,
    start: Instant,
    events: u64,
    bar: Option<ProgressBar>,
}

impl Work {
    /// Counts events; false if the user has had enough.
    fn done(&mut self, events: usize) -> bool {
        self.events += events as u64;
        if self.bar.is_none() && self.start.elapsed() > QUIET && std::io::stderr().is_terminal() {
            self.bar = Some(ProgressBar::new_spinner());
        }
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{} events", self.events));
            bar.tick();
        }
        self.stop.try_recv() == Err(TryRecvError::Empty)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

struct Counting(Work);

impl Target for Counting {
    fn take(&mut self, slice: Slice) -> anyhow::Result<bool> {
        Ok(self.0.done(slice.len()))
    }
}

/// Each slice is on disk before the next one is looked for (case 60).
struct Removing {
    admitter: Admitter,
    committer: Committer,
    work: Work,
}

impl Target for Removing {
    fn take(&mut self, slice: Slice) -> anyhow::Result<bool> {
        if !slice.seqs.is_empty() {
            let admitted = self.admitter.remove(&slice.seqs)?;
            self.committer.commit(vec![admitted.pending])?;
        }
        if !slice.archived.is_empty() {
            let admitted = self.admitter.wipe_archive(&slice.archived)?;
            self.committer.commit(vec![admitted.pending])?;
        }
        Ok(self.work.done(slice.len()))
    }
}

fn render(report: &Report, retention: &Retention, args: &RetentionArgs) -> String {
    let total = report.total();
    let done = if args.dry_run { "would be removed" } else { "removed" };
    let mut lines = vec![format!("{:>12} events {done}, {} bytes", total.events, total.bytes)];
    for (at, (rule, share)) in retention.rules.iter().zip(&report.rules).enumerate() {
        let (events, bytes, number) = (share.events, share.bytes, at + 1);
        lines.push(format!("{events:>12} by rule {number} ({rule}), {bytes} bytes"));
    }
    if let Some(max) = retention.bytes_max {
        let (events, bytes) = (report.size.events, report.size.bytes);
        lines.push(format!("{events:>12} for store.events_bytes_max = {max}, {bytes} bytes"));
    }
    if let Some(age_s_max) = retention.archive_age_s_max {
        let (events, bytes) = (report.archive.events, report.archive.bytes);
        lines.push(format!(
            "{events:>12} of the archive for store.archive_age_s_max = {age_s_max}, {bytes} bytes"
        ));
    }
    let stored = report.stored_bytes;
    lines.push(format!("{stored:>12} bytes were taken by all stored events"));
    if report.kept_excess_bytes > 0 {
        let kept = report.kept_excess_bytes;
        lines.push(format!("{kept:>12} bytes are too much and stay: the rules keep them"));
    }
    if report.is_cut_short {
        lines.push("interrupted: what is counted above is done; run it again for the rest".into());
    }
    lines.join("\n")
}

fn to_json(report: &Report, args: &RetentionArgs) -> String {
    let rules: Vec<_> = (report.rules.iter().zip(1..))
        .map(|(share, rule)| json!({"rule": rule, "events": share.events, "bytes": share.bytes}))
        .collect();
    json!({
        "dry_run": args.dry_run,
        "rules": rules,
        "size": {"events": report.size.events, "bytes": report.size.bytes},
        "archive": {"events": report.archive.events, "bytes": report.archive.bytes},
        "stored_bytes": report.stored_bytes,
        "kept_excess_bytes": report.kept_excess_bytes,
        "interrupted": report.is_cut_short,
    })
    .to_string()
}
