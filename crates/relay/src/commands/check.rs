//! `check`: follows every cross reference of the store.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use zeolite_store::CheckReport;

use super::store::open_to_read;
use super::{Exit, output};
use crate::config::Config;

/// Runs the command.
pub(crate) fn run(config: &Config) -> anyhow::Result<Exit> {
    let store = open_to_read(config)?;
    let bar = bar();
    let report = store.check(&mut |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        bar.set_message(progress.table);
    });
    bar.finish_and_clear();
    let report = report?;
    output::print(render(&report))?;
    Ok(if report.is_clean() { Exit::Done } else { Exit::Findings })
}

fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} (left: {eta})");
    ProgressBar::new(0).with_style(style.expect("the template is well formed"))
}

fn render(report: &CheckReport) -> String {
    let mut lines = vec![
        format!("{:>12} events", report.events),
        format!("{:>12} index entries", report.index_entries),
        format!("{:>12} timeline entries", report.timeline_entries),
        format!("{:>12} archived events", report.archived),
        format!("{:>12} problems", report.problems_total),
    ];
    lines.extend(report.problems.iter().map(|problem| format!("  {problem}")));
    let named = report.problems.len() as u64;
    if named < report.problems_total {
        lines.push(format!("  and {} more", report.problems_total - named));
    }
    lines.join("\n")
}
