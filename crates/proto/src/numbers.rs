//! Integers that must not be confused with one another.

use std::fmt;

/// Seconds since the Unix epoch, as in `created_at`, `since` and `until` (NIP-01).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// This time moved back by `seconds`, not below the epoch.
    pub fn saturating_sub(self, seconds: u64) -> Self {
        Self(self.0.saturating_sub(seconds))
    }

    /// This time moved on by `seconds`, not past the last representable second.
    pub fn saturating_add(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The position of an accepted event in the log of one store. It orders stored history and the
/// live feed into one sequence; the first event of a store has 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first event.
    pub const ZERO: Self = Self(0);

    /// The sequence number after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
