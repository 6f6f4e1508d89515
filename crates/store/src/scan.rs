//! Stored events that filters match: newest first, in slices.
//!
//! A [`Scan`] is made of one stream for each filter and their union. A stream walks the index
//! groups that the planner chose and re-checks every event with the matcher; between slices it
//! holds a small buffer of entries and the place to go on from for each group, and nothing of the
//! store. What it answers is what was stored up to its ceiling and is alive when it is given.

mod candidate;
mod count;
mod cursor;
mod entry;
mod explain;
mod merge;
mod plan;
mod snapshot_source;
mod source;
mod stream;
mod union;

#[cfg(test)]
mod mock;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use zeolite_proto::{EventRef, Filter, Reader, Seq, Timestamp};

pub(crate) use count::is_told_by_index;
pub use count::{Count, count};
pub use explain::{Considered, Dimension, Estimate, Explanation};

use self::source::KeySource;
use self::stream::Stream;
use self::union::Union;
use crate::Store;
use crate::error::ReadError;
use crate::slice::SliceBudget;

/// What an operator allows a filter's `limit` to be. `None` is unlimited.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanOptions {
    /// The limit of a filter that has none.
    pub default_limit: Option<u64>,
    /// Larger limits are lowered to this one.
    pub max_limit: Option<u64>,
}

impl ScanOptions {
    fn limit(self, filter: &Filter) -> Option<u64> {
        match (filter.limit.or(self.default_limit), self.max_limit) {
            (Some(limit), Some(max)) => Some(limit.min(max)),
            (limit, max) => limit.or(max),
        }
    }
}

/// Whether a scan has more to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanState {
    /// There may be more: call [`Scan::slice`] again.
    More,
    /// Nothing more will come.
    Done {
        /// True if every stored event that matches and is visible was given (NIP-67 `finish`).
        /// False if a limit cut one off, or if finding that out would have cost too much.
        complete: bool,
    },
}

/// The stored answer to a REQ: the union of its filters' newest matches, each event once, newest
/// first and then lowest id first.
pub struct Scan {
    store: Store,
    ceiling: Seq,
    union: Union,
}

impl Scan {
    /// Plans the walks. Events stored from here on are not part of the answer, and neither are
    /// those that `reader` may not read.
    pub fn new(
        store: &Store,
        filters: &[Filter],
        options: ScanOptions,
        reader: &Arc<Reader>,
    ) -> Result<Self, ReadError> {
        let snapshot = store.snapshot()?;
        let ceiling = snapshot.ceiling();
        let union = build(&snapshot, filters, |filter| options.limit(filter), reader)?;
        Ok(Self { store: store.clone(), ceiling, union })
    }

    /// The newest event that can be part of the answer. Later ones belong to the live feed.
    pub fn ceiling(&self) -> Seq {
        self.ceiling
    }

    /// For each filter, whether events that it would have given so far were not for this reader.
    pub fn withheld(&self) -> impl Iterator<Item = bool> {
        self.union.streams().iter().map(Stream::has_withheld)
    }

    /// Gives the next events to `sink`, up to the budget or until `sink` answers false; the event
    /// it answers false to counts as given. Events that are expired at `now` are left out.
    pub fn slice(
        &mut self,
        now: Timestamp,
        budget: SliceBudget,
        sink: &mut dyn FnMut(Seq, EventRef<'_>) -> bool,
    ) -> Result<ScanState, ReadError> {
        let snapshot = self.store.snapshot()?.with_ceiling(self.ceiling);
        self.union.slice(&snapshot, now, budget, sink)
    }

    /// How each filter is served and what that has cost so far.
    pub fn explain(&self) -> Vec<Explanation> {
        self.union.streams().iter().map(|stream| stream.explanation().clone()).collect()
    }
}

fn build(
    source: &impl KeySource,
    filters: &[Filter],
    limit: impl Fn(&Filter) -> Option<u64>,
    reader: &Arc<Reader>,
) -> Result<Union, ReadError> {
    let streams = filters.iter().map(|filter| Stream::new(filter, limit(filter), reader, source));
    Ok(Union::new(streams.collect::<Result<_, _>>()?))
}
