//! Facts about all entries of a snapshot, for figures and exact counts.

use heed::RoTxn;
use rustc_hash::FxHashSet;
use zeolite_proto::{Kind, Seq};

use crate::env::{Meta, Tables, seq_of_key};
use crate::error::{OpenError, ReadError};
use crate::keys::{Family, IndexKey};
use crate::limits::WALK_KEYS;
use crate::snapshot::Snapshot;

impl Snapshot<'_> {
    /// Removed events that index entries may still lead to. Their number is that of the removals
    /// since the last purge, at eight bytes each.
    pub(crate) fn dead_seqs(&self) -> Result<FxHashSet<Seq>, ReadError> {
        let mut dead = buried(&self.inner.tables, &self.txn)?;
        dead.extend(self.head.uncommitted.iter().flat_map(|batch| batch.removed.iter()));
        Ok(dead)
    }

    /// Shows every entry of the kind family, those of dead events included.
    pub(crate) fn each_kind_entry(&self, mut show: impl FnMut(Kind, Seq)) -> Result<(), ReadError> {
        let least = IndexKey::first_of(Family::Kind);
        let mut below = IndexKey::first_of(Family::AuthorKind);
        let mut keys = Vec::with_capacity(WALK_KEYS);
        loop {
            keys.clear();
            let has_more = self.index_below(&below, &least, WALK_KEYS, &mut keys)?;
            keys.iter().for_each(|key| show(key.kind(), key.seq()));
            match keys.last() {
                Some(last) if has_more => below = *last,
                _ => return Ok(()),
            }
        }
    }

    /// The `meta` table as of this snapshot's transaction.
    pub(crate) fn meta(&self) -> Result<Meta, ReadError> {
        Meta::read(&self.inner.tables, &self.txn).map_err(|error| match error {
            OpenError::Lmdb(error) => ReadError::Lmdb(error),
            _ => ReadError::DamagedEntry("meta"),
        })
    }
}

/// The seqs in the graveyard.
pub(crate) fn buried(tables: &Tables, txn: &RoTxn<'_>) -> Result<FxHashSet<Seq>, ReadError> {
    let entries = tables.graveyard.iter(txn)?;
    entries.map(|entry| seq_of_key("graveyard", entry?.0)).collect()
}
