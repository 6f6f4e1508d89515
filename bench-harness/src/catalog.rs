//! The engines and scenarios that come along, and those that a user adds.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};

use crate::deadline::Deadline;
use crate::engine::Engine;
use crate::home::Installed;
use crate::locate::Places;
use crate::processes::kill_group;
use crate::scenario::Scenario;
use crate::template::Values;

/// Engine files that come along, in the order of the first round.
const ENGINES: [&str; 5] = [
    include_str!("../engines/zeolite-durable.toml"),
    include_str!("../engines/zeolite-fast.toml"),
    include_str!("../engines/strfry.toml"),
    include_str!("../engines/nostr-rs-relay.toml"),
    include_str!("../engines/rnostr.toml"),
];

/// Scenario files that come along, in the order of the report.
const SCENARIOS: [&str; 20] = [
    include_str!("../scenarios/fanout-scaling.toml"),
    include_str!("../scenarios/fanout-broadcast.toml"),
    include_str!("../scenarios/fanout-churn.toml"),
    include_str!("../scenarios/fanout-slow.toml"),
    include_str!("../scenarios/ingest.toml"),
    include_str!("../scenarios/visible.toml"),
    include_str!("../scenarios/open-loop.toml"),
    include_str!("../scenarios/query.toml"),
    include_str!("../scenarios/query-network.toml"),
    include_str!("../scenarios/bulk-read.toml"),
    include_str!("../scenarios/transfer.toml"),
    include_str!("../scenarios/reconcile.toml"),
    include_str!("../scenarios/sync.toml"),
    include_str!("../scenarios/sync-paged.toml"),
    include_str!("../scenarios/sync-ways.toml"),
    include_str!("../scenarios/sync-network.toml"),
    include_str!("../scenarios/connections.toml"),
    include_str!("../scenarios/crash.toml"),
    include_str!("../scenarios/soak.toml"),
    include_str!("../scenarios/self-check.toml"),
];

/// All engines: those that come along, then those of the files.
pub fn engines(files: &[PathBuf]) -> anyhow::Result<Vec<Engine>> {
    let mut engines = Vec::new();
    for text in ENGINES {
        engines.push(Engine::parse(text).context("an engine file that comes along")?);
    }
    for file in files {
        engines.push(from_file(file, Engine::parse)?);
    }
    Ok(engines)
}

/// All scenarios: those that come along, then those of the files.
pub fn scenarios(files: &[PathBuf]) -> anyhow::Result<Vec<Scenario>> {
    let mut scenarios = Vec::new();
    for text in SCENARIOS {
        scenarios.push(Scenario::parse(text).context("a scenario file that comes along")?);
    }
    for file in files {
        scenarios.push(from_file(file, Scenario::parse)?);
    }
    Ok(scenarios)
}

fn from_file<T, E>(file: &Path, parse: impl Fn(&str) -> Result<T, E>) -> anyhow::Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    parse(&text).with_context(|| format!("{} is refused", file.display()))
}

/// The engines that were asked for (all, when none was), in the order of the list.
pub fn chosen(engines: Vec<Engine>, names: &[String]) -> anyhow::Result<Vec<Engine>> {
    let known = |name: &&String| engines.iter().any(|engine| engine.name == **name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all: Vec<_> = engines.iter().map(|engine| engine.name.as_str()).collect();
        bail!("no engine is called {unknown}; there are {}", all.join(", "));
    }
    let wanted = |engine: &Engine| names.is_empty() || names.contains(&engine.name);
    Ok(engines.into_iter().filter(wanted).collect())
}

/// An engine that is left out, and why.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Skipped {
    /// What is left out.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// Looks for the programs of the engines.
pub fn installed(engines: Vec<Engine>, places: &Places) -> (Vec<Installed>, Vec<Skipped>) {
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    for engine in engines {
        match places.find(&engine.binary) {
            Ok(program) => {
                let version = version(&engine, &program);
                found.push(Installed { engine, program, version });
            }
            Err(missing) => {
                skipped.push(Skipped { name: engine.name, reason: missing.to_string() });
            }
        }
    }
    (found, skipped)
}

/// For a version command: one that starts a relay instead would never end.
const VERSION_MAX: Duration = Duration::from_secs(5);

/// The first line that the version command prints.
fn version(engine: &Engine, program: &Path) -> String {
    let values = Values::new().with("bin", program.to_string_lossy());
    let words = values.fill_all(&engine.version);
    let line = words.split_first().and_then(|(program, arguments)| first_line(program, arguments));
    line.unwrap_or_else(|| "unknown".to_owned())
}

fn first_line(program: &str, arguments: &[String]) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().ok()?;
    let group = child.id();
    let deadline = Deadline::start(VERSION_MAX, move || kill_group(group));
    let output = child.wait_with_output().ok()?;
    drop(deadline);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
