//! Relays as data: how to find, configure, start and feed one. `engines/*.toml` are the ones that
//! come along; `docs/benchmarks/ENGINES.md` explains every member for those who bring their own.

use serde::Deserialize;
use thiserror::Error;

use crate::template::placeholders;

/// A relay, described.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Short name, used in tables and on the command line.
    pub name: String,
    /// One sentence for the report.
    pub about: String,
    /// What an `OK true` of this engine, so configured, promises: `durable`, `fast`, ..
    pub profile: String,
    /// The program.
    pub binary: Binary,
    /// How it is started. Placeholders: `{bin}`, `{port}`, `{dir}`, `{config}`.
    pub command: Vec<String>,
    /// Its configuration file.
    #[serde(default)]
    pub config: Option<ConfigFile>,
    /// Prints the version on the first line of either output. Placeholder: `{bin}`.
    #[serde(default)]
    pub version: Vec<String>,
    /// How long it may take until it answers a WebSocket handshake.
    #[serde(default = "ready_s_default")]
    pub ready_s_max: u64,
    /// Reads NDJSON into the store while the relay does not run.
    #[serde(default)]
    pub import: Option<Transfer>,
    /// Writes the store as NDJSON while the relay does not run.
    #[serde(default)]
    pub export: Option<Transfer>,
    /// Ways to mirror another relay.
    #[serde(default)]
    pub sync: Vec<Sync>,
    /// Scenarios that it cannot run, each with the reason: they become rows that say so.
    #[serde(default)]
    pub unsupported: Vec<Unsupported>,
}

const fn ready_s_default() -> u64 {
    20
}

/// A program: looked for in a variable, beside this one, then on PATH.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Binary {
    /// File name.
    pub program: String,
    /// The environment variable that holds its path.
    pub variable: String,
    /// Whether it is built into the same directory as this program.
    #[serde(default)]
    pub beside: bool,
}

/// A configuration file. Placeholders: `{port}`, `{dir}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    /// Its name in the run's directory.
    pub name: String,
    /// Its content.
    pub template: String,
}

/// A bulk command. Placeholders: `{bin}`, `{dir}`, `{config}`, `{file}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// The command. Without `{file}` it is given the file as standard input (or output).
    pub command: Vec<String>,
}

impl Transfer {
    /// Whether the file is a pipe rather than an argument.
    pub fn is_piped(&self) -> bool {
        !self.command.iter().any(|word| word.contains("{file}"))
    }
}

/// A command that mirrors the relay at `{url}` into (or out of) the own store, until both agree.
/// Placeholders: `{bin}`, `{dir}`, `{config}`, `{url}`, `{direction}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sync {
    /// `negentropy` or `paged`.
    pub mechanism: Mechanism,
    /// The program, when it is not the relay's.
    #[serde(default)]
    pub binary: Option<Binary>,
    /// The command.
    pub command: Vec<String>,
    /// Which of the directions it knows.
    pub directions: Vec<Direction>,
}

/// How the difference is found.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Mechanism {
    /// NIP-77.
    Negentropy,
    /// REQ with `until`, page by page.
    Paged,
}

impl Mechanism {
    /// As written in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Negentropy => "negentropy",
            Self::Paged => "paged REQ",
        }
    }
}

/// Which way events travel, seen from the store that the command owns.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the other relay.
    Down,
    /// To the other relay.
    Up,
    /// Both.
    Both,
}

impl Direction {
    /// As written in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
            Self::Both => "both",
        }
    }
}

/// A scenario that an engine cannot run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsupported {
    /// The scenario.
    pub scenario: String,
    /// Why.
    pub reason: String,
}

/// Why an engine file is refused.
#[derive(Debug, Error)]
pub enum EngineError {
    /// Not TOML, or not these members.
    #[error("not an engine file")]
    Syntax(#[from] toml::de::Error),
    /// A placeholder that nothing fills there.
    #[error("`{{{name}}}` means nothing in {place}")]
    Placeholder {
        /// The placeholder.
        name: String,
        /// The member that has it.
        place: &'static str,
    },
    /// Something is missing that an engine needs.
    #[error("{0}")]
    Incomplete(&'static str),
}

impl Engine {
    /// Parses one file.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let engine: Self = toml::from_str(text)?;
        engine.check()?;
        Ok(engine)
    }

    /// The sync command for a mechanism and a direction.
    pub fn sync(&self, mechanism: Mechanism, direction: Direction) -> Option<&Sync> {
        let fits =
            |sync: &&Sync| sync.mechanism == mechanism && sync.directions.contains(&direction);
        self.sync.iter().find(fits)
    }

    /// Why it cannot run a scenario.
    pub fn refusal(&self, scenario: &str) -> Option<&str> {
        let found = self.unsupported.iter().find(|entry| entry.scenario == scenario);
        found.map(|entry| entry.reason.as_str())
    }

    fn check(&self) -> Result<(), EngineError> {
        let has = |name: &str| {
            self.command.iter().any(|word| word.contains(name))
                || self.config.as_ref().is_some_and(|config| config.template.contains(name))
        };
        if !has("{port}") {
            return Err(EngineError::Incomplete("nothing tells the relay its {port}"));
        }
        if !has("{dir}") {
            return Err(EngineError::Incomplete("nothing tells the relay its {dir}"));
        }
        let base: &[&str] = &["bin", "port", "dir", "config"];
        only(&self.command, base, "command")?;
        only(&self.version, &["bin"], "version")?;
        for transfer in self.import.iter().chain(&self.export) {
            only(&transfer.command, &["bin", "dir", "config", "file"], "import or export")?;
        }
        for sync in &self.sync {
            only(&sync.command, &["bin", "dir", "config", "url", "direction"], "sync")?;
        }
        Ok(())
    }
}

fn only(words: &[String], allowed: &[&str], place: &'static str) -> Result<(), EngineError> {
    let names = words.iter().flat_map(|word| placeholders(word));
    match names.into_iter().find(|name| !allowed.contains(name)) {
        Some(name) => Err(EngineError::Placeholder { name: name.to_owned(), place }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = r#"
        name = "x"
        about = "A relay."
        profile = "durable"
        binary = { program = "x", variable = "X_BIN" }
        command = ["{bin}", "{port}", "{dir}"]
    "#;

    fn check(more: &str, expected: Option<&str>) {
        let error = Engine::parse(&format!("{MINIMAL}\n{more}")).err();
        assert_eq!(error.map(|error| error.to_string()).as_deref(), expected, "{more}");
    }

    #[test]
    fn an_engine_says_where_it_is_wrong() {
        check("", None);
        check("version = [\"{bin}\", \"{url}\"]", Some("`{url}` means nothing in version"));
        check("import = { command = [\"{bin}\", \"{file}\"] }", None);
    }

    #[test]
    fn an_engine_must_be_told_port_and_directory() {
        let text = MINIMAL.replace("{port}", "7000");
        let error = Engine::parse(&text).unwrap_err().to_string();
        assert_eq!(error, "nothing tells the relay its {port}");
    }

    #[test]
    fn unknown_members_are_refused() {
        assert!(Engine::parse(&format!("{MINIMAL}\nspeed = 9")).is_err());
    }
}
