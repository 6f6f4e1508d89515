//! The numbers to be reached: met, or missed by how much.

use crate::record::Record;
use crate::report::{Group, groups, of_scenario, put};
use crate::results::Results;
use crate::scenario::{Scenario, Target};
use crate::spread::{Spread, number};

/// The section on targets; empty when no scenario with one has run.
pub(super) fn section(results: &Results, scenarios: &[Scenario]) -> String {
    let mut lines = String::new();
    let mut reasons = String::new();
    for scenario in scenarios {
        let rows: Vec<&Record> = of_scenario(results, &scenario.name);
        if rows.is_empty() {
            continue;
        }
        let groups = groups(&rows);
        for target in &scenario.target {
            let (line, missed) = line(target, &groups);
            lines += &line;
            if missed && !target.profile.is_empty() {
                put(&mut reasons, format_args!("- {}: {}\n", target.what, target.profile.trim()));
            }
        }
    }
    if lines.is_empty() {
        return lines;
    }
    let mut text =
        "\n## Targets\n\n| what | must be | is | |\n|---|---:|---:|---|\n".to_owned() + &lines;
    if !reasons.is_empty() {
        put(&mut text, format_args!("\nWhere the time of the missed ones goes:\n\n{reasons}"));
    }
    text
}

/// The line, and whether the target is missed.
fn line(target: &Target, all: &[Group<'_>]) -> (String, bool) {
    let of = |engine: &str| {
        let group = all.iter().find(|group| group.case == target.case && group.engine == engine);
        group
            .and_then(|group| group.spread(&target.value))
            .map(|spread| spread.scaled(target.scale))
    };
    let measured = of(&target.engine);
    let rival = target.ahead_of.as_deref().map(|rival| (rival, of(rival)));
    let digits = digits(target);
    let found = match (measured, rival) {
        (None, _) => "-".to_owned(),
        (Some(spread), Some((rival, Some(theirs)))) => {
            format!("{}; {rival} {}", spread.text(digits), theirs.text(digits))
        }
        (Some(spread), _) => spread.text(digits),
    };
    let verdict = verdict(target, measured, rival);
    let missed = verdict.starts_with("**missed");
    let verdict = verdict + &size(target, all);
    (format!("| {} | {} | {found} | {verdict} |\n", target.what, demand(target)), missed)
}

/// What to add to a verdict on a corpus that is smaller than the target's.
fn size(target: &Target, all: &[Group<'_>]) -> String {
    let is_own = |group: &&Group<'_>| group.case == target.case && group.engine == target.engine;
    let own = all.iter().filter(is_own).find_map(|group| group.passed().next());
    let events = own.and_then(|row| row.corpus.as_ref()).map(|corpus| corpus.events);
    match (events, target.events_min) {
        (Some(events), Some(min)) if events < min => {
            format!(" with {} events, not {}", number(events as f64, 0), number(min as f64, 0))
        }
        _ => String::new(),
    }
}

fn digits(target: &Target) -> usize {
    match target.at_most.or(target.at_least).unwrap_or(1.0) {
        bound if bound < 1.0 => 3,
        bound if bound < 10.0 => 2,
        bound if bound < 100.0 => 1,
        _ => 0,
    }
}

fn demand(target: &Target) -> String {
    let digits = |bound: f64| usize::from(bound.fract() > 0.0) * 2;
    let unit = &target.unit;
    let most = target.at_most.map(|bound| format!("<= {} {unit}", number(bound, digits(bound))));
    let least = target.at_least.map(|bound| format!(">= {} {unit}", number(bound, digits(bound))));
    let ahead = target.ahead_of.as_ref().map(|rival| format!("ahead of {rival}"));
    [most, least, ahead].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn verdict(
    target: &Target,
    measured: Option<Spread>,
    rival: Option<(&str, Option<Spread>)>,
) -> String {
    let Some(value) = measured.map(|spread| spread.median) else {
        return "not measured".to_owned();
    };
    let over = target.at_most.filter(|bound| value > *bound).map(|bound| value / bound);
    let under = target.at_least.filter(|bound| value < *bound).map(|bound| bound / value);
    if let Some(factor) = over.or(under) {
        return format!("**missed** by a factor of {}", number(factor, 2));
    }
    match rival {
        Some((rival, None)) => format!("met; {rival} was not measured"),
        Some((rival, Some(theirs))) => {
            let less_is_better = target.at_least.is_none();
            let behind = if less_is_better { value > theirs.median } else { value < theirs.median };
            if behind { format!("**missed**: behind {rival}") } else { "met".to_owned() }
        }
        None => "met".to_owned(),
    }
}
