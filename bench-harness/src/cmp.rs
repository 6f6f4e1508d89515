//! What changed between two results folders, beyond the noise that their rounds show.

use std::fmt::Write;

use crate::record::Record;
use crate::report::{Group, groups};
use crate::results::Results;
use crate::spread::{Spread, number};

/// How a measure moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The ranges of the rounds overlap, or the medians are closer than `NOISE`.
    Noise,
    /// Beyond that, for the better.
    Better,
    /// Beyond that, for the worse.
    Worse,
    /// Beyond that, of a number that is neither good nor bad.
    Other,
}

/// Medians closer than this are the same: two runs on a quiet machine differ by as much.
const NOISE: f64 = 0.05;

/// A page: every measure that changed, then rows that one of the folders does not have.
pub fn compare(old: &Results, new: &Results) -> String {
    let (old_rows, new_rows): (Vec<&Record>, Vec<&Record>) =
        (old.rows.iter().collect(), new.rows.iter().collect());
    let mut lines = String::new();
    let (mut same, mut alone) = (0, Vec::new());
    let scenarios = names(old_rows.iter().chain(&new_rows).copied());
    for scenario in scenarios {
        let of = |rows: &[&'_ Record]| -> Vec<usize> {
            (0..rows.len()).filter(|&at| rows[at].report.scenario == scenario).collect()
        };
        let old_own: Vec<&Record> = of(&old_rows).into_iter().map(|at| old_rows[at]).collect();
        let new_own: Vec<&Record> = of(&new_rows).into_iter().map(|at| new_rows[at]).collect();
        let (before, after) = (groups(&old_own), groups(&new_own));
        for group in &after {
            let same_row =
                |other: &&Group<'_>| other.case == group.case && other.engine == group.engine;
            match before.iter().find(same_row) {
                Some(other) => same += changes(scenario, other, group, &mut lines),
                None => alone.push(format!(
                    "{scenario} {} {}: only in the second",
                    group.case, group.engine
                )),
            }
        }
        let gone = |group: &&Group<'_>| {
            !after.iter().any(|other| other.case == group.case && other.engine == group.engine)
        };
        alone.extend(
            before.iter().filter(gone).map(|group| {
                format!("{scenario} {} {}: only in the first", group.case, group.engine)
            }),
        );
    }
    page(old, new, &lines, same, &alone)
}

fn names<'a>(rows: impl Iterator<Item = &'a Record>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.report.scenario.as_str()) {
            names.push(&row.report.scenario);
        }
    }
    names
}

fn page(old: &Results, new: &Results, lines: &str, same: usize, alone: &[String]) -> String {
    let mut text = format!("# From {} to {}\n\n", old.info.date, new.info.date);
    if old.info.machine.processor != new.info.machine.processor
        || old.info.machine.cores != new.info.machine.cores
    {
        text += "The machines differ: compare within each run, not across.\n\n";
    }
    if lines.is_empty() {
        let _ = writeln!(text, "Nothing changed beyond noise ({same} measures).");
    } else {
        text += "| scenario | case | engine | measure | before | after | |\n|---|---|---|---|---:|---:|---|\n";
        text += lines;
        let _ = writeln!(text, "\n{same} measures stayed within noise.");
    }
    for line in alone {
        let _ = write!(text, "\n- {line}");
    }
    text.trim_end().to_owned() + "\n"
}

/// Writes the measures of a row that changed; gives how many did not.
fn changes(scenario: &str, before: &Group<'_>, after: &Group<'_>, lines: &mut String) -> usize {
    let (case, engine) = (after.case, after.engine);
    let states = (before.passed().next().is_some(), after.passed().next().is_some());
    if states.0 != states.1 {
        let state = |passed: bool| if passed { "passed" } else { "error" };
        let verdict = if states.1 { "better" } else { "**worse**" };
        let _ = writeln!(
            lines,
            "| {scenario} | {case} | {engine} | status | {} | {} | {verdict} |",
            state(states.0),
            state(states.1)
        );
        return 0;
    }
    let mut same = 0;
    let paths = after.passed().next().map(Record::paths).unwrap_or_default();
    for path in paths {
        let (Some(old), Some(new)) = (before.spread(&path), after.spread(&path)) else { continue };
        let verdict = match change(&path, old, new) {
            Change::Noise => {
                same += 1;
                continue;
            }
            Change::Better => "better",
            Change::Worse => "**worse**",
            Change::Other => "",
        };
        let digits = if old.max.abs().max(new.max.abs()) < 100.0 { 2 } else { 0 };
        let factor = number((new.median / old.median - 1.0) * 100.0, 0);
        let _ = writeln!(
            lines,
            "| {scenario} | {case} | {engine} | {path} | {} | {} | {factor} % {verdict} |",
            old.text(digits),
            new.text(digits)
        );
    }
    same
}

/// Whether a measure changed: the ranges do not touch and the medians are apart.
pub fn change(path: &str, old: Spread, new: Spread) -> Change {
    let overlap = old.min <= new.max && new.min <= old.max;
    // One round says nothing of its range: then only a gross difference counts.
    let single = old.count < 2 || new.count < 2;
    let noise = if single { SINGLE_NOISE } else { NOISE };
    let apart = (new.median - old.median).abs() > noise * old.median.abs();
    if overlap || !apart {
        return Change::Noise;
    }
    match more_is_better(path) {
        None => Change::Other,
        Some(more) if more == (new.median > old.median) => Change::Better,
        Some(_) => Change::Worse,
    }
}

/// Single runs of one binary differ by this much on a shared machine.
const SINGLE_NOISE: f64 = 0.25;

/// By the unit at the end of the name.
fn more_is_better(path: &str) -> Option<bool> {
    let ends = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
    if ends(&["_per_s"]) {
        Some(true)
    } else if ends(&[
        "_us",
        "_ms",
        "_s",
        "seconds",
        "_bytes",
        "_us_per_event",
        "_per_event",
        "_per_connection",
    ]) {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, old: &[f64], new: &[f64], expected: Change) {
        let spread = |values: &[f64]| Spread::of(values.iter().copied()).unwrap();
        assert_eq!(change(path, spread(old), spread(new)), expected, "{path} {old:?} {new:?}");
    }

    #[test]
    fn ranges_that_touch_are_noise() {
        check("figures.events_per_s", &[90.0, 100.0, 110.0], &[105.0, 130.0, 140.0], Change::Noise);
        check(
            "figures.events_per_s",
            &[90.0, 100.0, 110.0],
            &[120.0, 130.0, 140.0],
            Change::Better,
        );
        check("figures.events_per_s", &[120.0, 130.0], &[90.0, 100.0], Change::Worse);
    }

    #[test]
    fn medians_close_together_are_noise() {
        check("latencies.ok.p50_us", &[100.0, 101.0], &[103.0, 104.0], Change::Noise);
        check("latencies.ok.p50_us", &[100.0, 101.0], &[110.0, 111.0], Change::Worse);
    }

    #[test]
    fn single_rounds_must_differ_grossly() {
        check("latencies.ok.p50_us", &[100.0], &[80.0], Change::Noise);
        check("latencies.ok.p50_us", &[100.0], &[60.0], Change::Better);
    }

    #[test]
    fn units_say_what_is_better() {
        check("figures.bytes_per_event", &[100.0], &[200.0], Change::Worse);
        check("figures.rounds", &[100.0], &[200.0], Change::Other);
    }
}
