//! The sets that are kept: everything, and everything made in a span of time.

use zeolite_proto::limits::CREATED_AT_MAX;
use zeolite_proto::{Filter, Kind, Timestamp};
use zeolite_reconcile::{Bound, Edge, Item, Set, SortedSet};

use crate::error::ReadError;
use crate::scan::{Scan, ScanOptions};
use crate::slice::SliceBudget;
use crate::store::Store;

/// A set that the store keeps. Holding it costs nothing; each [view](Self::view) is of its moment.
#[derive(Clone)]
pub struct LiveSet {
    store: Store,
    since: Timestamp,
    until: Timestamp,
    /// The store's gated kinds are left out.
    is_open_only: bool,
}

impl LiveSet {
    /// The set of this filter, if it is one that is kept.
    pub(super) fn of(store: &Store, filter: &Filter, without_kinds: &[Kind]) -> Option<Self> {
        let is_window = filter.ids.is_none()
            && filter.authors.is_none()
            && filter.kinds.is_none()
            && filter.tags.is_empty()
            && filter.search.is_none()
            && filter.limit.is_none();
        let is_kept = without_kinds.is_empty() || without_kinds == store.options().gated_kinds;
        (is_window && is_kept && !store.0.is_read_only()).then(|| Self {
            store: store.clone(),
            since: filter.since.unwrap_or_default(),
            until: filter.until.unwrap_or(Timestamp(CREATED_AT_MAX)),
            is_open_only: !without_kinds.is_empty(),
        })
    }

    /// The set as it is at this moment, without what is expired at `now`. It holds a read
    /// transaction, so it should be dropped when a message is answered.
    pub fn view(&self, now: Timestamp) -> Result<LiveView<'_>, ReadError> {
        let filter =
            Filter { since: Some(self.since), until: Some(self.until), ..Filter::default() };
        let without: &[Kind] =
            if self.is_open_only { &self.store.options().gated_kinds } else { &[] };
        let mut items = Vec::new();
        let mut scan = Scan::new(&self.store, &[filter], ScanOptions::default())?;
        scan.slice(now, SliceBudget::UNLIMITED, &mut |_, event| {
            if without.binary_search(&event.kind()).is_err() {
                items.push(Item { time: event.created_at(), id: event.id() });
            }
            true
        })?;
        Ok(LiveView { set: SortedSet::new(items), _store: &self.store })
    }
}

/// A [`LiveSet`] as of one moment.
pub struct LiveView<'s> {
    set: SortedSet,
    _store: &'s Store,
}

impl Set for LiveView<'_> {
    type Error = ReadError;

    fn len(&self) -> usize {
        self.set.len()
    }

    fn seek(&self, from: &Edge, bound: &Bound) -> Result<Edge, ReadError> {
        Ok(self.set.seek(from, bound).unwrap_or_else(|never| match never {}))
    }

    fn edge_at(&self, at: usize) -> Result<Edge, ReadError> {
        Ok(self.set.edge_at(at).unwrap_or_else(|never| match never {}))
    }

    fn for_each(
        &self,
        from: &Edge,
        count: usize,
        visit: &mut dyn FnMut(&Item),
    ) -> Result<(), ReadError> {
        self.set.for_each(from, count, visit).unwrap_or_else(|never| match never {});
        Ok(())
    }
}
