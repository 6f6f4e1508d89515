//! The sets that are kept: everything, and everything made in a span of time.

use zeolite_proto::limits::CREATED_AT_MAX;
use zeolite_proto::{Filter, Kind, Timestamp};

use super::view::LiveView;
use crate::error::ReadError;
use crate::store::Store;
use crate::sums::Part;

/// A set that the store keeps. Holding it costs nothing; each [view](Self::view) is of its moment.
#[derive(Clone)]
pub struct LiveSet {
    store: Store,
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
    pub(super) part: Part,
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
        let part = match without_kinds {
            [] => Part::All,
            _ => Part::Open,
        };
        let is_kept = part == Part::All || without_kinds == store.options().gated_kinds;
        // Beside a writer sums cannot follow what is removed.
        (is_window && is_kept && !store.0.is_read_only()).then(|| Self {
            store: store.clone(),
            since: filter.since.unwrap_or_default(),
            until: filter.until.unwrap_or(Timestamp(CREATED_AT_MAX)),
            part,
        })
    }

    /// The set as it is at this moment, without what is expired at `now`: exactly what a scan would
    /// give. It holds a read transaction, so it should be dropped when a message is answered.
    ///
    /// Expired events that are not removed yet, and those that a request to vanish is still to
    /// remove, are looked up each time; for more than 65,536 of them there is no view
    /// ([`ReadError::Unsettled`]).
    pub fn view(&self, now: Timestamp) -> Result<LiveView<'_>, ReadError> {
        LiveView::take(self, &self.store.0, now)
    }
}
