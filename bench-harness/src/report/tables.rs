//! A scenario's table.

use crate::report::{Group, put};
use crate::scenario::{Column, Scenario};
use crate::spread::{Spread, number};

/// The table with the scenario's columns, or with all figures when it names none.
pub(super) fn table(scenario: &Scenario, groups: &[Group<'_>]) -> String {
    let found;
    let columns = if scenario.column.is_empty() {
        found = all_columns(groups);
        &found
    } else {
        &scenario.column
    };
    let heads: Vec<&str> = columns.iter().map(|column| column.head.as_str()).collect();
    let mut text = format!("| case | engine | {} |\n", heads.join(" | "));
    put(&mut text, format_args!("|---|---{}|\n", "|---:".repeat(columns.len())));
    for group in groups {
        put(
            &mut text,
            format_args!("| {} | {} | {} |\n", group.case, group.engine, cells(group, columns)),
        );
    }
    text + &failures(groups)
}

fn cells(group: &Group<'_>, columns: &[Column]) -> String {
    if group.passed().next().is_none() {
        let failure = group.failure().unwrap_or_default();
        return format!("**error**: {failure}{}", " |".repeat(columns.len() - 1));
    }
    columns.iter().map(|column| cell(group, column)).collect::<Vec<_>>().join(" | ")
}

fn cell(group: &Group<'_>, column: &Column) -> String {
    let Some(spread) = group.spread(&column.value) else {
        let text = group.passed().find_map(|row| row.text(&column.value));
        return text.unwrap_or_else(|| "-".to_owned());
    };
    let spread = spread.scaled(column.scale);
    // What was asked for does not vary.
    let varies = !column.value.starts_with("params.");
    if varies { spread.text(column.digits) } else { number(spread.median, column.digits) }
}

/// Groups of which some rounds did not pass: their cells show the others.
fn failures(groups: &[Group<'_>]) -> String {
    let mut text = String::new();
    for group in groups.iter().filter(|group| group.passed().next().is_some()) {
        if let Some(failure) = group.failure() {
            put(&mut text, format_args!("\n- {} {}: {failure}", group.engine, group.case));
        }
    }
    if text.is_empty() { text } else { text + "\n" }
}

fn all_columns(groups: &[Group<'_>]) -> Vec<Column> {
    let mut paths: Vec<String> = Vec::new();
    for row in groups.iter().flat_map(Group::passed) {
        for path in row.paths() {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    let digits = |path: &str| {
        let values = groups.iter().filter_map(|group| group.spread(path));
        let largest = values.map(|spread: Spread| spread.max.abs()).fold(0.0, f64::max);
        if largest < 100.0 { 2 } else { 0 }
    };
    let column = |value: String| Column {
        head: value.split_once('.').map_or("", |(_, name)| name).to_owned(),
        digits: digits(&value),
        value,
        scale: 1.0,
    };
    if paths.is_empty() {
        paths.push("figures.none".to_owned());
    }
    paths.into_iter().map(column).collect()
}
