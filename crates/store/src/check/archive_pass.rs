//! The archive and its index, both ways, and who is not in it any more.

use zeolite_proto::{EventId, EventRef};

use super::{Check, Problem};
use crate::archive::{INDEX_KEY_BYTES, get, id_of_index_key, index_keys, is_being_wiped, owners};
use crate::env::time_of_value;
use crate::error::ReadError;

impl Check<'_, '_> {
    /// Reads the archive, then its index.
    pub(super) fn archive(&mut self) -> Result<(), ReadError> {
        let tables = &self.snapshot.inner.tables;
        let mut entries = 0;
        self.report.archived = self.walk("archive", tables.archive, |check, key, _| {
            match key.try_into().map(EventId) {
                Ok(id) => entries += check.archived(&id)?,
                Err(_) => check.report.add(Problem::Malformed("archive")),
            }
            Ok(())
        })?;
        let index = tables.archive_index;
        let found = self.walk("archive_index", index, |check, key, value| {
            if key.len() != INDEX_KEY_BYTES || !value.is_empty() {
                check.report.add(Problem::Malformed("archive_index"));
            }
            Ok(())
        })?;
        if found == entries {
            return Ok(());
        }
        self.walk("archive_index", index, |check, key, _| {
            let Ok(id) = id_of_index_key(key) else { return Ok(()) };
            if !check.has_archive_key(&id, key)? {
                check.report.add(Problem::DanglingInArchive(id));
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Looks at one event; gives how many entries the index has for it.
    fn archived(&mut self, id: &EventId) -> Result<u64, ReadError> {
        let (tables, txn) = (&self.snapshot.inner.tables, &self.snapshot.txn);
        let event = match get(tables, txn, id) {
            Ok(Some((_, event))) if event.id() == *id && event.check().is_ok() => event,
            Ok(_) | Err(ReadError::DamagedEntry(_)) => {
                self.report.add(Problem::DamagedInArchive(*id));
                return Ok(0);
            }
            Err(error) => return Err(error),
        };
        let mut keys: Vec<_> = index_keys(event).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in &keys {
            if tables.archive_index.get(txn, key)?.is_none() {
                self.report.add(Problem::MissingInArchive(*id));
            }
        }
        if self.has_vanished(event)? && !is_being_wiped(tables, txn, event)? {
            self.report.add(Problem::ArchivedThoughVanished(*id));
        }
        Ok(keys.len() as u64)
    }

    fn has_vanished(&self, event: EventRef<'_>) -> Result<bool, ReadError> {
        let (tables, txn) = (&self.snapshot.inner.tables, &self.snapshot.txn);
        for owner in owners(event) {
            if let Some(until) = tables.vanished.get(txn, owner.pubkey())?
                && event.created_at() <= time_of_value("vanished", until)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_archive_key(&self, id: &EventId, key: &[u8]) -> Result<bool, ReadError> {
        let (tables, txn) = (&self.snapshot.inner.tables, &self.snapshot.txn);
        let event = match get(tables, txn, id) {
            Err(ReadError::DamagedEntry(_)) => return Ok(true),
            found => found?,
        };
        Ok(event.is_some_and(|(_, event)| index_keys(event).any(|own| own == key)))
    }
}
