//! Walks over the store and its archive in slices, for commands that read much of it.

use std::time::Duration;

use zeolite_proto::{EventRef, Filter, Reader, Seq};
use zeolite_store::{ArchiveWalk, Scan, ScanOptions, ScanState, SliceBudget, Store};

use crate::clock::now;

/// Work between two fresh snapshots: what a slice keeps of LMDB's old pages is bounded.
pub(crate) const SLICE: SliceBudget =
    SliceBudget { events_max: 4096, time_max: Duration::from_millis(100) };

/// How often a walk in the order of the log follows a busy writer to the log's new end. Each stretch
/// is shorter than the one before, which it took to walk it.
const REFRESHES_MAX: usize = 8;

/// Takes the events of a walk.
pub(crate) trait Visit {
    /// Takes one event; one of the archive has no seq. False ends the slice. No reader must be waited
    /// for here, since the store's snapshot is held.
    fn event(&mut self, seq: Option<Seq>, event: EventRef<'_>) -> bool;

    /// Called after each slice, with nothing held; false ends the walk.
    fn pause(&mut self) -> anyhow::Result<bool>;
}

/// Gives every event that the filters select, newest first, each once: what a relay without
/// limits would answer.
pub(crate) fn newest_first(
    store: &Store,
    filters: &[Filter],
    visit: &mut impl Visit,
) -> anyhow::Result<()> {
    let reader = Reader::of_everything().into();
    let options = ScanOptions { default_limit: None, max_limit: None };
    let mut scan = Scan::new(store, filters, options, &reader)?;
    loop {
        let state = scan.slice(now(), SLICE, &mut |seq, event| visit.event(Some(seq), event))?;
        if !visit.pause()? || matches!(state, ScanState::Done { .. }) {
            return Ok(());
        }
    }
}

/// Gives the events that one of the filters selects, in the order of the log. No filters select
/// everything. Where another process goes on writing, it goes on to where the log ends by then, so
/// that of an event that was replaced during the walk not both versions are missing.
pub(crate) fn log_order(
    store: &Store,
    filters: &[Filter],
    visit: &mut impl Visit,
) -> anyhow::Result<()> {
    let mut through = store.snapshot()?.ceiling();
    let mut refreshes = 0;
    let now = now();
    let is_asked_for = |event: EventRef<'_>| {
        (filters.is_empty() || filters.iter().any(|filter| filter.matches(event)))
            && !event.is_expired(now)
    };
    let mut after = Seq::ZERO;
    while after < through {
        after = store.read_log(after, through, SLICE, &mut |seq, event| {
            !is_asked_for(event) || visit.event(Some(seq), event)
        })?;
        if !visit.pause()? {
            break;
        }
        if after >= through && refreshes < REFRESHES_MAX {
            refreshes += 1;
            store.refresh()?;
            through = store.snapshot()?.ceiling();
        }
    }
    Ok(())
}

/// Gives the archived events that one of the filters selects, author by author, the oldest first. No
/// filters select everything.
pub(crate) fn archived(
    store: &Store,
    filters: &[Filter],
    visit: &mut impl Visit,
) -> anyhow::Result<()> {
    let has_limit = filters.iter().any(|filter| filter.limit.is_some());
    anyhow::ensure!(
        !has_limit,
        "a limit keeps the newest events, and the archive has no such order"
    );
    let is_asked_for = |event: EventRef<'_>| {
        filters.is_empty() || filters.iter().any(|filter| filter.matches(event))
    };
    let mut walk = ArchiveWalk::new(store);
    loop {
        let has_more =
            walk.slice(SLICE, &mut |_, event| !is_asked_for(event) || visit.event(None, event))?;
        if !visit.pause()? || !has_more {
            return Ok(());
        }
    }
}
