//! Facts about all entries of a snapshot, for figures and exact counts.

use heed::{EnvFlags, RoTxn};
use rustc_hash::FxHashSet;
use zeolite_proto::{Kind, Seq, Timestamp};

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
        let removed = self.head.uncommitted.iter().flat_map(|batch| &batch.removed);
        dead.extend(removed.map(|removed| removed.seq));
        if self.is_beside_writer()? {
            // Its head is that of its opening, and the graveyard may have been emptied since.
            for entry in self.head.runs.iter().flat_map(|run| &run.timeline) {
                if self.is_gone(entry.seq())? {
                    dead.insert(entry.seq());
                }
            }
        }
        Ok(dead)
    }

    fn is_gone(&self, seq: Seq) -> Result<bool, ReadError> {
        match self.get(seq) {
            Err(ReadError::Damaged { .. }) => Ok(false),
            found => Ok(found?.is_none()),
        }
    }

    /// True if another process may write to this store.
    pub(crate) fn is_beside_writer(&self) -> Result<bool, ReadError> {
        Ok(self.inner.env.get_flags()? & EnvFlags::READ_ONLY.bits() != 0)
    }

    /// Removed events in the graveyard.
    pub(crate) fn graveyard_len(&self) -> Result<u64, ReadError> {
        Ok(self.inner.tables.graveyard.len(&self.txn)?)
    }

    /// Adds the events that are expired at `now`. False if there are more than `max`.
    pub(crate) fn add_expired(
        &self,
        now: Timestamp,
        max: u64,
        to: &mut FxHashSet<Seq>,
    ) -> Result<bool, ReadError> {
        let prefix = self.inner.keys.expires();
        let (below, least) = (prefix.above(now), prefix.bottom(Timestamp(0)));
        let mut keys = Vec::new();
        let has_more = self.index_below(&below, &least, max as usize, &mut keys)?;
        to.extend(keys.iter().map(|key| key.seq()));
        Ok(!has_more)
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
