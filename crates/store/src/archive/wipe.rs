//! Taking out of the archive everything that is somebody's.

use std::ops::Bound;

use heed::{RoTxn, RwTxn};
use zeolite_proto::{EventId, EventRef, PubKey, Timestamp};

use super::entry::{Owner, id_of_index_key, index_key, owners};
use super::remove;
use crate::env::{Tables, time_of_value};
use crate::error::ReadError;

const TABLE: &str = "archive_wipes";

/// Takes out everything of this owner up to this time: notes it, [`wipe_slice`] does it.
pub(crate) fn begin_wipe(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    owner: &Owner,
    until: Timestamp,
) -> Result<(), ReadError> {
    if tables.archive.is_empty(txn)? {
        return Ok(());
    }
    let noted = noted(tables, txn, owner)?;
    let until = noted.map_or(until, |noted| noted.max(until));
    Ok(tables.archive_wipes.put(txn, &owner.0, &until.0.to_be_bytes())?)
}

/// What a request to vanish asks of the archive: what is its author's, and the gift wraps to them.
pub(crate) fn begin_wipes_of_vanished(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    author: &PubKey,
    until: Timestamp,
) -> Result<(), ReadError> {
    begin_wipe(tables, txn, &Owner::author(author), until)?;
    begin_wipe(tables, txn, &Owner::recipient(author), until)
}

/// Whether an archived event is to be taken out, and not to be shown any more.
pub(crate) fn is_being_wiped(
    tables: &Tables,
    txn: &RoTxn<'_>,
    event: EventRef<'_>,
) -> Result<bool, ReadError> {
    if tables.archive_wipes.is_empty(txn)? {
        return Ok(false);
    }
    for owner in owners(event) {
        if noted(tables, txn, &owner)?.is_some_and(|until| event.created_at() <= until) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Goes on with what is noted, by about `events_max` events. Gives how much it changed.
pub(crate) fn wipe_slice(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    events_max: usize,
) -> Result<usize, ReadError> {
    let mut changes = 0;
    while changes < events_max {
        let Some((owner, until)) = tables.archive_wipes.first(txn)? else { break };
        let owner = Owner(owner.try_into().map_err(|_| ReadError::DamagedEntry(TABLE))?);
        let until = time_of_value(TABLE, until)?;
        let first = index_key(&owner, Timestamp(0), &EventId([0; 32]));
        let last = index_key(&owner, until, &EventId([0xff; 32]));
        let range = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        let entries = tables.archive_index.range(txn, &range)?.take(events_max - changes);
        let keys = entries.map(|entry| entry.map(|(key, _)| key.to_vec()));
        let keys: Vec<_> = keys.collect::<Result<_, _>>()?;
        for key in &keys {
            remove(tables, txn, &id_of_index_key(key)?)?;
            tables.archive_index.delete(txn, key)?;
        }
        changes += keys.len();
        if changes < events_max {
            tables.archive_wipes.delete(txn, &owner.0)?;
            changes += 1;
        }
    }
    Ok(changes)
}

fn noted(tables: &Tables, txn: &RoTxn<'_>, owner: &Owner) -> Result<Option<Timestamp>, ReadError> {
    let until = tables.archive_wipes.get(txn, &owner.0)?;
    until.map(|until| time_of_value(TABLE, until)).transpose()
}
