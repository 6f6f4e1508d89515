//! Keys and values of the archive's tables.

use zeolite_proto::{EventId, EventRef, Kind, PubKey, Timestamp};

use crate::error::ReadError;
use crate::vanish::recipients;

const OWNER_BYTES: usize = 33;
/// Bytes of a key of the `archive_index` table.
pub(crate) const INDEX_KEY_BYTES: usize = OWNER_BYTES + 8 + 32;

/// Why an event is in the archive and not in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ArchiveCause {
    /// A newer version of its address came (NIP-01).
    Replaced = 0,
    /// Its author, or the recipient of a gift wrap, asked for its deletion (NIP-09).
    Deleted = 1,
}

/// Somebody whose request to vanish, or whose ban, takes an event out of the archive: its author,
/// or the recipient of a gift wrap. role, 1 byte | public key, 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner(pub(crate) [u8; OWNER_BYTES]);

impl Owner {
    pub(crate) fn author(key: &PubKey) -> Self {
        Self::new(b'a', key)
    }

    pub(crate) fn recipient(key: &PubKey) -> Self {
        Self::new(b'p', key)
    }

    /// Whose it is.
    pub(crate) fn pubkey(&self) -> &[u8] {
        &self.0[1..]
    }

    fn new(role: u8, key: &PubKey) -> Self {
        let mut bytes = [role; OWNER_BYTES];
        bytes[1..].copy_from_slice(&key.0);
        Self(bytes)
    }
}

/// All owners of an event.
pub(crate) fn owners(event: EventRef<'_>) -> impl Iterator<Item = Owner> {
    let is_wrap = event.kind() == Kind::GIFT_WRAP;
    let recipients = recipients(event).filter(move |_| is_wrap);
    std::iter::once(Owner::author(&event.pubkey()))
        .chain(recipients.map(|recipient| Owner::recipient(&recipient)))
}

/// owner, 33 bytes | created_at, 8 bytes | id, 32 bytes.
pub(crate) fn index_key(owner: &Owner, time: Timestamp, id: &EventId) -> [u8; INDEX_KEY_BYTES] {
    let mut key = [0; INDEX_KEY_BYTES];
    key[..OWNER_BYTES].copy_from_slice(&owner.0);
    key[OWNER_BYTES..OWNER_BYTES + 8].copy_from_slice(&time.0.to_be_bytes());
    key[OWNER_BYTES + 8..].copy_from_slice(&id.0);
    key
}

/// Every key of the `archive_index` table that leads to this event.
pub(crate) fn index_keys(event: EventRef<'_>) -> impl Iterator<Item = [u8; INDEX_KEY_BYTES]> {
    owners(event).map(move |owner| index_key(&owner, event.created_at(), &event.id()))
}

/// Which event a key of the `archive_index` table leads to.
pub(crate) fn id_of_index_key(key: &[u8]) -> Result<EventId, ReadError> {
    let id = key.get(OWNER_BYTES + 8..).and_then(|id| id.try_into().ok());
    id.map(EventId).ok_or(ReadError::DamagedEntry("archive_index"))
}

/// record | cause, 1 byte.
pub(super) fn value(cause: ArchiveCause, event: EventRef<'_>) -> Vec<u8> {
    let mut value = Vec::with_capacity(event.record().len() + 1);
    value.extend_from_slice(event.record());
    value.push(cause as u8);
    value
}

pub(super) fn read_value(value: &[u8]) -> Result<(ArchiveCause, EventRef<'_>), ReadError> {
    let damaged = || ReadError::DamagedEntry("archive");
    let (cause, record) = value.split_last().ok_or_else(damaged)?;
    let cause = match cause {
        0 => ArchiveCause::Replaced,
        1 => ArchiveCause::Deleted,
        _ => return Err(damaged()),
    };
    Ok((cause, EventRef::new(record).map_err(|_| damaged())?))
}
