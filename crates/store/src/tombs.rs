//! What a snapshot knows of events that must not come (back).

use zeolite_proto::{Address, EventRef, PubKey, Seq, Timestamp};

use crate::batch::TombstoneKey;
use crate::env::time_of_value;
use crate::error::ReadError;
use crate::keys::AddressKey;
use crate::limits::ADDRESS_LOOK_KEYS;
use crate::snapshot::Snapshot;
use crate::version::Bar;

impl Snapshot<'_> {
    /// Whether a deletion of this target by this deleter was asked for.
    pub(crate) fn is_tombstoned(&self, key: &TombstoneKey) -> Result<bool, ReadError> {
        if self.head.uncommitted.iter().any(|batch| batch.tombstones.contains(key)) {
            return Ok(true);
        }
        Ok(self.inner.tables.deleted.get(&self.txn, key)?.is_some())
    }

    /// What bars versions of an address.
    pub(crate) fn bar(&self, key: &AddressKey) -> Result<Option<Bar>, ReadError> {
        if let Some(bar) = self.head.uncommitted.iter().rev().find_map(|batch| batch.bars.get(key))
        {
            return Ok(Some(*bar));
        }
        match self.inner.tables.deleted_address.get(&self.txn, key)? {
            Some(bytes) => {
                Bar::from_bytes(bytes).map(Some).ok_or(ReadError::DamagedEntry("deleted_address"))
            }
            None => Ok(None),
        }
    }

    /// The time of the newest request to vanish by this key that the store obeyed.
    pub(crate) fn vanished_until(&self, key: &PubKey) -> Result<Option<Timestamp>, ReadError> {
        let uncommitted = self.head.uncommitted.iter().rev();
        if let Some(until) = uncommitted.filter_map(|batch| batch.vanished.get(key)).next() {
            return Ok(Some(*until));
        }
        match self.inner.tables.vanished.get(&self.txn, &key.0)? {
            Some(bytes) => time_of_value("vanished", bytes).map(Some),
            None => Ok(None),
        }
    }

    /// The newest stored version of an address that `is_live` accepts.
    pub(crate) fn newest_of(
        &self,
        address: &Address,
        is_live: impl Fn(Seq, EventRef<'_>) -> bool,
    ) -> Result<Option<(Seq, EventRef<'_>)>, ReadError> {
        let prefix = self.inner.keys.address(address);
        let least = prefix.bottom(Timestamp(0));
        let mut below = prefix.above(Timestamp(u64::MAX));
        let mut keys = Vec::new();
        loop {
            keys.clear();
            let has_more = self.index_below(&below, &least, ADDRESS_LOOK_KEYS, &mut keys)?;
            for key in &keys {
                let Some(event) = self.get(key.seq())? else { continue };
                if event.address().as_ref() == Some(address) && is_live(key.seq(), event) {
                    return Ok(Some((key.seq(), event)));
                }
            }
            match keys.last() {
                Some(last) if has_more => below = *last,
                _ => return Ok(None),
            }
        }
    }
}
