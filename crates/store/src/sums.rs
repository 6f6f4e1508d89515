//! How many events there are, and the sums of their ids, over the order of time and id.
//!
//! [`Sums`] cuts the timeline into buckets of some hundred items and keeps the tally of each. It
//! says nothing of the items themselves: those are read from the timeline. Like everything in the
//! head it never changes once it is published; a change shares all chunks that it does not touch.

mod change;
mod hidden;
mod places;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use zeolite_proto::{EventId, EventRef, Timestamp};
use zeolite_reconcile::{Bound, Item, Sum};

pub(crate) use self::change::Change;
pub(crate) use self::hidden::Hidden;
pub(crate) use self::table::{SumsTable, bucket, load, prepare};
use crate::keys::{TIMELINE_KEY_BYTES, TimelineEntry};
use crate::limits::{BUCKET_ITEMS_DEFAULT, CHUNK_BUCKETS, CHUNK_BUCKETS_MAX};

/// The time and id of an event, in the bytes and so in the order of the timeline.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ItemKey(pub(crate) [u8; TIMELINE_KEY_BYTES]);

impl ItemKey {
    /// Not above any item.
    pub(crate) const LOWEST: Self = Self([0; TIMELINE_KEY_BYTES]);

    pub(crate) fn new(time: Timestamp, id: &EventId) -> Self {
        Self::of_entry(&TimelineEntry::new(time, id, zeolite_proto::Seq::ZERO))
    }

    pub(crate) fn of(event: EventRef<'_>) -> Self {
        Self::new(event.created_at(), &event.id())
    }

    pub(crate) fn of_entry(entry: &TimelineEntry) -> Self {
        Self(*entry.0.first_chunk().expect("an entry begins with its key"))
    }

    /// The place between two items that takes the fewest bytes in a message.
    fn between(before: &Self, after: &Self) -> Self {
        let bound = Bound::between(&before.item(), &after.item());
        Self::new(bound.time(), &bound.id())
    }

    pub(crate) fn time(&self) -> Timestamp {
        self.item().time
    }

    pub(crate) fn id(&self) -> EventId {
        EventId(*self.0.last_chunk().expect("a key ends with the id"))
    }

    pub(crate) fn item(&self) -> Item {
        let mut time = [0; 8];
        time[3..].copy_from_slice(&self.0[..5]);
        Item { time: Timestamp(u64::from_be_bytes(time)), id: self.id() }
    }
}

impl std::fmt::Debug for ItemKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.time(), self.id())
    }
}

/// An item, and whether it is of a gated kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) key: ItemKey,
    pub(crate) is_gated: bool,
}

/// A number of items and the sum of their ids.
///
/// Both wrap: what is taken out before it is put in comes out right in the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) sum: Sum,
}

impl Tally {
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        let count = self.count.wrapping_add(other.count);
        Self { count, sum: self.sum.merged(other.sum) }
    }

    #[must_use]
    pub(crate) fn minus(self, other: Self) -> Self {
        let count = self.count.wrapping_sub(other.count);
        Self { count, sum: self.sum.minus(other.sum) }
    }

    fn of_entries(entries: &[TimelineEntry]) -> Self {
        entries.iter().fold(Self::default(), |tally, entry| tally.plus(Self::one(&entry.id())))
    }

    fn one(id: &EventId) -> Self {
        Self { count: 1, sum: Sum::ZERO.with(id) }
    }
}

/// Whose items are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    All,
    /// Those that are not of gated kinds.
    Open,
}

/// The tallies of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tallies {
    pub(crate) all: Tally,
    pub(crate) gated: Tally,
}

impl Tallies {
    pub(crate) fn of(&self, part: Part) -> Tally {
        match part {
            Part::All => self.all,
            Part::Open => self.all.minus(self.gated),
        }
    }

    pub(crate) fn put_in(&mut self, place: &Place) {
        let one = Tally::one(&place.key.id());
        self.all = self.all.plus(one);
        if place.is_gated {
            self.gated = self.gated.plus(one);
        }
    }

    pub(crate) fn take_out(&mut self, place: &Place) {
        let one = Tally::one(&place.key.id());
        self.all = self.all.minus(one);
        if place.is_gated {
            self.gated = self.gated.minus(one);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.all = self.all.plus(other.all);
        self.gated = self.gated.plus(other.gated);
    }
}

/// The tallies of the items from an edge up to the edge of the next bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) edge: ItemKey,
    pub(crate) tallies: Tallies,
}

impl Bucket {
    pub(crate) fn empty(edge: ItemKey) -> Self {
        Self { edge, tallies: Tallies::default() }
    }
}

/// Some neighbouring buckets, at least one: what a change copies.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) buckets: Vec<Bucket>,
    pub(crate) tallies: Tallies,
}

impl Chunk {
    fn new(buckets: Vec<Bucket>) -> Self {
        let mut tallies = Tallies::default();
        buckets.iter().for_each(|bucket| tallies.merge(&bucket.tallies));
        Self { buckets, tallies }
    }

    pub(crate) fn edge(&self) -> &ItemKey {
        &self.buckets[0].edge
    }
}

/// The tallies of everything that is admitted and not removed, in the order of the timeline.
/// Expired events, and those that a request to vanish is still to remove, count until they are
/// removed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sums {
    /// At least one; the first bucket's edge is the lowest.
    chunks: Vec<Arc<Chunk>>,
    /// Not below any item.
    top: ItemKey,
    size: BucketSize,
}

impl Default for Sums {
    fn default() -> Self {
        Self::from_buckets(Vec::new(), ItemKey::LOWEST, BucketSize::default())
    }
}

impl Sums {
    /// From buckets in order. No item may be above `top`.
    pub(crate) fn from_buckets(mut buckets: Vec<Bucket>, top: ItemKey, size: BucketSize) -> Self {
        if buckets.first().is_none_or(|first| first.edge != ItemKey::LOWEST) {
            buckets.insert(0, Bucket::empty(ItemKey::LOWEST));
        }
        let mut chunks = Vec::with_capacity(buckets.len() / CHUNK_BUCKETS + 1);
        push_chunks(buckets, &mut chunks);
        Self { chunks, top, size }
    }

    pub(crate) fn chunks(&self) -> &[Arc<Chunk>] {
        &self.chunks
    }

    /// Where the chunk's items end: `None` for the last one.
    pub(crate) fn end_of_chunk(&self, at: usize) -> Option<&ItemKey> {
        self.chunks.get(at + 1).map(|next| next.edge())
    }
}

/// Cuts buckets into chunks; one at least.
fn push_chunks(buckets: Vec<Bucket>, chunks: &mut Vec<Arc<Chunk>>) {
    if buckets.len() <= CHUNK_BUCKETS_MAX {
        chunks.push(Arc::new(Chunk::new(buckets)));
        return;
    }
    let parts = buckets.len() / CHUNK_BUCKETS;
    for part in 0..parts {
        let part = buckets.len() * part / parts..buckets.len() * (part + 1) / parts;
        chunks.push(Arc::new(Chunk::new(buckets[part].to_vec())));
    }
}

/// How many items a bucket has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketSize {
    /// Items of a new one.
    pub(crate) items: usize,
}

impl BucketSize {
    pub(crate) fn new(items: usize) -> Self {
        Self { items: items.max(1) }
    }

    /// Whether it is to be cut.
    fn is_too_large(self, tallies: &Tallies) -> bool {
        tallies.all.count > 2 * self.items as u64
    }

    /// Whether two neighbours are to become one.
    fn has_room_for(self, one: &Tallies, other: &Tallies) -> bool {
        one.all.count.wrapping_add(other.all.count) <= (self.items as u64 / 2).max(1)
    }

    /// Cuts items, in order, into buckets, of which the first begins at `edge`.
    fn push_buckets(self, edge: ItemKey, places: &[Place], out: &mut Vec<Bucket>) {
        let parts = (places.len() / self.items).max(1);
        for part in 0..parts {
            let range = places.len() * part / parts..places.len() * (part + 1) / parts;
            let cut = |at: usize| ItemKey::between(&places[at - 1].key, &places[at].key);
            let edge = if part == 0 { edge } else { cut(range.start) };
            let mut bucket = Bucket::empty(edge);
            places[range].iter().for_each(|place| bucket.tallies.put_in(place));
            out.push(bucket);
        }
    }

    /// Puts an item that is above all others, none of which is above `top`, into the last of
    /// `buckets`, or a new one.
    fn append(self, place: &Place, top: &ItemKey, buckets: &mut Vec<Bucket>) {
        match buckets.last_mut() {
            Some(last) if last.tallies.all.count < self.items as u64 => last.tallies.put_in(place),
            _ => {
                let mut bucket = Bucket::empty(ItemKey::between(top, &place.key));
                bucket.tallies.put_in(place);
                buckets.push(bucket);
            }
        }
    }
}

impl Default for BucketSize {
    fn default() -> Self {
        Self::new(BUCKET_ITEMS_DEFAULT)
    }
}
