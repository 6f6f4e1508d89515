//! What becomes of the events of a corpus.

/// What becomes of an event, with the rule or reading that decides it.
///
/// Where relays read the NIPs differently, the reading has a name of its own, so that a comparison
/// can tolerate exactly that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// Held.
    Held,
    /// Held, since its id is lower than that of another version of the same second (NIP-01 says
    /// SHOULD; a relay that keeps the first of the two may hold the other).
    HeldInTie,
    /// Never stored (some relays keep such kinds for minutes).
    Ephemeral,
    /// Expired before it came.
    Expired,
    /// Its author vanished (a relay without NIP-62 holds it).
    Vanished,
    /// A gift wrap whose recipient vanished (NIP-62 says SHOULD).
    VanishedWrap,
    /// Deleted by its author by id.
    Deleted,
    /// A gift wrap deleted by its recipient (NIP-59 says SHOULD).
    DeletedWrap,
    /// Deleted by address, of an addressable kind.
    DeletedByAddress,
    /// Deleted by address, of a replaceable kind (some relays know only addressable ones).
    DeletedReplaceable,
    /// An older version of an address whose newer version was deleted by id (NIP-09 is silent; a
    /// relay that received it after the deletion may hold it).
    DeletedWithNewer,
    /// A newer version is held.
    Superseded,
    /// Another version of the same second, with a lower id, is held.
    SupersededInTie,
}

impl Fate {
    /// Whether a relay must hold such events.
    pub fn is_held(self) -> bool {
        matches!(self, Self::Held | Self::HeldInTie)
    }
}
