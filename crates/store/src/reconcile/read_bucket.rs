//! A bucket whose items were read.

use std::cell::OnceCell;

use zeolite_reconcile::{Bound, Item, Sum};

use crate::sums::{ItemKey, Tally};

/// Items between two sums that are kept.
const CHECKPOINT_ITEMS: usize = 16;

/// A bucket with its visible items.
pub(super) struct ReadBucket {
    pub(super) edge: ItemKey,
    pub(super) end: Option<ItemKey>,
    /// What is visible below it.
    pub(super) below: Tally,
    /// In order.
    pub(super) items: Vec<Item>,
    /// The sum of the ids before every 16th item. Most buckets are only walked through.
    sums: OnceCell<Vec<Sum>>,
}

impl ReadBucket {
    pub(super) fn new(
        (edge, end): (ItemKey, Option<ItemKey>),
        below: Tally,
        items: Vec<Item>,
    ) -> Self {
        Self { edge, end, below, items, sums: OnceCell::new() }
    }

    pub(super) fn has_key(&self, key: &ItemKey) -> bool {
        self.edge <= *key && self.end.is_none_or(|end| *key < end)
    }

    pub(super) fn has_index(&self, index: u64) -> bool {
        index.checked_sub(self.below.count).is_some_and(|at| at < self.items.len() as u64)
    }

    /// The item with this index, and those after it.
    pub(super) fn items_from(&self, index: u64) -> &[Item] {
        &self.items[(index - self.below.count) as usize..]
    }

    /// What is visible below a place in this bucket.
    pub(super) fn below(&self, bound: &Bound) -> Tally {
        let count = self.items.partition_point(|item| bound.is_above(item));
        self.below.plus(Tally { count: count as u64, sum: self.sum_before(count) })
    }

    fn sum_before(&self, count: usize) -> Sum {
        let sums = self.sums.get_or_init(|| {
            let mut sum = Sum::ZERO;
            let mut sums = Vec::with_capacity(self.items.len() / CHECKPOINT_ITEMS + 1);
            for chunk in self.items.chunks(CHECKPOINT_ITEMS) {
                sums.push(sum);
                sum = sum_of(sum, chunk);
            }
            if self.items.len().is_multiple_of(CHECKPOINT_ITEMS) {
                sums.push(sum);
            }
            sums
        });
        let checkpoint = count / CHECKPOINT_ITEMS;
        sum_of(sums[checkpoint], &self.items[checkpoint * CHECKPOINT_ITEMS..count])
    }
}

fn sum_of(start: Sum, items: &[Item]) -> Sum {
    items.iter().fold(start, |sum, item| sum.with(&item.id))
}
