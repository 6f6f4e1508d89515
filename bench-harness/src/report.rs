//! The Markdown report of a results folder, and its pictures.

mod agreement;
mod groups;
mod plots;
mod tables;
mod targets;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::record::Record;
use crate::results::Results;
use crate::scenario::Scenario;
use crate::spread::number;

pub use groups::{Group, groups};

/// A file of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Its name.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// Writes `report.md` and the pictures into the folder that the results are in.
pub fn write(dir: &Path, scenarios: &[Scenario]) -> anyhow::Result<()> {
    let results = Results::read(dir)?;
    for file in render(&results, scenarios) {
        fs::write(dir.join(&file.name), file.text).with_context(|| file.name.clone())?;
    }
    Ok(())
}

/// All files of a report, the page first.
pub fn render(results: &Results, scenarios: &[Scenario]) -> Vec<Rendered> {
    let mut page = head(results);
    let mut pictures = Vec::new();
    page += &targets::section(results, scenarios);
    for scenario in scenarios {
        let rows: Vec<&Record> = of_scenario(results, &scenario.name);
        if rows.is_empty() {
            continue;
        }
        let groups = groups(&rows);
        put(&mut page, format_args!("\n## {}\n\n", scenario.title));
        page += &tables::table(scenario, &groups);
        if scenario.compare_results {
            page += &agreement::section(&groups);
        }
        for picture in plots::pictures(scenario, &groups) {
            put(&mut page, format_args!("\n![{}]({})\n", picture.title, picture.file.name));
            pictures.push(picture.file);
        }
        put(&mut page, format_args!("\n{}\n", scenario.analysis.trim()));
        page += &remarks(&rows);
    }
    let mut files = vec![Rendered { name: "report.md".to_owned(), text: page }];
    files.extend(pictures);
    files
}

fn of_scenario<'a>(results: &'a Results, name: &str) -> Vec<&'a Record> {
    results.rows.iter().filter(|row| row.report.scenario == name).collect()
}

/// Writing to a string cannot fail.
fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = page.write_fmt(text);
}

fn head(results: &Results) -> String {
    let (info, machine) = (&results.info, &results.info.machine);
    let (day, time) = info.date.split_once('T').unwrap_or((&info.date, ""));
    let mut page = format!("# Benchmark of {day} {}\n\n", time.replace('-', ":"));
    let gigabytes = machine.memory_bytes as f64 / f64::from(1 << 30);
    let vector =
        if machine.vector.is_empty() { "none".to_owned() } else { machine.vector.join(", ") };
    put(
        &mut page,
        format_args!(
            "Asked for: {}. Machine: {} cores of {}, {} GiB, {}, stores on {}, vector instructions {vector}, \
         load {} before the run. Relay, load and harness share these cores.",
            info.asked.join(", "),
            machine.cores,
            machine.processor,
            number(gigabytes, 0),
            machine.kernel,
            machine.file_system,
            number(machine.load_before, 1),
        ),
    );
    if let Some(commit) = &machine.commit {
        put(&mut page, format_args!(" Sources at {commit}."));
    }
    page += "\n\n| engine | version | an OK promises |\n|---|---|---|\n";
    for engine in &info.engines {
        put(
            &mut page,
            format_args!("| {} | {} | {} |\n", engine.name, engine.version, engine.profile),
        );
    }
    page += &named("Skipped", &info.skipped);
    page += &named("Not run", &info.left_out);
    if !info.complete {
        page += "\nThe run did not come to its end.\n";
    }
    page += "\nA cell is the median of the rounds, with minimum and maximum in brackets; engines take turns, \
             and their order is reversed in every second round.\n";
    page
}

fn named(head: &str, list: &[crate::catalog::Skipped]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{head}:\n\n");
    for entry in list {
        put(&mut text, format_args!("- {}: {}\n", entry.name, entry.reason));
    }
    text
}

/// Warnings, each once with the rows that have it.
fn remarks(rows: &[&Record]) -> String {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        for warning in &row.report.warnings {
            let place = format!("{} {}", row.engine.name, row.report.case);
            match found.iter_mut().find(|(text, _)| *text == warning) {
                Some((_, places)) if places.contains(&place) => {}
                Some((_, places)) => places.push(place),
                None => found.push((warning, vec![place])),
            }
        }
    }
    let mut text = String::new();
    for (warning, places) in found {
        put(&mut text, format_args!("\n- Warning: {warning} ({})", places.join(", ")));
    }
    if text.is_empty() { text } else { text + "\n" }
}
