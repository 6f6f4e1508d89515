//! The items of a bucket, read from the timeline.
//!
//! The timeline has an entry for every live event, and for some that are dead. So if there are as
//! many entries as the bucket's tally says, all of them are alive, which needs no further look.

use std::ops::Bound;
use std::sync::Arc;

use heed::RoTxn;
use rustc_hash::FxHashSet;
use zeolite_proto::{EventId, EventRef, Kind, Seq, Timestamp};

use super::{Bucket, Change, ItemKey, Place, Sums, Tallies, Tally};
use crate::env::{Tables, seq_key};
use crate::error::ReadError;
use crate::keys::{FIVE_BYTES_MAX, IndexKey, Prefix, TimelineEntry};
use crate::snapshot::{Snapshot, timeline_entry};

impl Snapshot<'_> {
    /// The `count` live entries from `low` up to, not including, `end`, those included that are
    /// expired or that a request to vanish is still to remove. False if there are not so many:
    /// something is damaged, or this snapshot's transaction is ahead of its head.
    pub(crate) fn live_entries(
        &self,
        low: &ItemKey,
        end: Option<&ItemKey>,
        count: u64,
        out: &mut Vec<TimelineEntry>,
    ) -> Result<bool, ReadError> {
        let is_right = |out: &Vec<_>| out.len() as u64 == count;
        out.reserve_exact(
            usize::try_from(count).map_or(0, |count| count.min(ENTRIES_RESERVED_MAX)),
        );
        self.entries_between(low, end, out)?;
        if !is_right(out) {
            out.retain(|entry| !self.head.removes(entry.seq()));
        }
        if !is_right(out) {
            drop_buried(&self.inner.tables, &self.txn, out)?;
        }
        if !is_right(out) {
            // A dead one whose record was damaged has no grave.
            retain(out, |entry| match self.get_unwiped(entry.seq()) {
                Err(ReadError::Damaged { .. }) => Ok(false),
                found => Ok(found?.is_some()),
            })?;
        }
        Ok(is_right(out))
    }

    fn entries_between(
        &self,
        low: &ItemKey,
        end: Option<&ItemKey>,
        out: &mut Vec<TimelineEntry>,
    ) -> Result<(), ReadError> {
        push_entries(&self.inner.tables, &self.txn, low, end, out)?;
        let mut is_mixed = false;
        for run in &self.head.runs {
            let entries = run.timeline_between(low, end);
            is_mixed |= !entries.is_empty();
            out.extend_from_slice(entries);
        }
        if is_mixed {
            // A few sorted parts, which this sort only merges.
            out.sort();
            out.dedup();
        }
        Ok(())
    }

    /// The seqs of the gated events in the range; some of them may be dead, or lie a little outside.
    pub(crate) fn gated_seqs(
        &self,
        low: &ItemKey,
        end: Option<&ItemKey>,
    ) -> Result<FxHashSet<Seq>, ReadError> {
        let mut keys = Vec::new();
        for kind in &self.inner.options.gated_kinds {
            for (least, below) in key_ranges(self.inner.keys.kind(*kind), low, end) {
                self.index_below(&below, &least, KEYS_MAX, &mut keys)?;
            }
        }
        Ok(keys.iter().map(IndexKey::seq).collect())
    }

    /// This snapshot's sums after some changes, which are in the order of their keys.
    pub(crate) fn sums_after(&self, changes: &[Change]) -> Result<Arc<Sums>, ReadError> {
        let sums = &self.head.sums;
        if changes.is_empty() {
            return Ok(Arc::clone(sums));
        }
        sums.changed(changes, &mut |bucket, end, out| self.places(bucket, end, out)).map(Arc::new)
    }

    /// The items of a bucket whose tallies are these. False as above.
    pub(crate) fn places(
        &self,
        bucket: &Bucket,
        end: Option<&ItemKey>,
        out: &mut Vec<Place>,
    ) -> Result<bool, ReadError> {
        let Tallies { all, gated } = &bucket.tallies;
        let mut entries = Vec::new();
        if !self.live_entries(&bucket.edge, end, all.count, &mut entries)? {
            return Ok(false);
        }
        let gated_seqs = match gated.count {
            0 => FxHashSet::default(),
            _ => self.gated_seqs(&bucket.edge, end)?,
        };
        out.extend(entries.iter().map(|entry| Place {
            key: ItemKey::of_entry(entry),
            is_gated: gated_seqs.contains(&entry.seq()),
        }));
        Ok(out.iter().filter(|place| place.is_gated).count() as u64 == gated.count)
    }
}

/// As many as there are.
const KEYS_MAX: usize = usize::MAX >> 1;

/// Entries that room is made for before they are read, whatever a damaged table says.
const ENTRIES_RESERVED_MAX: usize = 4_096;

/// Where the index keys of a prefix are whose events lie in a range: least, and not included,
/// greatest. The seconds at both ends are cut as far as the four bytes of id in a key tell.
fn key_ranges(
    prefix: Prefix,
    low: &ItemKey,
    end: Option<&ItemKey>,
) -> impl Iterator<Item = (IndexKey, IndexKey)> {
    // Inside a second, keys are in falling order of ids.
    let in_second = move |time, lowest: &EventId, highest: &EventId| {
        let least = IndexKey::new(prefix, time, highest, Seq::ZERO);
        (least, IndexKey::new(prefix, time, lowest, Seq(FIVE_BYTES_MAX)))
    };
    let highest = EventId([0xff; 32]);
    let start = low.time();
    let (first, last) = match end {
        Some(end) if end.time() == start => (in_second(start, &low.id(), &end.id()), None),
        end => {
            let last = end.map(|end| in_second(end.time(), &EventId([0; 32]), &end.id()));
            (in_second(start, &low.id(), &highest), last)
        }
    };
    let until = end.map_or(FIVE_BYTES_MAX, |end| end.time().0.saturating_sub(1));
    let between = (start.0 < until)
        .then(|| (prefix.bottom(Timestamp(start.0 + 1)), prefix.above(Timestamp(until))));
    std::iter::once(first).chain(between).chain(last)
}

/// The items of a bucket among the events up to `through`, which are all in LMDB's indexes. False
/// if there are not as many as the tallies say.
pub(crate) fn settled_places(
    tables: &Tables,
    txn: &RoTxn<'_>,
    gated_kinds: &[Kind],
    through: Seq,
    (bucket, end): (&Bucket, Option<&ItemKey>),
    out: &mut Vec<Place>,
) -> Result<bool, ReadError> {
    let Tallies { all, gated } = &bucket.tallies;
    let mut entries = first_settled(tables, txn, through, (&bucket.edge, end), all.count)?;
    if Tally::of_entries(&entries) != *all {
        // Some of them are dead, and others lie behind them.
        entries = first_settled(tables, txn, through, (&bucket.edge, end), u64::MAX)?;
        drop_buried(tables, txn, &mut entries)?;
    }
    if entries.len() as u64 != all.count {
        retain(&mut entries, |entry| Ok(kind_of(tables, txn, entry.seq())?.is_some()))?;
    }
    for entry in &entries {
        let is_gated = gated.count != 0
            && kind_of(tables, txn, entry.seq())?
                .is_some_and(|kind| gated_kinds.binary_search(&kind).is_ok());
        out.push(Place { key: ItemKey::of_entry(entry), is_gated });
    }
    let gated_found = out.iter().filter(|place| place.is_gated).count() as u64;
    Ok(entries.len() as u64 == all.count && gated_found == gated.count)
}

/// Up to `max` entries of events up to `through`. Where a drain has just put many behind them, the
/// walk ends before those.
fn first_settled(
    tables: &Tables,
    txn: &RoTxn<'_>,
    through: Seq,
    (low, end): (&ItemKey, Option<&ItemKey>),
    max: u64,
) -> Result<Vec<TimelineEntry>, ReadError> {
    let mut entries = Vec::new();
    let end = end.map_or(Bound::Unbounded, |end| Bound::Excluded(&end.0[..]));
    for entry in tables.timeline.range(txn, &(Bound::Included(&low.0[..]), end))? {
        if entries.len() as u64 >= max {
            break;
        }
        let entry = timeline_entry(entry?)?;
        if entry.seq() <= through {
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// The kind of an event of the log; `None` if it is not there or cannot be read.
pub(super) fn kind_of(
    tables: &Tables,
    txn: &RoTxn<'_>,
    seq: Seq,
) -> Result<Option<Kind>, ReadError> {
    let record = tables.log.get(txn, &seq_key(seq))?;
    Ok(record.and_then(|record| EventRef::new(record).ok()).map(EventRef::kind))
}

fn push_entries(
    tables: &Tables,
    txn: &RoTxn<'_>,
    low: &ItemKey,
    end: Option<&ItemKey>,
    out: &mut Vec<TimelineEntry>,
) -> Result<(), ReadError> {
    let end = end.map_or(Bound::Unbounded, |end| Bound::Excluded(&end.0[..]));
    let mut entries = tables.timeline.range(txn, &(Bound::Included(&low.0[..]), end))?;
    entries.try_for_each(|entry| {
        out.push(timeline_entry(entry?)?);
        Ok(())
    })
}

fn drop_buried(
    tables: &Tables,
    txn: &RoTxn<'_>,
    entries: &mut Vec<TimelineEntry>,
) -> Result<(), ReadError> {
    if tables.graveyard.is_empty(txn)? {
        return Ok(());
    }
    retain(entries, |entry| Ok(tables.graveyard.get(txn, &seq_key(entry.seq()))?.is_none()))
}

fn retain(
    entries: &mut Vec<TimelineEntry>,
    mut is_kept: impl FnMut(&TimelineEntry) -> Result<bool, ReadError>,
) -> Result<(), ReadError> {
    let mut result = Ok(());
    entries.retain(|entry| match is_kept(entry) {
        Ok(is_kept) => is_kept,
        Err(error) => {
            result = Err(error);
            true
        }
    });
    result
}
