//! Keys: a dimension and a value in it, as one keyed hash.

use std::hash::{BuildHasher, Hash, RandomState};

use zeolite_proto::{EventId, Kind, PubKey, TagStr};

/// The dimension a key belongs to: a tag letter stands for itself, the others have numbers that
/// are no letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Family(pub(crate) u8);

impl Family {
    /// The pool of filters without any list: there is one key, and every event has it.
    pub(crate) const UNINDEXED: Self = Self(0);
    pub(crate) const ID: Self = Self(1);
    pub(crate) const AUTHOR: Self = Self(2);
    pub(crate) const AUTHOR_KIND: Self = Self(3);
    pub(crate) const KIND: Self = Self(4);
}

/// Two different keys may have the same hash. That costs a look at a subscriber who does not want
/// the event, never a wrong answer, and saves storing the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) hash: u64,
    pub(crate) family: Family,
}

/// Makes keys. The hash is keyed at random, so that no peer can aim values at one list.
pub(crate) struct Keyer(RandomState);

impl Keyer {
    pub(crate) fn new() -> Self {
        Self(RandomState::new())
    }

    pub(crate) fn unindexed(&self) -> Key {
        self.key(Family::UNINDEXED, ())
    }

    pub(crate) fn id(&self, id: &EventId) -> Key {
        self.key(Family::ID, id)
    }

    pub(crate) fn author(&self, author: &PubKey) -> Key {
        self.key(Family::AUTHOR, author)
    }

    pub(crate) fn author_kind(&self, author: &PubKey, kind: Kind) -> Key {
        self.key(Family::AUTHOR_KIND, (author, kind))
    }

    pub(crate) fn kind(&self, kind: Kind) -> Key {
        self.key(Family::KIND, kind)
    }

    pub(crate) fn tag(&self, letter: u8, value: TagStr<'_>) -> Key {
        self.key(Family(letter), value)
    }

    fn key(&self, family: Family, value: impl Hash) -> Key {
        Key { hash: self.0.hash_one((family.0, value)), family }
    }
}
