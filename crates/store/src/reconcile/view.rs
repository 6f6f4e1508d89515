//! A kept set as of one moment.

use std::cell::RefCell;
use std::rc::Rc;

use zeolite_proto::Timestamp;
use zeolite_proto::limits::CREATED_AT_MAX;
use zeolite_reconcile::{Bound, Edge, Item, Set};

use super::live::LiveSet;
use super::read_bucket::ReadBucket;
use crate::Inner;
use crate::error::ReadError;
use crate::snapshot::Snapshot;
use crate::sums::{Bucket, Hidden, ItemKey, Part, Tally};

/// A [`LiveSet`] as of one moment. It answers from the sums of buckets, and reads the items of a
/// bucket only to look inside; the last two that it read are at hand.
pub struct LiveView<'s> {
    snapshot: Snapshot<'s>,
    part: Part,
    hidden: Hidden,
    /// For each chunk of the sums, what is visible below it.
    chunks_below: Vec<Tally>,
    /// What is visible below the window.
    start: Tally,
    /// What is visible below the window's end.
    end: Tally,
    read: RefCell<[Option<Rc<ReadBucket>>; 2]>,
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
        let chunk = self.chunks_below.partition_point(|below| below.count <= index) - 1;
        let buckets = &self.snapshot.head.sums.chunks()[chunk].buckets;
        let start = self.hidden.below(&buckets[0].edge).count;
        let mut below = self.chunks_below[chunk].count;
        // Items that are hidden below a bucket are not counted in the buckets before it.
        for (bucket, pair) in buckets.windows(2).enumerate() {
            let hidden = self.hidden.below(&pair[1].edge).count - start;
            below += pair[0].tallies.of(self.part).count;
            if index < below - hidden {
                return Address { chunk, bucket };
            }
        }
        Address { chunk, bucket: buckets.len() - 1 }
    }

    /// What is visible below a bucket.
    fn below_bucket(&self, Address { chunk, bucket }: Address) -> Tally {
        let buckets = &self.snapshot.head.sums.chunks()[chunk].buckets;
        let hidden_before = self.hidden.below(&buckets[0].edge);
        let hidden = self.hidden.below(&buckets[bucket].edge).minus(hidden_before);
        let before = buckets[..bucket].iter().map(|bucket| bucket.tallies.of(self.part));
        before.fold(self.chunks_below[chunk], Tally::plus).minus(hidden)
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
        let sums = &self.snapshot.head.sums;
        let bucket = self.bucket(address);
        let in_chunk = sums.chunks()[address.chunk].buckets.get(address.bucket + 1);
        let end = in_chunk.map(|next| &next.edge).or_else(|| sums.end_of_chunk(address.chunk));
        let items = self.visible_items(bucket, end)?.ok_or(ReadError::DamagedEntry("sums"))?;
        let (range, below) = ((bucket.edge, end.copied()), self.below_bucket(address));
        let read = Rc::new(ReadBucket::new(range, below, items));
        let mut kept = self.read.borrow_mut();
        kept.swap(0, 1);
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

    fn for_each(
        &self,
        from: &Edge,
        count: usize,
        visit: &mut dyn FnMut(&Item),
    ) -> Result<(), ReadError> {
        let mut index = self.start.count + from.index as u64;
        let end = index + count as u64;
        while index < end {
            let read = self.read_at(index)?;
            let items = read.items_from(index);
            let items = &items[..items.len().min((end - index) as usize)];
            items.iter().for_each(&mut *visit);
            index += items.len() as u64;
        }
        Ok(())
    }
}
