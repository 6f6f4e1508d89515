//! One pass of retention over the store, in slices.

use std::sync::Arc;
use std::time::Duration;

use zeolite_policy::{Fate, Retention, SizePlan, SizeStep};
use zeolite_proto::{EventRef, Reader, Seq, Timestamp};
use zeolite_store::{
    ArchivePart, ArchiveWalk, OldestFirst, ReadError, Scan, ScanOptions, ScanState, SliceBudget,
    Store, event_bytes,
};

use crate::limits::PURGE_SLICE_EVENTS;

/// Work between two fresh snapshots.
const SLICE: SliceBudget =
    SliceBudget { events_max: PURGE_SLICE_EVENTS, time_max: Duration::from_millis(20) };

/// What a pass works with.
pub(crate) struct Pass<'a> {
    pub(crate) store: &'a Store,
    pub(crate) retention: &'a Retention,
    /// Where the search for what goes for the store's size begins: up to here it is done.
    pub(crate) from: Timestamp,
    pub(crate) now: Timestamp,
    /// Whether what is taken is still there afterwards.
    pub(crate) is_dry: bool,
}

/// Why events go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// This rule, counted from 0, calls them too old.
    Rule(usize),
    /// The store is too large.
    Size,
    /// It was replaced or deleted, and archived for long enough.
    Archive,
}

/// Some events that go.
pub(crate) struct Slice {
    pub(crate) cause: Cause,
    /// Stored events.
    pub(crate) seqs: Vec<Seq>,
    /// Archived events.
    pub(crate) archived: Vec<ArchivePart>,
    /// What they take.
    pub(crate) bytes: u64,
    /// The latest `created_at` among them.
    pub(crate) newest: Timestamp,
}

/// Takes what goes.
pub(crate) trait Target {
    /// Takes a slice, which may be empty, while nothing of the store is held. It returns when the
    /// events are gone for good; false ends the pass.
    fn take(&mut self, slice: Slice) -> anyhow::Result<bool>;
}

/// A number of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) events: u64,
    pub(crate) bytes: u64,
}

/// What a pass came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// What went by each rule.
    pub(crate) rules: Vec<Share>,
    /// What went for the store's size.
    pub(crate) size: Share,
    /// What went out of the archive.
    pub(crate) archive: Share,
    /// What stored events took before.
    pub(crate) stored_bytes: u64,
    /// What is too much still: the rules keep it.
    pub(crate) kept_excess_bytes: u64,
    /// The time up to which all went that may go for the store's size.
    pub(crate) reached: Option<Timestamp>,
    /// The target ended the pass.
    pub(crate) is_cut_short: bool,
}

impl Report {
    /// All that went.
    pub(crate) fn total(&self) -> Share {
        let shares = self.rules.iter().chain([&self.size, &self.archive]);
        shares.fold(Share::default(), |sum, share| Share {
            events: sum.events + share.events,
            bytes: sum.bytes + share.bytes,
        })
    }

    fn share(&mut self, cause: Cause) -> &mut Share {
        match cause {
            Cause::Rule(at) => &mut self.rules[at],
            Cause::Size => &mut self.size,
            Cause::Archive => &mut self.archive,
        }
    }
}

impl Slice {
    fn new(cause: Cause) -> Self {
        Self { cause, seqs: Vec::new(), archived: Vec::new(), bytes: 0, newest: Timestamp(0) }
    }

    /// How many events it has.
    pub(crate) fn len(&self) -> usize {
        self.seqs.len() + self.archived.len()
    }

    fn push(&mut self, seq: Seq, event: EventRef<'_>) {
        self.seqs.push(seq);
        self.count(event);
    }

    fn push_archived(&mut self, event: EventRef<'_>) {
        self.archived.push(ArchivePart::Event(event.id()));
        self.count(event);
    }

    fn count(&mut self, event: EventRef<'_>) {
        self.bytes += event_bytes(event);
        self.newest = self.newest.max(event.created_at());
    }
}

impl Pass<'_> {
    /// Gives to `target` all that goes.
    pub(crate) fn run(&self, target: &mut impl Target) -> anyhow::Result<Report> {
        let mut report = Report {
            rules: vec![Share::default(); self.retention.rules.len()],
            stored_bytes: self.store.stored_bytes()?,
            ..Report::default()
        };
        for at in 0..self.retention.rules.len() {
            if !self.rule(at, target, &mut report)? {
                report.is_cut_short = true;
                return Ok(report);
            }
        }
        report.is_cut_short =
            !self.size(target, &mut report)? || !self.archive(target, &mut report)?;
        Ok(report)
    }

    /// What one rule calls too old. False if the target had enough.
    fn rule(
        &self,
        at: usize,
        target: &mut impl Target,
        report: &mut Report,
    ) -> anyhow::Result<bool> {
        let Some(filter) = self.retention.rules[at].filter(self.now) else { return Ok(true) };
        let options = ScanOptions { default_limit: None, max_limit: None };
        let operator = Arc::new(Reader::of_everything());
        let mut scan = Scan::new(self.store, &[filter], options, &operator)?;
        loop {
            let mut slice = Slice::new(Cause::Rule(at));
            let state = scan.slice(self.now, SLICE, &mut |seq, event| {
                if self.retention.fate(event, self.now) == Fate::TooOld(at) {
                    slice.push(seq, event);
                }
                true
            })?;
            if !give(slice, target, report)? {
                return Ok(false);
            }
            if matches!(state, ScanState::Done { .. }) {
                return Ok(true);
            }
        }
    }

    /// What is too much. False if the target had enough.
    fn size(&self, target: &mut impl Target, report: &mut Report) -> anyhow::Result<bool> {
        let stored_bytes = match self.is_dry {
            true => report.stored_bytes.saturating_sub(report.total().bytes),
            false => self.store.stored_bytes()?,
        };
        let excess = self.retention.excess_bytes(stored_bytes);
        if excess == 0 {
            return Ok(true);
        }
        let mut plan = SizePlan::new(excess);
        let mut walk = OldestFirst::new(self.store, self.from);
        loop {
            let (slice, has_more) = self.size_slice(&mut walk, &mut plan)?;
            if !slice.seqs.is_empty() {
                report.reached = Some(slice.newest);
            }
            if !give(slice, target, report)? {
                return Ok(false);
            }
            if !has_more {
                report.kept_excess_bytes = plan.left_bytes();
                return Ok(true);
            }
        }
    }

    /// What was archived for long enough. False if the target had enough.
    fn archive(&self, target: &mut impl Target, report: &mut Report) -> anyhow::Result<bool> {
        if self.retention.archive_age_s_max.is_none() {
            return Ok(true);
        }
        let mut walk = ArchiveWalk::new(self.store);
        loop {
            let mut slice = Slice::new(Cause::Archive);
            let has_more = walk.slice(SLICE, &mut |_, event| {
                if self.retention.is_archived_too_long(event, self.now) {
                    slice.push_archived(event);
                }
                true
            })?;
            if !give(slice, target, report)? {
                return Ok(false);
            }
            if !has_more {
                return Ok(true);
            }
        }
    }

    fn size_slice(
        &self,
        walk: &mut OldestFirst,
        plan: &mut SizePlan,
    ) -> Result<(Slice, bool), ReadError> {
        let mut slice = Slice::new(Cause::Size);
        let mut is_enough = false;
        let has_more = walk.slice(SLICE, &mut |seq, event| {
            // What is over goes by itself, within a second.
            let is_over = event.is_expired(self.now);
            let fate = if is_over { Fate::Kept } else { self.retention.fate(event, self.now) };
            match plan.step(event.created_at(), fate, event_bytes(event)) {
                SizeStep::Goes => slice.push(seq, event),
                SizeStep::Stays => {}
                SizeStep::Enough => is_enough = true,
            }
            !is_enough
        })?;
        Ok((slice, has_more && !is_enough))
    }
}

fn give(slice: Slice, target: &mut impl Target, report: &mut Report) -> anyhow::Result<bool> {
    let share = report.share(slice.cause);
    share.events += slice.len() as u64;
    share.bytes += slice.bytes;
    target.take(slice)
}
