//! One message in the making, which both roles share.

use crate::bound::{Bound, Item};
use crate::limits::{BUCKETS, FrameLimit, LIST_ITEMS_MAX, SPLIT_BYTES_MIN};
use crate::set::{Edge, Set};
use crate::sum::{Fingerprint, Sum};
use crate::writer::Writer;

/// The message that one side writes while it goes through the ranges of the other's.
pub(crate) struct Turn<'s, S: Set> {
    pub(crate) set: &'s S,
    writer: Writer,
    fill_bytes_max: usize,
    /// What may be filled with splits.
    split_bytes_max: usize,
    split_bytes: usize,
    /// The last bound that was written: the next range on the wire starts here. What is said of the
    /// rest of a cut frame must be said from here on, or items between are never found (N-16).
    written: Edge,
}

/// Whether the frame has room for further ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Left,
    Full,
}

impl<'s, S: Set> Turn<'s, S> {
    pub(crate) fn new(set: &'s S, frame: FrameLimit) -> Self {
        Self {
            set,
            writer: Writer::new(),
            fill_bytes_max: frame.fill_bytes_max(),
            split_bytes_max: usize::MAX,
            split_bytes: 0,
            written: Edge::START,
        }
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.writer.finish()
    }

    /// Says no more by splits than the peer can ask about in a message of `bytes`.
    pub(crate) fn bound_splits(&mut self, bytes: usize) {
        self.split_bytes_max = bytes.max(SPLIT_BYTES_MIN);
    }

    /// Nothing more is to be said up to `bound`.
    pub(crate) fn skip(&mut self, bound: &Bound) {
        self.writer.skip(bound);
    }

    /// Up to where anything was said that is to be answered.
    pub(crate) fn written(&self) -> Bound {
        self.written.bound
    }

    /// Says more about a range whose fingerprints differ: its ids, or the fingerprints of its
    /// parts. When that does not fit nothing is said of it.
    pub(crate) fn split(&mut self, lower: &Edge, upper: &Edge) -> Result<Room, S::Error> {
        let (before, start) = (self.writer.mark(), self.writer.len());
        let count = lower.count_to(upper);
        if count <= LIST_ITEMS_MAX {
            self.list(lower, &upper.bound, count)?;
        } else if count <= S::WALK_ITEMS_MAX {
            self.split_by_walk(lower, upper)?;
        } else {
            self.split_by_edges(lower, upper)?;
        }
        self.split_bytes += self.writer.len() - start;
        if self.writer.len() > self.fill_bytes_max || self.split_bytes > self.split_bytes_max {
            self.writer.back_to(before);
            return Ok(Room::Full);
        }
        self.written = *upper;
        Ok(Room::Left)
    }

    /// Lists the ids of a range, as many as the frame has room for. What is behind them is not said.
    pub(crate) fn list_cut(&mut self, lower: &Edge, upper: &Edge) -> Result<Room, S::Error> {
        let count = lower.count_to(upper);
        let room = self.fill_bytes_max.saturating_sub(self.writer.len()) / 32 + 1;
        if count <= room {
            self.list(lower, &upper.bound, count)?;
            self.written = *upper;
        } else {
            self.list_first(lower, room)?;
        }
        Ok(if self.writer.len() > self.fill_bytes_max { Room::Full } else { Room::Left })
    }

    fn list(&mut self, lower: &Edge, bound: &Bound, count: usize) -> Result<(), S::Error> {
        let Self { set, writer, .. } = self;
        writer.ids(bound, count);
        match count {
            0 => Ok(()),
            _ => set.for_each(lower, count, &mut |item| writer.id(&item.id.0)),
        }
    }

    /// Lists the first `count` ids of a range that has more.
    fn list_first(&mut self, lower: &Edge, count: usize) -> Result<(), S::Error> {
        let mut items: Vec<Item> = Vec::with_capacity(count + 1);
        self.set.for_each(lower, count + 1, &mut |item| items.push(*item))?;
        let next = items.pop().expect("a set shows as many items as it is asked for");
        let bound = Bound::at_item(&next);
        self.writer.ids(&bound, count);
        let mut sum = lower.sum;
        for item in &items {
            self.writer.id(&item.id.0);
            sum = sum.with(&item.id);
        }
        self.written = Edge { bound, index: lower.index + count, sum };
        Ok(())
    }

    fn split_by_edges(&mut self, lower: &Edge, upper: &Edge) -> Result<(), S::Error> {
        // Two neighbours that lean towards each other leave an item between them.
        let slack = (lower.count_to(upper) / BUCKETS - 1) / 2;
        let mut last = *lower;
        for at in bucket_ends(lower.index, upper.index) {
            let is_last = at == upper.index;
            let edge = if is_last { *upper } else { self.set.edge_near(at, slack)? };
            debug_assert!(last.index < edge.index && edge.index.abs_diff(at) <= slack || is_last);
            self.writer.fingerprint(&edge.bound, &last.fingerprint_to(&edge));
            last = edge;
        }
        Ok(())
    }

    fn split_by_walk(&mut self, lower: &Edge, upper: &Edge) -> Result<(), S::Error> {
        let Self { set, writer, .. } = self;
        let mut ends = bucket_ends(lower.index, upper.index);
        let mut end = ends.next().expect("there are 16 buckets");
        let mut start = lower.index;
        let (mut at, mut sum, mut last) = (start, Sum::ZERO, None);
        set.for_each(lower, lower.count_to(upper), &mut |item: &Item| {
            if let Some(last) = &last
                && at == end
            {
                let bound = Bound::between(last, item);
                writer.fingerprint(&bound, &Fingerprint::new(&sum, end - start));
                start = end;
                sum = Sum::ZERO;
                end = ends.next().expect("the last bucket ends with the range");
            }
            sum = sum.with(&item.id);
            last = Some(*item);
            at += 1;
        })?;
        writer.fingerprint(&upper.bound, &Fingerprint::new(&sum, upper.index - start));
        Ok(())
    }

    /// Ends a full frame with one word on everything behind the last bound that was written.
    pub(crate) fn close(&mut self) -> Result<(), S::Error> {
        self.writer.forget_skip();
        if self.written.bound.is_infinity() {
            return Ok(());
        }
        let end = self.set.seek(&self.written, &Bound::INFINITY)?;
        match self.written.count_to(&end) {
            // A fingerprint of nothing could be taken for agreement by a peer that starts its own
            // range elsewhere (N-11, N-16).
            0 => self.writer.ids(&end.bound, 0),
            _ => self.writer.fingerprint(&end.bound, &self.written.fingerprint_to(&end)),
        }
        self.written = end;
        Ok(())
    }
}

/// Where the 16 buckets of a range end. The first ones are one item larger (N-11).
fn bucket_ends(lower: usize, upper: usize) -> impl Iterator<Item = usize> {
    let count = upper - lower;
    let (size, larger) = (count / BUCKETS, count % BUCKETS);
    (1..=BUCKETS).map(move |bucket| lower + bucket * size + bucket.min(larger))
}
