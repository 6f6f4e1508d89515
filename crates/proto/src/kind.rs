//! Event kinds and what NIP-01 says of their ranges.

use std::fmt;

/// An event kind, 0..=65535 (NIP-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u16);

/// How a relay keeps the events of a kind (NIP-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindClass {
    /// Every event is kept. Kinds without a class of their own count as regular.
    Regular,
    /// Only the newest per author and kind is kept.
    Replaceable,
    /// Delivered to whoever listens, never stored.
    Ephemeral,
    /// Only the newest per author, kind and `d` tag is kept.
    Addressable,
}

impl Kind {
    /// Profile (NIP-01).
    pub const METADATA: Self = Self(0);
    /// Short text note (NIP-01).
    pub const TEXT_NOTE: Self = Self(1);
    /// Contact list (NIP-02).
    pub const CONTACTS: Self = Self(3);
    /// Encrypted direct message (NIP-04).
    pub const DIRECT_MESSAGE: Self = Self(4);
    /// Deletion request (NIP-09).
    pub const DELETION: Self = Self(5);
    /// Request to vanish (NIP-62).
    pub const VANISH: Self = Self(62);
    /// Gift wrap (NIP-59).
    pub const GIFT_WRAP: Self = Self(1059);
    /// Ephemeral gift wrap (NIP-59).
    pub const EPHEMERAL_GIFT_WRAP: Self = Self(21059);
    /// Client authentication (NIP-42); never relayed.
    pub const AUTH: Self = Self(22242);

    /// The class of this kind.
    pub fn class(self) -> KindClass {
        match self.0 {
            0 | 3 | 10_000..=19_999 => KindClass::Replaceable,
            20_000..=29_999 => KindClass::Ephemeral,
            30_000..=39_999 => KindClass::Addressable,
            _ => KindClass::Regular,
        }
    }

    /// True for kinds that are delivered live and never stored.
    pub fn is_ephemeral(self) -> bool {
        self.class() == KindClass::Ephemeral
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R01-20 to R01-24: every range, at both of its ends.
    #[test]
    fn classes_follow_nip_01() {
        use KindClass::{Addressable, Ephemeral, Regular, Replaceable};
        for (kinds, class) in [
            (&[1, 2, 4, 5, 41, 44, 45, 62, 999, 1000, 9999, 40_000, 65_535][..], Regular),
            (&[0, 3, 10_000, 19_999], Replaceable),
            (&[20_000, 29_999], Ephemeral),
            (&[30_000, 39_999], Addressable),
        ] {
            for &kind in kinds {
                assert_eq!(Kind(kind).class(), class, "kind {kind}");
            }
        }
    }
}
