//! Scenarios as data: which driver runs with which arguments on which corpus, what must come back,
//! how it is shown, which numbers are to be reached, and how to read it. `scenarios/*.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;
use thiserror::Error;

use crate::template::placeholders;

/// A scenario, described.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name, used on the command line.
    pub name: String,
    /// The heading of its section.
    pub title: String,
    /// Sets that it belongs to; it is in `all` without saying so.
    #[serde(default)]
    pub sets: Vec<String>,
    /// Who runs it.
    #[serde(default)]
    pub kind: Kind,
    /// Seconds that one run may take.
    pub timeout_s: u64,
    /// Rounds over all engines; odd rounds go backwards.
    #[serde(default = "rounds_default")]
    pub rounds: u32,
    /// The events that it works on.
    #[serde(default)]
    pub corpus: Option<CorpusSpec>,
    /// Starts of the driver, each against a relay of its own.
    #[serde(default)]
    pub run: Vec<Run>,
    /// Whether the ids that came back are compared between engines.
    #[serde(default)]
    pub compare_results: bool,
    /// The table's columns.
    #[serde(default)]
    pub column: Vec<Column>,
    /// Numbers to be reached.
    #[serde(default)]
    pub target: Vec<Target>,
    /// Pictures.
    #[serde(default)]
    pub plot: Vec<Plot>,
    /// What the figures mean, and what they hide.
    pub analysis: String,
}

const fn rounds_default() -> u32 {
    3
}

/// Who runs a scenario.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A driver of the load generator, against a running relay.
    #[default]
    Load,
    /// The harness: NDJSON into a store and out of it.
    Transfer,
    /// The harness: pairs of relays, one mirrors the other.
    Sync,
    /// A driver, while the harness kills and restarts the relay.
    Crash,
}

/// Which events.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct CorpusSpec {
    /// `classic-v1` or `network-v1`.
    pub shape: String,
    /// How many, before signatures and duplicates are considered.
    pub events: u64,
    /// How many in the set `short`.
    #[serde(default)]
    pub events_short: Option<u64>,
    /// Whether they are in the relay's store before it starts.
    #[serde(default)]
    pub import: bool,
}

/// One start of the driver.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Sets in which this start takes part; all of the scenario's when empty.
    #[serde(default)]
    pub sets: Vec<String>,
    /// Arguments of the load generator. Placeholders: `{url}`, `{pid}`, `{corpus}`, `{dir}`; for kind
    /// `crash` also `{restart}`, a command that kills the relay and starts it again.
    #[serde(default)]
    pub args: Vec<String>,
    /// Rows that must come, and what their checks must have expected.
    #[serde(default)]
    pub expect: BTreeMap<String, BTreeMap<String, String>>,
    /// For kind `sync`: what the stores hold before.
    #[serde(default)]
    pub sync: Option<SyncCase>,
}

/// What two stores hold before one mirrors the other, and which way events travel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SyncCase {
    /// The row's name.
    pub name: String,
    /// How the difference is found.
    pub mechanism: crate::engine::Mechanism,
    /// Which way events travel, seen from the store that runs the command.
    pub direction: crate::engine::Direction,
    /// Which events the store that runs the command lacks.
    pub local_lacks: Share,
    /// Which events the other relay lacks.
    pub remote_lacks: Share,
    /// Runs the command once more when it is done, as a row of its own: nothing is to be done.
    #[serde(default)]
    pub repeat: bool,
}

/// Part of a corpus, in the corpus' order.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// No event.
    None,
    /// Every event.
    All,
    /// One event in a hundred, spread over everything.
    HundredthSpread,
    /// One hundredth in one piece, the newest.
    HundredthNewest,
    /// The oldest fifth.
    FifthOldest,
    /// The newest fifth.
    FifthNewest,
}

impl Share {
    /// Whether the share holds the event at a place of a corpus of this length.
    pub fn holds(self, at: u64, length: u64) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::HundredthSpread => at % 100 == 50,
            Self::HundredthNewest => at >= length - length / 100,
            Self::FifthOldest => at < length / 5,
            Self::FifthNewest => at >= length - length / 5,
        }
    }
}

/// A column of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its head, with the unit.
    pub head: String,
    /// Where the value is in a row: `latencies.delivery.p50_us`, `figures.events_per_s`.
    pub value: String,
    /// What it is multiplied by.
    #[serde(default = "one")]
    pub scale: f64,
    /// Digits behind the point.
    #[serde(default)]
    pub digits: usize,
}

const fn one() -> f64 {
    1.0
}

/// A number to be reached.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// What is measured, in words.
    pub what: String,
    /// The engine that must reach it.
    pub engine: String,
    /// The row.
    pub case: String,
    /// Where the value is in the row.
    pub value: String,
    /// What it is multiplied by.
    #[serde(default = "one")]
    pub scale: f64,
    /// The unit after scaling.
    pub unit: String,
    /// The largest value that will do.
    #[serde(default)]
    pub at_most: Option<f64>,
    /// The smallest value that will do.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// The size of the corpus for which the target was set; with a smaller one the verdict says so.
    #[serde(default)]
    pub events_min: Option<u64>,
    /// An engine that must be worse in the same run.
    #[serde(default)]
    pub ahead_of: Option<String>,
    /// Where the time goes, as far as a profile has said: printed when the target is missed.
    #[serde(default)]
    pub profile: String,
}

/// A picture. (serde cannot refuse unknown members beside flattened ones.)
#[derive(Clone, Debug, Deserialize)]
pub struct Plot {
    /// The file's name, without its ending.
    pub name: String,
    /// Its caption.
    pub title: String,
    /// What is drawn.
    #[serde(flatten)]
    pub shape: Shape,
}

/// What a picture shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "shape", rename_all = "lowercase")]
pub enum Shape {
    /// A value against a parameter, a line for each engine.
    Line {
        /// Where the parameter is in a row.
        x: String,
        /// The label of its axis.
        x_label: String,
        /// Where the value is in a row.
        y: String,
        /// The label of its axis.
        y_label: String,
        /// What the value is multiplied by.
        #[serde(default = "one")]
        scale: f64,
    },
    /// The percentile curve of a distribution, a line for each engine.
    Curve {
        /// The row.
        case: String,
        /// The distribution.
        latency: String,
    },
    /// A series over time, a line for each engine.
    Series {
        /// The row.
        case: String,
        /// The series.
        series: String,
        /// The label of its axis.
        y_label: String,
    },
    /// A value of every row, a bar for each engine.
    Bars {
        /// Where the value is in a row.
        value: String,
        /// The label of its axis.
        y_label: String,
        /// What the value is multiplied by.
        #[serde(default = "one")]
        scale: f64,
    },
}

/// Why a scenario file is refused.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// Not TOML, or not these members.
    #[error("not a scenario file")]
    Syntax(#[from] toml::de::Error),
    /// A placeholder that nothing fills.
    #[error("`{{{0}}}` means nothing in arguments")]
    Placeholder(String),
    /// Something is missing that a scenario of its kind needs.
    #[error("{0}")]
    Incomplete(&'static str),
}

/// The set of short runs.
pub const SHORT: &str = "short";

/// The set of everything.
pub const ALL: &str = "all";

impl Scenario {
    /// Parses one file.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = toml::from_str(text)?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Whether a set, or the scenario's own name, asks for it or for one of its runs.
    pub fn is_in(&self, set: &str) -> bool {
        let sets = self.run.iter().flat_map(|run| &run.sets).chain(&self.sets);
        set == ALL || set == self.name || sets.into_iter().any(|own| own == set)
    }

    /// The starts that take part in a set.
    pub fn runs_in<'a>(&'a self, set: &'a str) -> impl Iterator<Item = &'a Run> {
        let all = move |run: &Run| run.sets.is_empty() || run.sets.iter().any(|own| own == set);
        let by_name = set == ALL || set == self.name;
        self.run.iter().filter(move |run| {
            let only_short = run.sets.iter().all(|own| own == SHORT) && !run.sets.is_empty();
            if by_name { !only_short } else { all(run) }
        })
    }

    fn check(&self) -> Result<(), ScenarioError> {
        let known = ["url", "pid", "corpus", "dir", "restart"];
        let args = self.run.iter().flat_map(|run| &run.args);
        let unknown = args.flat_map(|arg| placeholders(arg)).find(|name| !known.contains(name));
        if let Some(name) = unknown {
            return Err(ScenarioError::Placeholder(name.to_owned()));
        }
        let needs_corpus = match self.kind {
            Kind::Transfer | Kind::Sync => true,
            Kind::Load | Kind::Crash => {
                self.run.iter().flat_map(|run| &run.args).any(|arg| arg.contains("{corpus}"))
            }
        };
        if needs_corpus && self.corpus.is_none() {
            return Err(ScenarioError::Incomplete("a corpus is used and none is named"));
        }
        if self.kind == Kind::Sync && self.run.iter().any(|run| run.sync.is_none()) {
            return Err(ScenarioError::Incomplete("a run of kind sync has no [run.sync]"));
        }
        if self.run.is_empty() && self.kind != Kind::Transfer {
            return Err(ScenarioError::Incomplete("nothing is run"));
        }
        if self.analysis.trim().is_empty() {
            return Err(ScenarioError::Incomplete("the analysis is empty"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(runs: &str) -> Result<Scenario, ScenarioError> {
        let head =
            "name = 'x'\ntitle = 'X'\nsets = ['s', 'short']\ntimeout_s = 1\nanalysis = 'a'\n";
        Scenario::parse(&format!("{head}{runs}"))
    }

    #[test]
    fn runs_are_chosen_by_set() {
        let text = "[[run]]\nargs = ['1']\nsets = ['short']\n\
                    [[run]]\nargs = ['2']\nsets = ['s']\n[[run]]\nargs = ['3']\n";
        let scenario = scenario(text).unwrap();
        let check = |set: &str, expected: &[&str]| {
            let found: Vec<_> = scenario.runs_in(set).map(|run| run.args[0].as_str()).collect();
            assert_eq!(found, expected, "{set}");
        };
        check("short", &["1", "3"]);
        check("s", &["2", "3"]);
        check("x", &["2", "3"]);
        check("all", &["2", "3"]);
        assert!(scenario.is_in("short") && scenario.is_in("all") && !scenario.is_in("other"));
    }

    #[test]
    fn a_scenario_says_what_is_missing() {
        let check = |runs: &str, expected: &str| {
            assert_eq!(scenario(runs).unwrap_err().to_string(), expected);
        };
        check("", "nothing is run");
        check("[[run]]\nargs = ['{corpus}']", "a corpus is used and none is named");
        check("[[run]]\nargs = ['{port}']", "`{port}` means nothing in arguments");
    }

    #[test]
    fn shares_hold_what_they_say() {
        let count = |share: Share| (0..1000).filter(|&at| share.holds(at, 1000)).count();
        assert_eq!(count(Share::None), 0);
        assert_eq!(count(Share::All), 1000);
        assert_eq!(count(Share::HundredthSpread), 10);
        assert_eq!(count(Share::HundredthNewest), 10);
        assert_eq!(count(Share::FifthOldest), 200);
        assert_eq!(count(Share::FifthNewest), 200);
    }
}
