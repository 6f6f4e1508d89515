//! A run: the sorted keys of some consecutive events.

use rustc_hash::FxHashSet;
use zeolite_proto::{EventId, EventRef, Kind, Seq, Timestamp};

use crate::id_filter::IdFilter;
use crate::keys::{
    Family, INDEX_KEY_BYTES, IndexKey, KeyMaker, TIMELINE_ENTRY_BYTES, TimelineEntry,
};
use crate::sums::{Change, ItemKey, Place};

/// The keys of the events of a range of seqs, sorted.
pub(crate) struct Run {
    /// The highest seq this run accounts for.
    pub(crate) last_seq: Seq,
    /// Events that have keys here.
    pub(crate) events: usize,
    pub(crate) index: Vec<IndexKey>,
    pub(crate) timeline: Vec<TimelineEntry>,
    /// How many of the index keys are of the id family: they come first.
    ids: usize,
    id_filter: IdFilter,
}

impl Run {
    pub(crate) fn new<'a>(
        keys: &KeyMaker,
        events: impl Iterator<Item = (Seq, EventRef<'a>)>,
        last_seq: Seq,
    ) -> Self {
        let (mut index, mut timeline) = (Vec::new(), Vec::new());
        for (seq, event) in events {
            keys.push_index_keys(event, seq, &mut index);
            timeline.push(TimelineEntry::new(event.created_at(), &event.id(), seq));
        }
        index.sort_unstable();
        timeline.sort_unstable();
        Self::from_sorted(index, timeline, last_seq)
    }

    pub(crate) fn from_sorted(
        index: Vec<IndexKey>,
        timeline: Vec<TimelineEntry>,
        last_seq: Seq,
    ) -> Self {
        let ids = index.partition_point(|key| Family::of(key) == Some(Family::Id));
        let id_filter = IdFilter::new(&index[..ids]);
        Self { last_seq, events: timeline.len(), index, timeline, ids, id_filter }
    }

    /// The index keys of this id; usually none.
    pub(crate) fn keys_of_id(&self, id: &EventId) -> &[IndexKey] {
        if !self.id_filter.may_contain(id) {
            return &[];
        }
        let (lowest, highest) = IndexKey::range_of_id(id);
        let ids = &self.index[..self.ids];
        let from = &ids[ids.partition_point(|key| *key < lowest)..];
        &from[..from.partition_point(|key| *key <= highest)]
    }

    /// The timeline entries from `low` up to, not including, `end`.
    pub(crate) fn timeline_between(
        &self,
        low: &ItemKey,
        end: Option<&ItemKey>,
    ) -> &[TimelineEntry] {
        let from_low = &self.timeline[self.timeline.partition_point(|e| e.key() < &low.0[..])..];
        match end {
            Some(end) => &from_low[..from_low.partition_point(|entry| entry.key() < &end.0[..])],
            None => from_low,
        }
    }

    /// Appends an addition for each event that is not dead, in the order of the timeline.
    pub(crate) fn push_additions(
        &self,
        keys: &KeyMaker,
        gated_kinds: &[Kind],
        is_dead: impl Fn(Seq) -> bool,
        out: &mut Vec<Change>,
    ) {
        let gated = self.seqs_of_kinds(keys, gated_kinds);
        for entry in self.timeline.iter().filter(|entry| !is_dead(entry.seq())) {
            let is_gated = !gated.is_empty() && gated.contains(&entry.seq());
            out.push(Change::addition(Place { key: ItemKey::of_entry(entry), is_gated }));
        }
    }

    fn seqs_of_kinds(&self, keys: &KeyMaker, kinds: &[Kind]) -> FxHashSet<Seq> {
        let mut seqs = FxHashSet::default();
        for kind in kinds {
            let prefix = keys.kind(*kind);
            let (least, below) = (prefix.bottom(Timestamp(0)), prefix.above(Timestamp(u64::MAX)));
            let of_kind = &self.index[self.index.partition_point(|key| *key < least)..];
            seqs.extend(of_kind.iter().take_while(|key| **key < below).map(IndexKey::seq));
        }
        seqs
    }

    /// Keys of both indexes.
    pub(crate) fn keys(&self) -> usize {
        self.index.len() + self.timeline.len()
    }

    /// Bytes of the keys.
    pub(crate) fn bytes(&self) -> usize {
        self.index.len() * INDEX_KEY_BYTES + self.timeline.len() * TIMELINE_ENTRY_BYTES
    }

    /// Both runs in one; `newer` must be the one that follows `older`.
    pub(crate) fn merge(older: &Self, newer: &Self) -> Self {
        let index = merge_sorted(&older.index, &newer.index);
        let timeline = merge_sorted(&older.timeline, &newer.timeline);
        Self::from_sorted(index, timeline, newer.last_seq)
    }

    /// The part of this run that is about events up to `last`.
    pub(crate) fn up_to(&self, last: Seq) -> Self {
        let index = self.index.iter().filter(|key| key.seq() <= last).copied().collect();
        let timeline = self.timeline.iter().filter(|entry| entry.seq() <= last).copied().collect();
        Self::from_sorted(index, timeline, last)
    }
}

fn merge_sorted<T: Copy + Ord>(mut a: &[T], mut b: &[T]) -> Vec<T> {
    let mut merged = Vec::with_capacity(a.len() + b.len());
    while let ([first_a, rest_a @ ..], [first_b, rest_b @ ..]) = (a, b) {
        if first_a <= first_b {
            merged.push(*first_a);
            a = rest_a;
        } else {
            merged.push(*first_b);
            b = rest_b;
        }
    }
    merged.extend_from_slice(a);
    merged.extend_from_slice(b);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_order_and_elements() {
        for (a, b) in [
            (vec![], vec![]),
            (vec![1, 3, 5], vec![]),
            (vec![1, 3, 5], vec![2, 4]),
            (vec![7, 8], vec![1, 7, 9]),
        ] {
            let mut expected = [a.clone(), b.clone()].concat();
            expected.sort_unstable();
            assert_eq!(merge_sorted(&a, &b), expected);
        }
    }
}
