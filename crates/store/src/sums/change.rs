//! Changes of sums.

use std::sync::Arc;

use super::{Bucket, BucketSize, Chunk, ItemKey, Place, Sums, Tallies, push_chunks};

/// An item that comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) place: Place,
    pub(crate) is_removal: bool,
}

impl Change {
    pub(crate) fn addition(place: Place) -> Self {
        Self { place, is_removal: false }
    }

    pub(crate) fn removal(place: Place) -> Self {
        Self { place, is_removal: true }
    }

    pub(crate) fn key(&self) -> &ItemKey {
        &self.place.key
    }

    /// What takes this change back.
    pub(crate) fn reversed(self) -> Self {
        Self { is_removal: !self.is_removal, ..self }
    }
}

impl Tallies {
    pub(crate) fn change(&mut self, changes: &[Change]) {
        for change in changes {
            match change.is_removal {
                true => self.take_out(&change.place),
                false => self.put_in(&change.place),
            }
        }
    }
}

/// How a bucket that has grown too large learns which items it had before the change: they are
/// appended in order. False if that cannot be told; the bucket stays as large as it is then.
pub(crate) type ItemsBefore<'a, E> =
    dyn FnMut(&Bucket, Option<&ItemKey>, &mut Vec<Place>) -> Result<bool, E> + 'a;

impl Sums {
    /// The sums after some changes, which are in the order of their keys.
    pub(crate) fn changed<E>(
        &self,
        changes: &[Change],
        items_before: &mut ItemsBefore<'_, E>,
    ) -> Result<Self, E> {
        debug_assert!(changes.is_sorted_by_key(Change::key));
        let mut chunks = Vec::with_capacity(self.chunks.len() + 1);
        let (mut rest, mut at) = (changes, 0);
        while let Some(first) = rest.first() {
            let before = self.chunks[at..].partition_point(|chunk| chunk.edge() <= first.key()) - 1;
            chunks.extend_from_slice(&self.chunks[at..at + before]);
            at += before;
            let end = self.end_of_chunk(at);
            let (mine, others) = split_at_key(rest, end);
            let (top, size) = (&self.top, self.size);
            let mut one = OneChunk { top, size, items_before, out: Vec::new() };
            one.change(&self.chunks[at], end, mine)?;
            let buckets = one.finish();
            let is_empty = buckets.len() == 1 && buckets[0].tallies.all.count == 0;
            if !is_empty || chunks.is_empty() {
                push_chunks(buckets, &mut chunks);
            }
            (rest, at) = (others, at + 1);
        }
        chunks.extend_from_slice(&self.chunks[at..]);
        let top = changes.last().map_or(self.top, |last| self.top.max(*last.key()));
        Ok(Self { chunks, top, size: self.size })
    }

    /// The same with buckets that may grow without bound.
    pub(crate) fn changed_roughly(&self, changes: &[Change]) -> Self {
        let changed: Result<_, std::convert::Infallible> =
            self.changed(changes, &mut |_, _, _| Ok(false));
        changed.unwrap_or_else(|never| match never {})
    }
}

/// A chunk in the making.
struct OneChunk<'a, 'b, E> {
    top: &'a ItemKey,
    size: BucketSize,
    items_before: &'a mut ItemsBefore<'b, E>,
    out: Vec<Bucket>,
}

impl<E> OneChunk<'_, '_, E> {
    fn change(
        &mut self,
        chunk: &Arc<Chunk>,
        end: Option<&ItemKey>,
        changes: &[Change],
    ) -> Result<(), E> {
        self.out.reserve(chunk.buckets.len() + 1);
        let mut rest = changes;
        for (at, bucket) in chunk.buckets.iter().enumerate() {
            let end = chunk.buckets.get(at + 1).map(|next| &next.edge).or(end);
            let (mine, others) = split_at_key(rest, end);
            match mine {
                [] => self.out.push(*bucket),
                mine => self.change_bucket(bucket, end, mine)?,
            }
            rest = others;
        }
        Ok(())
    }

    fn change_bucket(
        &mut self,
        bucket: &Bucket,
        end: Option<&ItemKey>,
        changes: &[Change],
    ) -> Result<(), E> {
        // What is above everything is appended, and there is no need to look at what was there.
        let (among, above) = changes.split_at(changes.partition_point(|c| c.key() <= self.top));
        let mut changed = *bucket;
        changed.tallies.change(among);
        let is_large = self.size.is_too_large(&changed.tallies) && !among.is_empty();
        let mut places = Vec::new();
        if is_large && (self.items_before)(bucket, end, &mut places)? {
            change_places(&mut places, among);
            self.size.push_buckets(bucket.edge, &places, &mut self.out);
        } else {
            self.out.push(changed);
        }
        let mut top = self.top;
        for change in above {
            self.size.append(&change.place, top, &mut self.out);
            top = change.key();
        }
        Ok(())
    }

    /// Merges neighbours that have become small.
    fn finish(self) -> Vec<Bucket> {
        let mut merged = self.out;
        merged.dedup_by(|next, bucket| {
            let is_small = self.size.has_room_for(&bucket.tallies, &next.tallies);
            if is_small {
                bucket.tallies.merge(&next.tallies);
            }
            is_small
        });
        merged
    }
}

/// The changes before `end`, and the others.
pub(super) fn split_at_key<'c>(
    changes: &'c [Change],
    end: Option<&ItemKey>,
) -> (&'c [Change], &'c [Change]) {
    let count = end.map_or(changes.len(), |end| changes.partition_point(|c| c.key() < end));
    changes.split_at(count)
}

/// Brings a bucket's items up to date.
pub(super) fn change_places(places: &mut Vec<Place>, changes: &[Change]) {
    let removed: Vec<_> = changes.iter().filter(|change| change.is_removal).collect();
    places.retain(|place| removed.binary_search_by(|change| change.key().cmp(&place.key)).is_err());
    places.extend(changes.iter().filter(|c| !c.is_removal).map(|change| change.place));
    places.sort_by_key(|place| place.key);
}
