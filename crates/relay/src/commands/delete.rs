//! `delete`: removes what filters select, without tombstones.

use std::collections::BTreeMap;

use zeolite_proto::{EventRef, Filter, Seq};
use zeolite_store::{Admitter, ArchivePart, Committer, Store};

use super::store::{open_to_read, open_to_write};
use super::walk::{self, Visit, newest_first};
use super::{Exit, filters, output};
use crate::cli::DeleteArgs;
use crate::config::Config;

/// Runs the command.
pub(crate) fn run(args: &DeleteArgs, config: &Config) -> anyhow::Result<Exit> {
    let filters = filters::parse(&args.filters)?;
    if let Some(filter) = filters.iter().position(filters::selects_all)
        && !args.all
        && !args.dry_run
    {
        output::complain(format_args!(
            "the filter {} selects every event: add --all if that is meant",
            args.filters[filter]
        ));
        return Ok(Exit::Usage);
    }
    let kinds = match args.dry_run {
        true => count(config, &filters, args.archived)?,
        false => remove(config, &filters, args.archived)?,
    };
    report(&kinds, args.dry_run)?;
    Ok(Exit::Done)
}

/// How many events of each kind.
type Kinds = BTreeMap<u16, u64>;

fn count(config: &Config, filters: &[Filter], is_archived: bool) -> anyhow::Result<Kinds> {
    let store = open_to_read(config)?;
    let mut counter = Counter::default();
    walk(&store, filters, is_archived, &mut counter)?;
    Ok(counter.kinds)
}

fn walk(
    store: &Store,
    filters: &[Filter],
    is_archived: bool,
    visit: &mut impl Visit,
) -> anyhow::Result<()> {
    match is_archived {
        true => walk::archived(store, filters, visit),
        false => newest_first(store, filters, visit),
    }
}

#[derive(Default)]
struct Counter {
    kinds: Kinds,
}

impl Visit for Counter {
    fn event(&mut self, _: Option<Seq>, event: EventRef<'_>) -> bool {
        *self.kinds.entry(event.kind().0).or_default() += 1;
        true
    }

    fn pause(&mut self) -> anyhow::Result<bool> {
        Ok(true)
    }
}

fn remove(config: &Config, filters: &[Filter], is_archived: bool) -> anyhow::Result<Kinds> {
    let instead = "stop it first: an operator's deletion needs the store to itself";
    let (store, admitter, committer) = open_to_write(config, instead)?;
    let (found, archived, counter) = (Vec::new(), Vec::new(), Counter::default());
    let mut remover = Remover { admitter, committer, found, archived, counter };
    walk(&store, filters, is_archived, &mut remover)?;
    remover.committer.flush_all()?;
    Ok(remover.counter.kinds)
}

/// Removes what one slice found before the next one begins, so that no transaction grows with
/// the number of events (case 60).
struct Remover {
    admitter: Admitter,
    committer: Committer,
    found: Vec<Seq>,
    archived: Vec<ArchivePart>,
    counter: Counter,
}

impl Visit for Remover {
    fn event(&mut self, seq: Option<Seq>, event: EventRef<'_>) -> bool {
        match seq {
            Some(seq) => self.found.push(seq),
            None => self.archived.push(ArchivePart::Event(event.id())),
        }
        self.counter.event(seq, event)
    }

    fn pause(&mut self) -> anyhow::Result<bool> {
        if !self.found.is_empty() {
            let admitted = self.admitter.remove(&self.found)?;
            self.committer.commit(vec![admitted.pending])?;
            self.found.clear();
        }
        if !self.archived.is_empty() {
            let admitted = self.admitter.wipe_archive(&self.archived)?;
            self.committer.commit(vec![admitted.pending])?;
            self.archived.clear();
        }
        Ok(true)
    }
}

fn report(kinds: &Kinds, dry_run: bool) -> anyhow::Result<()> {
    let total: u64 = kinds.values().sum();
    let done = if dry_run { "would be removed" } else { "removed" };
    let mut lines = vec![format!("{total:>12} events {done}")];
    lines.extend(kinds.iter().map(|(kind, count)| format!("{count:>12} of kind {kind}")));
    output::print(lines.join("\n"))
}
