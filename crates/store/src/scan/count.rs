//! NIP-45: how many stored events match.

use std::time::Duration;

use rustc_hash::FxHashSet;
use zeolite_proto::limits::CREATED_AT_MAX;
use zeolite_proto::{Filter, Seq, Timestamp};

use super::cursor::{Cursor, Window};
use super::entry::Entry;
use super::source::{KeySource, Value};
use super::{ScanState, build};
use crate::Store;
use crate::error::ReadError;
use crate::limits::{COUNT_UNSEEN_MAX, REFILL_KEYS_MAX};
use crate::slice::{Meter, SliceBudget};
use crate::snapshot::Snapshot;

/// A slice of a count: long enough to make a snapshot's cost small, short enough that no read
/// transaction grows old.
const SLICE: SliceBudget =
    SliceBudget { events_max: usize::MAX, time_max: Duration::from_millis(20) };

/// Counts the events that any of `filters` matches, each once, without regard to limits. Expired
/// ones are not counted.
///
/// `keep_going` is asked with the number so far every 20 ms; when it answers false the count is
/// given up and `None` comes back.
pub fn count(
    store: &Store,
    filters: &[Filter],
    now: Timestamp,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<u64>, ReadError> {
    if let [filter] = filters
        && is_told_by_index(filter)
        && let Told::Count(counted) = count_entries(store, filter, now, keep_going)?
    {
        return Ok(counted);
    }
    count_events(store, filters, now, keep_going)
}

/// Looks at every event.
fn count_events(
    store: &Store,
    filters: &[Filter],
    now: Timestamp,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<u64>, ReadError> {
    let mut snapshot = store.snapshot()?;
    let ceiling = snapshot.ceiling();
    let mut union = build(&snapshot, filters, |_| None)?;
    let mut counted = 0;
    loop {
        let state = union.slice(&snapshot, now, SLICE, &mut |_, _| {
            counted += 1;
            true
        })?;
        match state {
            ScanState::Done { .. } => return Ok(Some(counted)),
            ScanState::More if !keep_going(counted) => return Ok(None),
            ScanState::More => {}
        }
        drop(snapshot);
        snapshot = store.snapshot()?.with_ceiling(ceiling);
    }
}

/// Whether an index entry alone says that its event matches: the kind family is not hashed, and
/// the timeline holds everything.
fn is_told_by_index(filter: &Filter) -> bool {
    filter.ids.is_none() && filter.authors.is_none() && filter.tags.is_empty()
}

enum Told {
    /// What [`count`] answers.
    Count(Option<u64>),
    /// Too many entries lead to events that are not to be counted.
    Nothing,
}

/// Counts entries, without those of events that are dead or expired.
fn count_entries(
    store: &Store,
    filter: &Filter,
    now: Timestamp,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<Told, ReadError> {
    if filter.matches_nothing() {
        return Ok(Told::Count(Some(0)));
    }
    let newest = filter.until.unwrap_or(Timestamp(CREATED_AT_MAX));
    let oldest = filter.since.unwrap_or_default();
    let window = Window { below: Entry::newest_at(newest), oldest };
    let mut snapshot = store.snapshot()?;
    let ceiling = snapshot.ceiling();
    let mut cursors = cursors(filter, &snapshot, window);
    let mut counted = 0;
    loop {
        let Some(unseen) = unseen(&snapshot, now)? else { return Ok(Told::Nothing) };
        let mut meter = Meter::start(SLICE);
        while let Some(cursor) = cursors.last_mut() {
            match cursor.next(&snapshot, window)? {
                Some(entry) => counted += u64::from(!unseen.contains(&entry.seq())),
                None => drop(cursors.pop()),
            }
            if meter.is_over() {
                break;
            }
        }
        if cursors.is_empty() {
            return Ok(Told::Count(Some(counted)));
        }
        if !keep_going(counted) {
            return Ok(Told::Count(None));
        }
        drop(snapshot);
        snapshot = store.snapshot()?.with_ceiling(ceiling);
    }
}

fn cursors(filter: &Filter, snapshot: &Snapshot<'_>, window: Window) -> Vec<Cursor> {
    let mut cursors = match &filter.kinds {
        None => vec![Cursor::timeline(window)],
        Some(kinds) => {
            let prefixes = kinds.iter().map(|kind| snapshot.prefix(Value::Kind(*kind)));
            prefixes.map(|prefix| Cursor::group(prefix, window)).collect()
        }
    };
    for cursor in &mut cursors {
        cursor.expect(REFILL_KEYS_MAX);
    }
    cursors
}

/// The events that have entries and are not to be counted; `None` if there are too many.
fn unseen(snapshot: &Snapshot<'_>, now: Timestamp) -> Result<Option<FxHashSet<Seq>>, ReadError> {
    let is_untold = !snapshot.head.vanishing.is_empty()
        || snapshot.is_beside_writer()?
        || snapshot.graveyard_len()? > COUNT_UNSEEN_MAX;
    if is_untold {
        return Ok(None);
    }
    let mut unseen = snapshot.dead_seqs()?;
    let is_all = snapshot.add_expired(now, COUNT_UNSEEN_MAX, &mut unseen)?;
    Ok(is_all.then_some(unseen))
}
