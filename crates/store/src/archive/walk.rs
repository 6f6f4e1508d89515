//! A walk over the archive.

use std::ops::Bound;

use zeolite_proto::{EventId, EventRef, PubKey, Timestamp};

use super::entry::{ArchiveCause, INDEX_KEY_BYTES, Owner, id_of_index_key, index_key};
use super::{get, is_being_wiped};
use crate::error::ReadError;
use crate::slice::{Meter, SliceBudget};
use crate::store::Store;

/// The walk: author by author, each one's oldest event first. Between slices it holds a place and
/// nothing of the store; what comes or goes meanwhile is seen as it is when its turn comes.
pub struct ArchiveWalk {
    store: Store,
    /// Behind this key of the `archive_index` table; it need not exist.
    behind: [u8; INDEX_KEY_BYTES],
}

impl ArchiveWalk {
    /// A walk over all that is archived.
    pub fn new(store: &Store) -> Self {
        let first = Owner::author(&PubKey([0; 32]));
        let behind = index_key(&first, Timestamp(0), &EventId([0; 32]));
        Self { store: store.clone(), behind }
    }

    /// Gives the next committed events until the budget is used up or `sink` answers false; the
    /// event it answers false to counts as given. True if there may be more.
    pub fn slice(
        &mut self,
        budget: SliceBudget,
        sink: &mut dyn FnMut(ArchiveCause, EventRef<'_>) -> bool,
    ) -> Result<bool, ReadError> {
        let inner = &self.store.0;
        let (tables, txn) = (&inner.tables, inner.env.read_txn()?);
        let mut meter = Meter::start(budget);
        let behind = self.behind;
        let last = Owner::author(&PubKey([0xff; 32]));
        let last = index_key(&last, Timestamp(u64::MAX), &EventId([0xff; 32]));
        let range = (Bound::Excluded(&behind[..]), Bound::Included(&last[..]));
        for entry in tables.archive_index.range(&txn, &range)? {
            let (key, _) = entry?;
            let id = id_of_index_key(key)?;
            self.behind = key.try_into().map_err(|_| ReadError::DamagedEntry("archive_index"))?;
            if let Some((cause, event)) = get(tables, &txn, &id)?
                && !is_being_wiped(tables, &txn, event)?
            {
                meter.count_event();
                if !sink(cause, event) {
                    return Ok(true);
                }
            }
            if meter.is_over() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
