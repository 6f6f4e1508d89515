//! NIP-45: how many stored events match.

use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxHashSet;
use zeolite_proto::limits::CREATED_AT_MAX;
use zeolite_proto::{Filter, Hll, HllOffset, Kind, Reach, Reader, Seq, Timestamp};

use super::cursor::{Cursor, Window};
use super::entry::Entry;
use super::source::{KeySource, Value};
use super::union::Union;
use super::{ScanState, build};
use crate::Store;
use crate::error::ReadError;
use crate::limits::{COUNT_UNSEEN_MAX, REFILL_KEYS_MAX};
use crate::slice::{Meter, SliceBudget};
use crate::snapshot::Snapshot;

/// A slice of [`count`]: long enough to make a snapshot's cost small, short enough that no read
/// transaction grows old.
const SLICE: SliceBudget =
    SliceBudget { events_max: usize::MAX, time_max: Duration::from_millis(20) };

/// Counts the events that any of `filters` matches, each once, without regard to limits. Expired
/// ones are not counted, nor those that `reader` may not read.
///
/// `keep_going` is asked with the number so far every 20 ms; when it answers false the count is
/// given up and `None` comes back.
pub fn count(
    store: &Store,
    filters: &[Filter],
    reader: &Arc<Reader>,
    now: Timestamp,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<u64>, ReadError> {
    let mut count = Count::new(store, filters, reader)?;
    loop {
        if let Some(total) = count.slice(now, SLICE)? {
            return Ok(Some(total));
        }
        if !keep_going(count.counted()) {
            return Ok(None);
        }
    }
}

/// The answer to a COUNT, in slices like those of a [`Scan`](super::Scan).
///
/// Kinds and times are counted by index entries, about ten million a second; for all else every
/// event is looked at, about one and a half million a second.
pub struct Count {
    store: Store,
    filters: Box<[Filter]>,
    reader: Arc<Reader>,
    ceiling: Seq,
    counted: u64,
    /// Entries of events that nobody may read without a login, to be taken off.
    gated: u64,
    /// Who wrote what is counted (NIP-45), where the filter says how that is kept.
    authors: Option<(HllOffset, Box<Hll>)>,
    way: Way,
}

/// Which total the entries of a walk belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Counted,
    Gated,
}

enum Way {
    /// Index entries alone tell. The walks that are left; no two of them meet the same event on
    /// the same side.
    Entries(Vec<(Side, Cursor)>, Window),
    /// Every event is looked at.
    Events(Union),
}

impl Count {
    /// Plans the count. Events stored from here on are not counted.
    pub fn new(store: &Store, filters: &[Filter], reader: &Arc<Reader>) -> Result<Self, ReadError> {
        let snapshot = store.snapshot()?;
        let way = match filters {
            [filter] if is_told_by_index(filter) && is_told_by_kind(filter, reader) => {
                by_entries(filter, reader, &snapshot)
            }
            _ => Way::Events(build(&snapshot, filters, |_| None, reader)?),
        };
        // R45-09: for several filters nothing is defined.
        let offset = match filters {
            [filter] => filter.hll_offset(),
            _ => None,
        };
        let (ceiling, filters, reader) = (snapshot.ceiling(), filters.into(), Arc::clone(reader));
        let authors = offset.map(|offset| (offset, Box::default()));
        let store = store.clone();
        Ok(Self { store, filters, reader, ceiling, counted: 0, gated: 0, authors, way })
    }

    /// What is counted so far.
    pub fn counted(&self) -> u64 {
        self.counted.saturating_sub(self.gated)
    }

    /// The registers of the authors of what is counted so far (NIP-45), if the count is by one
    /// filter with a `#` member.
    pub fn hll(&self) -> Option<&Hll> {
        self.authors.as_ref().map(|(_, hll)| &**hll)
    }

    /// Counts on; gives the total once there is nothing left. Events that are expired at `now` are
    /// left out. Of the budget, `events_max` counts matches where events are looked at.
    pub fn slice(&mut self, now: Timestamp, budget: SliceBudget) -> Result<Option<u64>, ReadError> {
        let snapshot = self.store.snapshot()?.with_ceiling(self.ceiling);
        let counted = &mut self.counted;
        if let Way::Entries(walks, window) = &mut self.way {
            if let Some(unseen) = unseen(&snapshot, now)? {
                let (open, gated) = count_entries(walks, &snapshot, *window, &unseen, budget)?;
                *counted += open;
                self.gated += gated;
                return Ok(walks.is_empty().then_some(self.counted.saturating_sub(self.gated)));
            }
            // Too many entries lead to events that do not count: begin again the other way.
            *counted = 0;
            self.gated = 0;
            self.way = Way::Events(build(&snapshot, &self.filters, |_| None, &self.reader)?);
        }
        let Way::Events(union) = &mut self.way else { unreachable!("the other way was left") };
        let authors = &mut self.authors;
        let state = union.slice(&snapshot, now, budget, &mut |_, event| {
            *counted += 1;
            if let Some((offset, hll)) = authors {
                hll.add(&event.pubkey(), *offset);
            }
            true
        })?;
        Ok(matches!(state, ScanState::Done { .. }).then_some(self.counted))
    }
}

/// Whether an index entry alone says that its event matches: the kind family is not hashed, and
/// the timeline holds everything.
pub(crate) fn is_told_by_index(filter: &Filter) -> bool {
    filter.ids.is_none() && filter.authors.is_none() && filter.tags.is_empty()
}

/// Whether a kind alone says that this reader may read an event.
fn is_told_by_kind(filter: &Filter, reader: &Reader) -> bool {
    reader.is_anonymous() || reader.reach(filter) == Reach::Everything
}

fn by_entries(filter: &Filter, reader: &Reader, snapshot: &Snapshot<'_>) -> Way {
    let newest = filter.until.unwrap_or(Timestamp(CREATED_AT_MAX));
    let oldest = filter.since.unwrap_or_default();
    let window = Window { below: Entry::newest_at(newest), oldest };
    let gates = reader.gates();
    let of_kind =
        |side: Side, kind: Kind| (side, Cursor::group(snapshot.prefix(Value::Kind(kind)), window));
    let mut walks: Vec<_> = match &filter.kinds {
        _ if filter.matches_nothing() => Vec::new(),
        None => {
            // The last goes first, so that what is counted so far is never too much.
            let gated = gates.kinds().iter().map(|kind| of_kind(Side::Gated, *kind));
            [(Side::Counted, Cursor::timeline(window))].into_iter().chain(gated).collect()
        }
        Some(kinds) => {
            let open = kinds.iter().filter(|kind| !gates.cover(**kind));
            open.map(|kind| of_kind(Side::Counted, *kind)).collect()
        }
    };
    for (_, cursor) in &mut walks {
        cursor.expect(REFILL_KEYS_MAX);
    }
    Way::Entries(walks, window)
}

/// Counts the entries of the last of `walks` that are not in `unseen`, and drops those that have
/// ended: how many there are to count, and how many to take off.
fn count_entries(
    walks: &mut Vec<(Side, Cursor)>,
    snapshot: &Snapshot<'_>,
    window: Window,
    unseen: &FxHashSet<Seq>,
    budget: SliceBudget,
) -> Result<(u64, u64), ReadError> {
    let mut meter = Meter::start(SliceBudget { events_max: usize::MAX, ..budget });
    let (mut counted, mut gated) = (0, 0);
    while let Some((side, cursor)) = walks.last_mut() {
        let total = if *side == Side::Counted { &mut counted } else { &mut gated };
        match cursor.next(snapshot, window)? {
            Some(entry) => *total += u64::from(!unseen.contains(&entry.seq())),
            None => drop(walks.pop()),
        }
        if meter.is_over() {
            break;
        }
    }
    Ok((counted, gated))
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
