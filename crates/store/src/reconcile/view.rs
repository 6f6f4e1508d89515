//! A kept set as of one moment.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use zeolite_proto::Timestamp;
use zeolite_proto::limits::CREATED_AT_MAX;
use zeolite_reconcile::{Bound, Edge, Item, Set};

use super::live::LiveSet;
use super::read_bucket::ReadBucket;
use crate::Inner;
use crate::error::ReadError;
use crate::limits::BUCKET_ITEMS_DEFAULT;
use crate::snapshot::Snapshot;
use crate::sums::{Bucket, Hidden, ItemKey, Part, Tally};

/// Buckets that stay at hand once they are read: those of a range that is walked through, so that
/// the ranges next to it find its ends. 256 items of 40 bytes each, and their sums: 45 kB.
const READ_BUCKETS_KEPT: usize = 4;

/// Buckets read in a row until it is looked how much of the file is mapped: 32 thousand items.
const BUCKETS_UNWATCHED: u64 = 128;

/// A [`LiveSet`] as of one moment. It answers from the sums of buckets, and reads the items of a
/// bucket only to look inside; the last few that it read are at hand.
pub struct LiveView<'s> {
    snapshot: Snapshot<'s>,
    part: Part,
    hidden: Hidden,
    /// For each chunk of the sums, what is visible below it.
    chunks_below: Vec<Tally>,
    /// The same for each bucket of a chunk, once anything in it was asked for.
    buckets_below: Vec<OnceCell<Box<[Tally]>>>,
    /// What is visible below the window.
    start: Tally,
    /// What is visible below the window's end.
    end: Tally,
    /// The latest first.
    read: RefCell<[Option<Rc<ReadBucket>>; READ_BUCKETS_KEPT]>,
}

/// Where a bucket is.
#[derive(Clone, Copy)]
struct Address {
    chunk: usize,
    bucket: usize,
}

impl<'s> LiveView<'s> {
    pub(super) fn take(set: &LiveSet, inner: &'s Inner, now: Timestamp) -> Result<Self, ReadError> {
        let snapshot = Snapshot::take_exact(inner)?;
        let hidden = Hidden::gather(&snapshot, now, set.part)?.ok_or(ReadError::Unsettled)?;
        let mut view = Self {
            snapshot,
            part: set.part,
            hidden,
            chunks_below: Vec::new(),
            buckets_below: Vec::new(),
            start: Tally::default(),
            end: Tally::default(),
            read: RefCell::default(),
        };
        let total = view.sum_chunks();
        view.end = total;
        view.start = view.below(&Bound::at_time(set.since))?;
        if set.until.0 < CREATED_AT_MAX {
            view.end = view.below(&Bound::at_time(Timestamp(set.until.0 + 1)))?;
        }
        if view.end.count < view.start.count {
            view.end = view.start;
        }
        Ok(view)
    }

    /// Fills `chunks_below`; gives the tally of everything visible.
    fn sum_chunks(&mut self) -> Tally {
        let mut below = Tally::default();
        let chunks = self.snapshot.head.sums.chunks();
        self.chunks_below.reserve_exact(chunks.len());
        self.buckets_below.resize_with(chunks.len(), OnceCell::new);
        for chunk in chunks {
            self.chunks_below.push(below.minus(self.hidden.below(chunk.edge())));
            below = below.plus(chunk.tallies.of(self.part));
        }
        below.minus(self.hidden.total())
    }

    /// What is visible below a bound, wherever the window is; not below the window's start.
    fn below(&self, bound: &Bound) -> Result<Tally, ReadError> {
        if bound.time().0 > CREATED_AT_MAX {
            return Ok(self.end);
        }
        let key = ItemKey::new(bound.time(), &bound.id());
        if let Some(read) = self.find_read(|read| read.has_key(&key)) {
            return Ok(read.below(bound));
        }
        let address = self.address_of(&key);
        let bucket = self.bucket(address);
        if bucket.edge == key {
            return Ok(self.below_bucket(address));
        }
        Ok(self.read_bucket(address)?.below(bound))
    }

    /// The bucket that a key belongs to.
    fn address_of(&self, key: &ItemKey) -> Address {
        let chunks = self.snapshot.head.sums.chunks();
        let chunk = chunks.partition_point(|chunk| chunk.edge() <= key) - 1;
        let bucket = chunks[chunk].buckets.partition_point(|bucket| bucket.edge <= *key) - 1;
        Address { chunk, bucket }
    }

    fn bucket(&self, address: Address) -> &Bucket {
        &self.snapshot.head.sums.chunks()[address.chunk].buckets[address.bucket]
    }

    /// The bucket that the visible item with this index lies in.
    fn address_at(&self, index: u64) -> Address {
        let last_not_above = |below: &[Tally]| below.partition_point(|it| it.count <= index) - 1;
        let chunk = last_not_above(&self.chunks_below);
        Address { chunk, bucket: last_not_above(self.buckets_below(chunk)) }
    }

    /// What is visible below a bucket.
    fn below_bucket(&self, Address { chunk, bucket }: Address) -> Tally {
        self.buckets_below(chunk)[bucket]
    }

    fn buckets_below(&self, chunk: usize) -> &[Tally] {
        self.buckets_below[chunk].get_or_init(|| {
            let buckets = &self.snapshot.head.sums.chunks()[chunk].buckets;
            let mut all = self.chunks_below[chunk].plus(self.hidden.below(&buckets[0].edge));
            let below = buckets.iter().map(|bucket| {
                let below = all.minus(self.hidden.below(&bucket.edge));
                all = all.plus(bucket.tallies.of(self.part));
                below
            });
            below.collect()
        })
    }

    /// The edge of the bucket that the visible item with this index lies in, or that of the next
    /// one, whichever is nearer.
    fn edge_of_bucket(&self, index: u64) -> Edge {
        let address = self.address_at(index);
        let below = self.below_bucket(address);
        let Some((next, next_edge)) = self.next_bucket(address) else {
            return self.edge(Bound::at_place(&self.bucket(address).edge.item()), below);
        };
        let next_below = self.below_bucket(next);
        let (edge, below) = match next_below.count - index < index - below.count {
            true => (next_edge, next_below),
            false => (&self.bucket(address).edge, below),
        };
        self.edge(Bound::at_place(&edge.item()), below)
    }

    /// The bucket behind this one, and its edge.
    fn next_bucket(&self, Address { chunk, bucket }: Address) -> Option<(Address, &ItemKey)> {
        let sums = &self.snapshot.head.sums;
        let in_chunk = sums.chunks()[chunk].buckets.get(bucket + 1).map(|next| &next.edge);
        let next = Address { chunk, bucket: bucket + 1 };
        let first = Address { chunk: chunk + 1, bucket: 0 };
        in_chunk
            .map(|edge| (next, edge))
            .or_else(|| sums.end_of_chunk(chunk).map(|edge| (first, edge)))
    }

    fn find_read(&self, is_wanted: impl Fn(&ReadBucket) -> bool) -> Option<Rc<ReadBucket>> {
        self.read.borrow().iter().flatten().find(|read| is_wanted(read)).cloned()
    }

    /// The bucket that the visible item with this index lies in, read.
    fn read_at(&self, index: u64) -> Result<Rc<ReadBucket>, ReadError> {
        match self.find_read(|read| read.has_index(index)) {
            Some(read) => Ok(read),
            None => self.read_bucket(self.address_at(index)),
        }
    }

    fn read_bucket(&self, address: Address) -> Result<Rc<ReadBucket>, ReadError> {
        let bucket = self.bucket(address);
        let end = self.next_bucket(address).map(|(_, edge)| edge);
        let items = self.visible_items(bucket, end)?.ok_or(ReadError::DamagedEntry("sums"))?;
        let (range, below) = ((bucket.edge, end.copied()), self.below_bucket(address));
        let read = Rc::new(ReadBucket::new(range, below, items));
        let mut kept = self.read.borrow_mut();
        kept.rotate_right(1);
        kept[0] = Some(Rc::clone(&read));
        Ok(read)
    }

    /// The items of a bucket; `None` if they are not what its tallies say.
    fn visible_items(
        &self,
        bucket: &Bucket,
        end: Option<&ItemKey>,
    ) -> Result<Option<Vec<Item>>, ReadError> {
        let mut entries = Vec::new();
        let count = bucket.tallies.all.count;
        if !self.snapshot.live_entries(&bucket.edge, end, count, &mut entries)? {
            return Ok(None);
        }
        if self.part == Part::Open && bucket.tallies.gated.count > 0 {
            let gated = self.snapshot.gated_seqs(&bucket.edge, end)?;
            entries.retain(|entry| !gated.contains(&entry.seq()));
        }
        if entries.len() as u64 != bucket.tallies.of(self.part).count {
            return Ok(None);
        }
        let mut items: Vec<_> =
            entries.iter().map(|entry| Item { time: entry.time(), id: entry.id() }).collect();
        if self.hidden.total() != Tally::default() {
            items.retain(|item| !self.hidden.contains(&ItemKey::new(item.time, &item.id)));
        }
        Ok(Some(items))
    }

    /// What is visible below a place, as an edge of the window.
    fn edge(&self, bound: Bound, below: Tally) -> Edge {
        let below = below.minus(self.start);
        Edge { bound, index: below.count as usize, sum: below.sum }
    }
}

impl Set for LiveView<'_> {
    type Error = ReadError;

    /// Four buckets: a place inside of one costs as much as a walk through it.
    const WALK_ITEMS_MAX: usize = 4 * BUCKET_ITEMS_DEFAULT;

    fn len(&self) -> usize {
        (self.end.count - self.start.count) as usize
    }

    fn seek(&self, _: &Edge, bound: &Bound) -> Result<Edge, ReadError> {
        let below = self.below(bound)?;
        let in_window = match below.count {
            count if count < self.start.count => self.start,
            count if count > self.end.count => self.end,
            _ => below,
        };
        Ok(self.edge(*bound, in_window))
    }

    fn edge_at(&self, at: usize) -> Result<Edge, ReadError> {
        let index = self.start.count + at as u64;
        let item_at = |index: u64| -> Result<Item, ReadError> {
            Ok(self.read_at(index)?.items_from(index)[0])
        };
        let bound = Bound::between(&item_at(index - 1)?, &item_at(index)?);
        Ok(self.edge(bound, self.below(&bound)?))
    }

    fn edge_near(&self, at: usize, slack: usize) -> Result<Edge, ReadError> {
        let edge = self.edge_of_bucket(self.start.count + at as u64);
        match edge.index.abs_diff(at) <= slack {
            true => Ok(edge),
            false => self.edge_at(at),
        }
    }

    fn for_each(
        &self,
        from: &Edge,
        count: usize,
        visit: &mut dyn FnMut(&Item),
    ) -> Result<(), ReadError> {
        let mut index = self.start.count + from.index as u64;
        let end = index + count as u64;
        for buckets in 1u64.. {
            if index >= end {
                break;
            }
            // A walk through everything must not map everything at once.
            if buckets.is_multiple_of(BUCKETS_UNWATCHED) {
                self.snapshot.inner.bound_mapped();
            }
            let read = self.read_at(index)?;
            let items = read.items_from(index);
            let items = &items[..items.len().min((end - index) as usize)];
            items.iter().for_each(&mut *visit);
            index += items.len() as u64;
        }
        Ok(())
    }
}
