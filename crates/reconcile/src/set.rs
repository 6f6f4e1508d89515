//! What a peer must be able to tell about the items it holds.

use crate::bound::{Bound, Item};
use crate::sum::{Fingerprint, Sum};

/// A cut through a set: how many items lie below a bound, and the sum of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where the set is cut.
    pub bound: Bound,
    /// How many items lie below: the index of the first that does not.
    pub index: usize,
    /// The sum of the ids below.
    pub sum: Sum,
}

impl Edge {
    /// Below everything.
    pub const START: Self = Self { bound: Bound::ZERO, index: 0, sum: Sum::ZERO };

    /// How many items lie between this edge and a later one.
    pub fn count_to(&self, upper: &Self) -> usize {
        upper.index - self.index
    }

    /// The fingerprint of the items between this edge and a later one.
    pub fn fingerprint_to(&self, upper: &Self) -> Fingerprint {
        Fingerprint::new(&upper.sum.minus(self.sum), self.count_to(upper))
    }
}

/// Items in their order, without doubles, that do not change while a message is answered.
///
/// Access is by edges, which carry everything that is known about a place, so that a set may go on
/// from there: it finds the bound in its index, or adds a few ids to the sum. Within one message
/// edges come in ascending order, apart from those of a split, which come in ascending order
/// themselves.
///
/// What answering costs: one [`seek`](Self::seek) for each range that comes in; for each range that
/// is split 15 times [`edge_near`](Self::edge_near), or one [`for_each`](Self::for_each) when it has
/// at most [`WALK_ITEMS_MAX`](Self::WALK_ITEMS_MAX) items; one `for_each` for each range that is
/// listed. A session over 1M items that all differ makes about 60,000 seeks and 4,000 splits of
/// large ranges, and in limited frames a new split from the top for every full one, so both should
/// take microseconds.
pub trait Set {
    /// Why an item could not be read.
    type Error;

    /// A range with at most so many items is split by walking through it once, a larger one by
    /// asking for 15 edges. The break-even of a walk against 15 places.
    const WALK_ITEMS_MAX: usize = 4_096;

    /// How many items there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The edge at `bound`, which is not below `from`. With [`Bound::INFINITY`] it is the end of the
    /// set, which should cost nothing to find.
    ///
    /// Expected: microseconds, whatever the distance from `from`; less when it is near.
    fn seek(&self, from: &Edge, bound: &Bound) -> Result<Edge, Self::Error>;

    /// The edge between the items `at - 1` and `at`, with the [shortest bound](Bound::between).
    /// `at` is above 0 and below [`len`](Self::len).
    ///
    /// Expected: microseconds.
    fn edge_at(&self, at: usize) -> Result<Edge, Self::Error>;

    /// An edge that costs little, at most `slack` items before or behind [`edge_at`](Self::edge_at)'s.
    /// Both `at - slack` and `at + slack` are above 0 and below [`len`](Self::len).
    ///
    /// A set that keeps sums gives the nearest place of which it knows the sum. By default it is the
    /// exact place.
    fn edge_near(&self, at: usize, slack: usize) -> Result<Edge, Self::Error> {
        let _ = slack;
        self.edge_at(at)
    }

    /// Shows `count` items, from `from` on, in ascending order. So many are there.
    ///
    /// Expected: what a [`seek`](Self::seek) costs, and then some ten nanoseconds for each item.
    fn for_each(
        &self,
        from: &Edge,
        count: usize,
        visit: &mut dyn FnMut(&Item),
    ) -> Result<(), Self::Error>;
}
