//! Sets that are built for one session.

use zeolite_proto::{Filter, Timestamp};
use zeolite_reconcile::{Item, SortedSet};

use super::SetOptions;
use crate::Count;
use crate::error::ReadError;
use crate::scan::{Scan, ScanOptions, ScanState, is_told_by_index};
use crate::slice::SliceBudget;
use crate::store::Store;

/// A set in the making, in slices like those of a [`Scan`].
pub struct SetBuild {
    /// While there is one: index entries are counted, so that a set that is too large is not built
    /// in vain (case 15).
    count: Option<Count>,
    scan: Scan,
    items: Vec<Item>,
    items_max: usize,
    /// How many items are wanted, newest first.
    limit: usize,
}

/// How far a [`SetBuild`] is.
pub enum BuildState {
    /// There is more to do: call [`SetBuild::slice`] again.
    More,
    /// The set.
    Done(SortedSet),
    /// It would have more items than [`SetOptions::items_max`]. What was built is gone.
    TooMany,
}

impl SetBuild {
    pub(super) fn new(
        store: &Store,
        filter: &Filter,
        options: SetOptions<'_>,
    ) -> Result<Self, ReadError> {
        let SetOptions { reader, items_max } = options;
        let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
        // The limit is held here, so that one more item tells that there are too many.
        let filters = [Filter { limit: None, ..filter.clone() }];
        let is_counted = limit > items_max && is_told_by_index(filter);
        Ok(Self {
            count: is_counted.then(|| Count::new(store, &filters, reader)).transpose()?,
            scan: Scan::new(store, &filters, ScanOptions::default(), reader)?,
            items: Vec::new(),
            items_max,
            limit,
        })
    }

    /// Goes on with the work, within the budget. Events that are expired at `now` are left out.
    /// After anything but [`BuildState::More`] there is nothing to go on with.
    pub fn slice(&mut self, now: Timestamp, budget: SliceBudget) -> Result<BuildState, ReadError> {
        if let Some(count) = &mut self.count {
            let total = count.slice(now, budget)?;
            if count.counted() > self.items_max as u64 {
                return Ok(BuildState::TooMany);
            }
            if total.is_some() {
                self.count = None;
            }
            return Ok(BuildState::More);
        }
        if !self.gather(now, budget)? {
            return Ok(BuildState::More);
        }
        let items = std::mem::take(&mut self.items);
        Ok(match items.len() > self.items_max {
            true => BuildState::TooMany,
            false => BuildState::Done(SortedSet::new(items)),
        })
    }

    /// The memory that it holds at this moment.
    pub fn memory_bytes(&self) -> usize {
        self.items.capacity() * size_of::<Item>()
    }

    /// True when all items are there, or one too many.
    fn gather(&mut self, now: Timestamp, budget: SliceBudget) -> Result<bool, ReadError> {
        let items = &mut self.items;
        let wanted = self.limit.min(self.items_max.saturating_add(1));
        if items.len() >= wanted {
            return Ok(true);
        }
        let state = self.scan.slice(now, budget, &mut |_, event| {
            items.push(Item { time: event.created_at(), id: event.id() });
            items.len() < wanted
        })?;
        Ok(state != ScanState::More || items.len() >= wanted)
    }
}
