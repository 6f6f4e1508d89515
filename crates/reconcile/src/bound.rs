//! Items, and the bounds between them.

use std::cmp::Ordering;

use zeolite_proto::{EventId, Timestamp};

/// One event of a set. Items are ordered by time, then by the bytes of the id (N-03).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item {
    /// The event's `created_at`, below [`Bound::INFINITY`]'s.
    pub time: Timestamp,
    /// The event's id.
    pub id: EventId,
}

/// A place in the order of items: an item lies below it or not. It carries a prefix of an id, whose
/// missing bytes are zero (N-05). Bounds are equal when they are the same place.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    time: u64,
    id: [u8; 32],
    id_bytes: u8,
}

impl Bound {
    /// Below every item.
    pub const ZERO: Self = Self::at_time(Timestamp(0));

    /// Above every item: the time 2^64 - 1 is reserved for it.
    pub const INFINITY: Self = Self::at_time(Timestamp(u64::MAX));

    /// Below every item of this second, above all earlier ones.
    pub const fn at_time(time: Timestamp) -> Self {
        Self { time: time.0, id: [0; 32], id_bytes: 0 }
    }

    /// At this item: it lies just above.
    pub fn at_item(item: &Item) -> Self {
        Self { time: item.time.0, id: item.id.0, id_bytes: 32 }
    }

    /// The shortest bound with `before` below and `after` not below it (N-06).
    ///
    /// `before` must be less than `after`.
    pub fn between(before: &Item, after: &Item) -> Self {
        debug_assert!(before < after, "a bound between {before:?} and {after:?}");
        if before.time != after.time {
            return Self::at_time(after.time);
        }
        let (old, new) = (&before.id.0, &after.id.0);
        let common = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        Self::with_prefix(after.time.0, &new[..(common + 1).min(32)])
    }

    /// The same place as [`at_item`](Self::at_item), for an item that need not exist: what is zero
    /// at the end of its id is left out of the message.
    pub fn at_place(place: &Item) -> Self {
        let id_bytes = place.id.0.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        Self::with_prefix(place.time.0, &place.id.0[..id_bytes])
    }

    /// A bound as it stands on the wire. `prefix` has at most 32 bytes.
    pub(crate) fn with_prefix(time: u64, prefix: &[u8]) -> Self {
        let mut id = [0; 32];
        id[..prefix.len()].copy_from_slice(prefix);
        let id_bytes = u8::try_from(prefix.len()).expect("a prefix has at most 32 bytes");
        Self { time, id, id_bytes }
    }

    /// The second it lies in; `u64::MAX` for infinity.
    pub fn time(&self) -> Timestamp {
        Timestamp(self.time)
    }

    /// The id it lies at, its prefix filled up with zeros.
    pub fn id(&self) -> EventId {
        EventId(self.id)
    }

    /// The prefix as it stands on the wire.
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.id[..usize::from(self.id_bytes)]
    }

    /// Whether the item lies below.
    pub fn is_above(&self, item: &Item) -> bool {
        (item.time.0, &item.id.0) < (self.time, &self.id)
    }

    /// Whether no item can lie above.
    pub fn is_infinity(&self) -> bool {
        self.time == u64::MAX
    }

    fn place(&self) -> (u64, &[u8; 32]) {
        (self.time, &self.id)
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Bound {}

impl PartialOrd for Bound {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bound {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}
