//! What was replaced or deleted and is kept all the same, out of everybody's sight.
//!
//! An archived event has left the log like every event that is removed, so nothing that answers
//! clients can meet it: the archive is tables of its own, which only [`ArchiveWalk`] reads. What has
//! an expiration is not kept, and who vanishes or is banned leaves the archive too. That may be any
//! number of events, so it is noted and done in slices; what is noted is not shown any more.

mod entry;
mod walk;
mod wipe;

use heed::{RoTxn, RwTxn};
use zeolite_proto::{EventId, EventRef, PubKey, Seq};

pub use self::entry::ArchiveCause;
pub(crate) use self::entry::{INDEX_KEY_BYTES, Owner, id_of_index_key, index_keys, owners};
pub use self::walk::ArchiveWalk;
pub(crate) use self::wipe::{begin_wipe, begin_wipes_of_vanished, is_being_wiped, wipe_slice};
use crate::env::{Tables, seq_key};
use crate::error::ReadError;

/// What an operator takes out of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchivePart {
    /// One event.
    Event(EventId),
    /// Everything by an author.
    Author(PubKey),
}

/// Puts an event into the archive. One that is there already is not kept twice.
pub(crate) fn put(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    cause: ArchiveCause,
    event: EventRef<'_>,
) -> Result<(), heed::Error> {
    // Its author wanted it gone, and nothing would see to that here.
    if event.expiration().is_some() {
        return Ok(());
    }
    tables.archive.put(txn, &event.id().0, &entry::value(cause, event))?;
    for key in index_keys(event) {
        tables.archive_index.put(txn, &key, &[])?;
    }
    Ok(())
}

/// The same for an event of the log, which is about to leave it. What cannot be read is not kept.
pub(crate) fn put_stored(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    cause: ArchiveCause,
    seq: Seq,
) -> Result<(), heed::Error> {
    let record = tables.log.get(txn, &seq_key(seq))?.map(<[u8]>::to_vec);
    match record.as_deref().map(EventRef::new) {
        Some(Ok(event)) => put(tables, txn, cause, event),
        Some(Err(_)) | None => Ok(()),
    }
}

/// Reads an entry; `None` if there is none.
pub(crate) fn get<'t>(
    tables: &Tables,
    txn: &'t RoTxn<'_>,
    id: &EventId,
) -> Result<Option<(ArchiveCause, EventRef<'t>)>, ReadError> {
    let value = tables.archive.get(txn, &id.0)?;
    value.map(entry::read_value).transpose()
}

/// Takes an event out of the archive, if it is there.
pub(crate) fn remove(tables: &Tables, txn: &mut RwTxn<'_>, id: &EventId) -> Result<(), ReadError> {
    let keys: Vec<_> = match get(tables, txn, id) {
        Ok(None) => return Ok(()),
        Ok(Some((_, event))) => index_keys(event).collect(),
        // What cannot be read goes too; that entries of the index may be left is the check's matter.
        Err(ReadError::DamagedEntry(_)) => Vec::new(),
        Err(error) => return Err(error),
    };
    for key in keys {
        tables.archive_index.delete(txn, &key)?;
    }
    tables.archive.delete(txn, &id.0)?;
    Ok(())
}
