//! Which of two versions of an address goes before the other, and what bars versions for good.

use std::cmp::Reverse;

use zeolite_proto::{EventId, EventRef, Timestamp};

const VERSION_BYTES: usize = 40;
/// Bytes of a bar in the `deleted_address` table.
pub(crate) const BAR_BYTES: usize = VERSION_BYTES + 1;

/// The time and id of an event. The newer of two versions is the one with the later time; at the
/// same time, the one with the lower id (R01-25).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) time: Timestamp,
    pub(crate) id: EventId,
}

impl Version {
    pub(crate) fn of(event: EventRef<'_>) -> Self {
        Self { time: event.created_at(), id: event.id() }
    }

    /// Newer than every event made at `time` or before.
    pub(crate) fn newest_at(time: Timestamp) -> Self {
        Self { time, id: EventId([0; 32]) }
    }

    pub(crate) fn is_newer_than(&self, other: &Self) -> bool {
        (self.time, Reverse(self.id)) > (other.time, Reverse(other.id))
    }

    /// time, 8 bytes | id, 32 bytes.
    fn to_bytes(self) -> [u8; VERSION_BYTES] {
        let mut bytes = [0; VERSION_BYTES];
        bytes[..8].copy_from_slice(&self.time.0.to_be_bytes());
        bytes[8..].copy_from_slice(&self.id.0);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (time, id) = bytes.split_first_chunk::<8>()?;
        let id = EventId(id.try_into().ok()?);
        Some(Self { time: Timestamp(u64::from_be_bytes(*time)), id })
    }
}

/// Why an address has a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum BarCause {
    /// Its author asked for a deletion (NIP-09).
    Deletion = 0,
    /// Its newest version expired and was removed (NIP-40, R40-07).
    Expiry = 1,
}

/// Keeps every version that is not newer than `through` out of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bar {
    pub(crate) through: Version,
    pub(crate) cause: BarCause,
}

impl Bar {
    pub(crate) fn covers(&self, version: &Version) -> bool {
        !version.is_newer_than(&self.through)
    }

    /// version, 40 bytes | cause, 1 byte.
    pub(crate) fn to_bytes(self) -> [u8; BAR_BYTES] {
        let mut bytes = [0; BAR_BYTES];
        bytes[..VERSION_BYTES].copy_from_slice(&self.through.to_bytes());
        bytes[VERSION_BYTES] = self.cause as u8;
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (cause, version) = bytes.split_last()?;
        let cause = match cause {
            0 => BarCause::Deletion,
            1 => BarCause::Expiry,
            _ => return None,
        };
        Some(Self { through: Version::from_bytes(version)?, cause })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(time: u64, id: u8) -> Version {
        Version { time: Timestamp(time), id: EventId([id; 32]) }
    }

    /// R01-25: later wins, then the lower id. E-44: a deletion covers its own second.
    #[test]
    fn newer_is_later_or_lower() {
        for (newer, older) in [
            (version(2, 9), version(1, 0)),
            (version(2, 1), version(2, 2)),
            (Version::newest_at(Timestamp(2)), version(2, 1)),
            (version(3, 9), Version::newest_at(Timestamp(2))),
        ] {
            assert!(newer.is_newer_than(&older) && !older.is_newer_than(&newer));
            assert!(Bar { through: newer, cause: BarCause::Deletion }.covers(&older));
        }
        assert!(!version(2, 2).is_newer_than(&version(2, 2)));
    }

    #[test]
    fn bytes_come_back() {
        let bar = Bar { through: version(77, 3), cause: BarCause::Expiry };
        assert_eq!(Bar::from_bytes(&bar.to_bytes()), Some(bar));
        assert_eq!(Version::from_bytes(&bar.through.to_bytes()), Some(bar.through));
        assert_eq!(Bar::from_bytes(&[0; BAR_BYTES - 1]), None);
        assert_eq!(Bar::from_bytes(&[9; BAR_BYTES]), None);
    }
}
