//! What every measurement needs: processes, corpora, filled stores, and a directory to work in.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, bail};
use zeolite_loadgen::report::{Check, Report};

use crate::corpora::{Corpora, CorpusFile, cut, effective_ids};
use crate::home::{Home, Installed, Way, copy_dir, finish};
use crate::idset::IdSet;
use crate::load::{Loader, Printed};
use crate::processes::Processes;
use crate::scenario::{Scenario, Share};

/// Filling a store with a million events takes the slowest engine known about ten minutes.
const FILL_MAX: Duration = Duration::from_secs(3600);

/// Connections and unanswered events of each, for engines that are filled over sockets.
const FILL_SHAPE: &str = "4x50";

/// How long such an engine may answer nothing.
const FILL_SILENCE_S: &str = "120";

/// The tools of a run.
pub struct Bench<'a> {
    /// The registry of processes.
    pub processes: &'a Processes,
    /// Starts the load generator.
    pub loader: Loader<'a>,
    /// Corpora on this disk.
    pub corpora: Corpora,
    /// Replaces the number of events of every corpus.
    pub events: Option<u64>,
    /// Whether the set `short` runs.
    pub short: bool,
    work: PathBuf,
    filled: HashMap<(String, PathBuf, &'static str), PathBuf>,
    effective: HashMap<PathBuf, Rc<IdSet>>,
    homes: u32,
}

impl<'a> Bench<'a> {
    /// Works in this directory, which goes away with [`Self::clean`].
    pub fn new(loader: Loader<'a>, corpora: Corpora, work: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(work).context("cannot make a directory to work in")?;
        Ok(Self {
            processes: loader.processes,
            loader,
            corpora,
            events: None,
            short: false,
            // Relays are started elsewhere, so that relative paths would not hold.
            work: work.canonicalize()?,
            filled: HashMap::new(),
            effective: HashMap::new(),
            homes: 0,
        })
    }

    /// Where it works.
    pub fn work(&self) -> &Path {
        &self.work
    }

    /// Removes everything but the corpora.
    pub fn clean(&mut self) {
        self.filled.clear();
        // What stays is only disk space.
        let _ = fs::remove_dir_all(&self.work);
    }

    /// The scenario's corpus.
    pub fn corpus(&self, scenario: &Scenario) -> anyhow::Result<Option<CorpusFile>> {
        let Some(spec) = &scenario.corpus else { return Ok(None) };
        let short = if self.short { spec.events_short } else { None };
        let events = self.events.or(short).unwrap_or(spec.events);
        self.corpora.get(&self.loader, &spec.shape, events).map(Some)
    }

    /// The ids of all events of a corpus that a relay must hold in the end.
    pub fn effective(&mut self, corpus: &CorpusFile) -> anyhow::Result<Rc<IdSet>> {
        if let Some(ids) = self.effective.get(&corpus.path) {
            return Ok(Rc::clone(ids));
        }
        let ids = Rc::new(effective_ids(corpus)?);
        self.effective.insert(corpus.path.clone(), Rc::clone(&ids));
        Ok(ids)
    }

    /// An empty home in a directory of its own, which must be given to [`Self::leave`].
    pub fn home(&mut self, installed: &Installed) -> anyhow::Result<(Home, PathBuf)> {
        self.homes += 1;
        let dir = self.work.join(format!("home-{}", self.homes));
        Ok((Home::make(installed, &dir)?, dir))
    }

    /// A home whose store holds a corpus without a share of it.
    pub fn filled_home(
        &mut self,
        installed: &Installed,
        corpus: &CorpusFile,
        lacks: Share,
    ) -> anyhow::Result<(Home, PathBuf)> {
        let (home, dir) = self.home(installed)?;
        if lacks != Share::All {
            let filled = self.filled(installed, corpus, lacks)?;
            copy_dir(&filled, &home.store()).context("cannot copy a filled store")?;
        }
        Ok((home, dir))
    }

    /// Removes a home that nothing runs in.
    pub fn leave(&self, dir: &Path) {
        // What stays is removed at the end.
        let _ = fs::remove_dir_all(dir);
    }

    /// A store that holds the events, filled once for each engine and kept for copies.
    fn filled(
        &mut self,
        installed: &Installed,
        corpus: &CorpusFile,
        lacks: Share,
    ) -> anyhow::Result<PathBuf> {
        let key = (installed.engine.name.clone(), corpus.path.clone(), share_name(lacks));
        if let Some(store) = self.filled.get(&key) {
            return Ok(store.clone());
        }
        let (home, dir) = self.home(installed)?;
        let file = match lacks {
            Share::None => corpus.path.clone(),
            _ => {
                let file = dir.join("part.ndjson");
                cut(corpus, lacks, &file)?;
                file
            }
        };
        self.fill(installed, &home, &file)?;
        self.filled.insert(key, home.store());
        Ok(home.store())
    }

    /// Brings a file into a home's store: by the engine's import, or over sockets if it has none.
    pub fn fill(&self, installed: &Installed, home: &Home, file: &Path) -> anyhow::Result<()> {
        let Some(import) = &installed.engine.import else { return self.publish(home, file) };
        let mut process = home.transfer(self.processes, import, file, Way::In)?;
        finish(&mut process, "the import", FILL_MAX)
    }

    /// Publishes a file to the relay of a home. What it refuses is for the scenario to find.
    fn publish(&self, home: &Home, file: &Path) -> anyhow::Result<()> {
        let relay = home.boot(self.processes)?;
        let (url, file) = (home.url(), file.to_string_lossy());
        let words = ["run", "ingest", "--once", "--url", &url, "--corpus", &file];
        let mut args: Vec<String> = words.map(str::to_owned).to_vec();
        args.extend(["--shape", FILL_SHAPE, "--silence-s", FILL_SILENCE_S].map(str::to_owned));
        let printed = self.loader.run(&self.work, args, FILL_MAX, |_| {});
        Home::stop(relay);
        let Printed { reports, failure } = printed?;
        match failure.or_else(|| reports.iter().find_map(why_not_filled)) {
            Some(reason) => bail!("cannot fill the store over sockets: {reason}"),
            None => Ok(()),
        }
    }

    /// Takes this machine's paths out of a text that will be published.
    pub fn without_paths(&self, installed: &Installed, text: &str) -> String {
        let work = self.work.to_string_lossy();
        let program = installed.program.to_string_lossy();
        let own = self.processes.program().to_string_lossy();
        let name = &installed.engine.binary.program;
        text.replace(&*program, name).replace(&*own, "zeolite-bench").replace(&*work, "work")
    }
}

/// Why a relay may not have been offered everything: whoever leaves events unanswered stops the rest.
fn why_not_filled(report: &Report) -> Option<String> {
    let unanswered = report.checks.iter().find(|check| check.name == "answered" && !check.passed);
    let answered = |check: &Check| format!("{} of {} were answered", check.found, check.expected);
    report.error.clone().or_else(|| unanswered.map(answered))
}

fn share_name(share: Share) -> &'static str {
    match share {
        Share::None => "none",
        Share::All => "all",
        Share::HundredthSpread => "hundredth-spread",
        Share::HundredthNewest => "hundredth-newest",
        Share::FifthOldest => "fifth-oldest",
        Share::FifthNewest => "fifth-newest",
    }
}
