//! The consistency check: every reference between tables, followed both ways.
//!
//! The log is read once. Each record must be well formed, must have every one of its index keys
//! and its timeline entry, and must not be one that a deletion or a request to vanish bars. Then
//! index and timeline are walked: if they hold as many entries as the log accounts for, none of
//! them dangles; only if not is each entry followed to find those that do. On the way the timeline
//! is added up and held against the sums. The archive and its index are followed in the same way.

mod archive_pass;
mod log_pass;
mod problem;
mod sums_pass;
mod table_pass;
#[cfg(test)]
mod tests;

use zeolite_proto::{Kind, Seq};

pub use self::problem::Problem;
use crate::Store;
use crate::entries::buried;
use crate::env::{Meta, gated_kinds};
use crate::error::ReadError;
use crate::limits::PROBLEMS_MAX;
use crate::snapshot::Snapshot;
use crate::stored_bytes;

/// What a check came to.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Events in the log.
    pub events: u64,
    /// Entries in the index table.
    pub index_entries: u64,
    /// Entries in the timeline.
    pub timeline_entries: u64,
    /// Events in the archive.
    pub archived: u64,
    /// All problems found.
    pub problems_total: u64,
    /// The first of them, at most 100.
    pub problems: Vec<Problem>,
}

impl CheckReport {
    /// True if nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems_total == 0
    }

    fn add(&mut self, problem: Problem) {
        self.problems_total += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }
}

/// How far a check has come.
#[derive(Clone, Copy, Debug)]
pub struct CheckProgress {
    /// The table that is being read.
    pub table: &'static str,
    /// Entries read.
    pub done: u64,
    /// Entries in the table.
    pub total: u64,
}

/// What all passes share.
struct Check<'c, 's> {
    snapshot: &'c Snapshot<'s>,
    meta: Meta,
    /// Removed events whose entries may or may not be there.
    buried: rustc_hash::FxHashSet<Seq>,
    /// The kinds that the sums count as gated.
    gated_kinds: Vec<Kind>,
    /// What the events met in the log take; `None` once one of them could not be read.
    stored_bytes: Option<u64>,
    report: CheckReport,
    progress: &'c mut dyn FnMut(CheckProgress),
}

/// Entries that the log accounts for.
#[derive(Default)]
struct Expected {
    index: u64,
    timeline: u64,
}

impl Store {
    /// Checks the store as of this moment, beside whoever writes to it. `progress` is called every
    /// few ten thousand entries.
    ///
    /// One read transaction is held until the end: pages freed meanwhile are not used again.
    pub fn check(&self, progress: &mut dyn FnMut(CheckProgress)) -> Result<CheckReport, ReadError> {
        let snapshot = self.snapshot()?;
        let meta = snapshot.meta()?;
        let buried = buried(&snapshot.inner.tables, &snapshot.txn)?;
        let report = CheckReport::default();
        let gated_kinds = gated_kinds(&snapshot.inner.tables, &snapshot.txn)?;
        let mut check = Check {
            snapshot: &snapshot,
            meta,
            buried,
            gated_kinds,
            stored_bytes: Some(0),
            report,
            progress,
        };
        if meta.indexed_through > meta.last_seq {
            check.report.add(Problem::IndexedPastLast);
        }
        let expected = check.log()?;
        check.stored_bytes()?;
        check.index(expected.index)?;
        check.timeline(expected.timeline)?;
        check.graveyard()?;
        check.archive()?;
        Ok(check.report)
    }
}

impl Check<'_, '_> {
    fn show_progress(&mut self, table: &'static str, done: u64, total: u64) {
        (self.progress)(CheckProgress { table, done, total });
    }

    /// Holds the sum of what events take against the log.
    fn stored_bytes(&mut self) -> Result<(), ReadError> {
        let kept = stored_bytes::read(&self.snapshot.inner.tables, &self.snapshot.txn)?;
        if let Some((kept, found)) = kept.zip(self.stored_bytes)
            && kept != found
        {
            self.report.add(Problem::WrongBytes { kept, found });
        }
        Ok(())
    }

    /// Whether the indexes on disk must hold everything of this event, and nothing if it is not
    /// in the log.
    fn is_settled(&self, seq: Seq) -> bool {
        seq <= self.meta.indexed_through && !self.buried.contains(&seq)
    }
}
