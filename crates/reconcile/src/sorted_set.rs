//! A set in memory.

use std::convert::Infallible;

use crate::bound::{Bound, Item};
use crate::set::{Edge, Set};
use crate::sum::Sum;

/// Items between two sums that are kept: one byte of sums per item, and a sum of any range costs
/// at most twice so many additions.
const CHECKPOINT_ITEMS: usize = 32;

/// A sorted vector, with the sum of the ids below every 32nd item: 41 bytes an item.
#[derive(Clone, Debug, Default)]
pub struct SortedSet {
    items: Vec<Item>,
    /// The sum of the ids below item `CHECKPOINT_ITEMS * n`.
    checkpoints: Vec<Sum>,
    total: Sum,
}

impl SortedSet {
    /// The set of these items, in whatever order they come and however often. Cheap when they are
    /// sorted already, either way round.
    pub fn new(mut items: Vec<Item>) -> Self {
        items.sort_unstable();
        items.dedup();
        let mut checkpoints = Vec::with_capacity(items.len().div_ceil(CHECKPOINT_ITEMS));
        let mut total = Sum::ZERO;
        for chunk in items.chunks(CHECKPOINT_ITEMS) {
            checkpoints.push(total);
            total = chunk.iter().fold(total, |sum, item| sum.with(&item.id));
        }
        Self { items, checkpoints, total }
    }

    /// The items, in order.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The memory it holds.
    pub fn memory_bytes(&self) -> usize {
        self.items.capacity() * size_of::<Item>() + self.checkpoints.capacity() * size_of::<Sum>()
    }

    /// The sum of the ids below `index`, which is at or after the edge `from`.
    fn sum_below(&self, from: &Edge, index: usize) -> Sum {
        if index == self.items.len() {
            return self.total;
        }
        let checkpoint = index / CHECKPOINT_ITEMS;
        let (start, sum) = match checkpoint * CHECKPOINT_ITEMS {
            start if start > from.index => (start, self.checkpoints[checkpoint]),
            _ => (from.index, from.sum),
        };
        self.items[start..index].iter().fold(sum, |sum, item| sum.with(&item.id))
    }

    /// The index of the first item from `from` on that is not below `bound`, searched in steps that
    /// double, as it is usually near.
    fn index_of(&self, from: usize, bound: &Bound) -> usize {
        let rest = &self.items[from..];
        let mut step = 1;
        while step < rest.len() && bound.is_above(&rest[step]) {
            step *= 2;
        }
        let (low, high) = (step / 2, (step + 1).min(rest.len()));
        from + low + rest[low..high].partition_point(|item| bound.is_above(item))
    }
}

impl FromIterator<Item> for SortedSet {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> Self {
        Self::new(items.into_iter().collect())
    }
}

impl Set for SortedSet {
    type Error = Infallible;

    /// Items lie side by side: 512 of them are 20 kB, about what 15 cold places cost.
    const WALK_ITEMS_MAX: usize = 512;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn seek(&self, from: &Edge, bound: &Bound) -> Result<Edge, Infallible> {
        let index = match bound.is_infinity() {
            true => self.items.len(),
            false => self.index_of(from.index, bound),
        };
        Ok(Edge { bound: *bound, index, sum: self.sum_below(from, index) })
    }

    fn edge_at(&self, at: usize) -> Result<Edge, Infallible> {
        let bound = Bound::between(&self.items[at - 1], &self.items[at]);
        Ok(Edge { bound, index: at, sum: self.sum_below(&Edge::START, at) })
    }

    fn for_each(
        &self,
        from: &Edge,
        count: usize,
        visit: &mut dyn FnMut(&Item),
    ) -> Result<(), Infallible> {
        self.items[from.index..][..count].iter().for_each(visit);
        Ok(())
    }
}
