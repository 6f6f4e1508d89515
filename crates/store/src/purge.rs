//! Removed events: their record goes at once, their keys wait in the graveyard.
//!
//! A key whose event has no record is dead, so readers skip it; purging only saves them the look.
//! A grave is opened once `indexed_through` has passed its event: before, the keys may be in the
//! head, partly or altogether, and are dropped by the flush.

use std::ops::Bound;

use heed::RwTxn;
use zeolite_proto::{EventRef, Seq};

use crate::env::{Tables, seq_key, seq_of_key};
use crate::error::ReadError;
use crate::keys::{INDEX_KEY_BYTES, IndexKey, KeyMaker, TIMELINE_ENTRY_BYTES, TimelineEntry};
use crate::limits::KEYS_PER_EVENT;
use crate::stored_bytes;

/// Takes an event out of the log and writes down the keys it leaves behind. Gives what it took
/// (see [`stored_bytes`]), or `None` if it was not there.
pub(crate) fn bury(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    keys: &KeyMaker,
    seq: Seq,
) -> Result<Option<u64>, ReadError> {
    let log_key = seq_key(seq);
    let Some(record) = tables.log.get(txn, &log_key)? else { return Ok(None) };
    let price = stored_bytes::price(record);
    if let Ok(event) = EventRef::new(record) {
        let grave = grave(keys, event, seq);
        tables.graveyard.put(txn, &log_key, &grave)?;
    }
    tables.log.delete(txn, &log_key)?;
    Ok(Some(price))
}

/// timeline entry, 42 bytes | index keys, 20 bytes each.
fn grave(keys: &KeyMaker, event: EventRef<'_>, seq: Seq) -> Vec<u8> {
    let mut index_keys = Vec::new();
    keys.push_index_keys(event, seq, &mut index_keys);
    let mut grave = Vec::with_capacity(TIMELINE_ENTRY_BYTES + index_keys.len() * INDEX_KEY_BYTES);
    grave.extend(TimelineEntry::new(event.created_at(), &event.id(), seq).0);
    for key in index_keys {
        grave.extend(key.0);
    }
    grave
}

/// Reads a grave.
pub(crate) fn read_grave(grave: &[u8]) -> Result<(TimelineEntry, Vec<IndexKey>), ReadError> {
    let damaged = || ReadError::DamagedEntry("graveyard");
    let (entry, keys) = grave.split_first_chunk().ok_or_else(damaged)?;
    let (keys, rest) = keys.as_chunks();
    if !rest.is_empty() {
        return Err(damaged());
    }
    Ok((TimelineEntry(*entry), keys.iter().copied().map(IndexKey).collect()))
}

/// Deletes the keys of some removed events up to `indexed_through`: more of them the more are
/// waiting and at least `events_min`, but about `keys_max` keys at most. Returns how many events that were.
pub(crate) fn purge_slice(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    indexed_through: Seq,
    events_min: usize,
    keys_max: usize,
) -> Result<usize, ReadError> {
    let waiting = tables.graveyard.len(txn)?;
    if waiting == 0 {
        return Ok(0);
    }
    let wanted = events_min.max(usize::try_from(waiting / 64).unwrap_or(usize::MAX));
    let events_max = wanted.min(keys_max / KEYS_PER_EVENT).max(1);
    let (mut seqs, mut keys, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    let through = seq_key(indexed_through);
    let range = (Bound::Unbounded, Bound::Included(&through[..]));
    for grave in tables.graveyard.range(txn, &range)?.take(events_max) {
        let (key, grave) = grave?;
        let (entry, index_keys) = read_grave(grave)?;
        seqs.push(seq_of_key("graveyard", key)?);
        entries.push(entry);
        keys.extend(index_keys);
    }
    keys.sort_unstable();
    entries.sort_unstable();
    for key in keys {
        tables.index.delete(txn, &key.0)?;
    }
    for entry in entries {
        // The same event may have come back under another seq.
        if tables.timeline.get(txn, entry.key())? == Some(entry.value()) {
            tables.timeline.delete(txn, entry.key())?;
        }
    }
    for seq in &seqs {
        tables.graveyard.delete(txn, &seq_key(*seq))?;
    }
    Ok(seqs.len())
}
