//! Rows of one case and one engine, over the rounds.

use crate::record::Record;
use crate::spread::Spread;

/// The rounds of one row of a table.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The case.
    pub case: &'a str,
    /// The engine.
    pub engine: &'a str,
    /// Its rows, one for each round.
    pub rows: Vec<&'a Record>,
}

/// Groups rows by case, then engine, both in the order in which they came first.
pub fn groups<'a>(rows: &[&'a Record]) -> Vec<Group<'a>> {
    let mut cases: Vec<&str> = Vec::new();
    let mut engines: Vec<&str> = Vec::new();
    for row in rows {
        for (list, name) in [(&mut cases, &row.report.case), (&mut engines, &row.engine.name)] {
            if !list.contains(&name.as_str()) {
                list.push(name);
            }
        }
    }
    let of = |case: &'a str, engine: &'a str| {
        let rows = rows.iter().filter(|row| row.report.case == case && row.engine.name == engine);
        Group { case, engine, rows: rows.copied().collect() }
    };
    let pairs = cases.iter().flat_map(|case| engines.iter().map(|engine| of(case, engine)));
    pairs.filter(|group| !group.rows.is_empty()).collect()
}

impl<'a> Group<'a> {
    /// The rows whose figures may be used.
    pub fn passed(&self) -> impl Iterator<Item = &'a Record> {
        self.rows.iter().copied().filter(|row| row.passed())
    }

    /// The number at a path, over the rounds that passed.
    pub fn spread(&self, path: &str) -> Option<Spread> {
        Spread::of(self.passed().filter_map(|row| row.number(path)))
    }

    /// Why some rounds did not pass, and how many.
    pub fn failure(&self) -> Option<String> {
        let failed: Vec<_> = self.rows.iter().filter_map(|row| row.reason()).collect();
        let reason = failed.first()?;
        // A table cell is one line and has its own bars.
        let reason = reason.lines().next().unwrap_or("").replace('|', "/");
        let reason: String = reason.chars().take(REASON_CHARS_MAX).collect();
        let (failed, all) = (failed.len(), self.rows.len());
        Some(if all == 1 { reason } else { format!("{failed} of {all} rounds: {reason}") })
    }
}

/// What fits a table; the row in `rows.jsonl` has all of it.
const REASON_CHARS_MAX: usize = 160;
