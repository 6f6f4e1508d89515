//! Events that the sums count and nobody may see: expired ones, and those that a request to vanish
//! is still to remove.

use zeolite_proto::{EventRef, TagStr, Timestamp};
use zeolite_reconcile::Sum;

use super::{ItemKey, Part, Tally};
use crate::error::ReadError;
use crate::keys::{IndexKey, Prefix};
use crate::limits::HIDDEN_LOOKS_MAX;
use crate::snapshot::Snapshot;

/// The hidden items of a snapshot, in order.
#[derive(Debug, Default)]
pub(crate) struct Hidden {
    keys: Vec<ItemKey>,
    /// For each item, the sum of the ids below it.
    sums: Vec<Sum>,
    total: Tally,
}

impl Hidden {
    /// Finds them. `None` if there may be so many that looking for them takes too long.
    pub(crate) fn gather(
        snapshot: &Snapshot<'_>,
        now: Timestamp,
        part: Part,
    ) -> Result<Option<Self>, ReadError> {
        let keys = &snapshot.inner.keys;
        let mut search = Search { snapshot, part, looks_left: HIDDEN_LOOKS_MAX, found: Vec::new() };
        let mut is_whole = search.walk(keys.expires(), now, |event| event.is_expired(now))?;
        for vanish in snapshot.head.vanishing.iter() {
            let own_urls = &snapshot.inner.own_urls;
            let p = keys.tag(b'p', TagStr::Hex(&vanish.author.0));
            for prefix in [keys.author(&vanish.author), p] {
                is_whole = is_whole
                    && search.walk(prefix, vanish.until, |event| vanish.wipes(event, own_urls))?;
            }
        }
        Ok(is_whole.then(|| Self::new(search.found)))
    }

    fn new(mut keys: Vec<ItemKey>) -> Self {
        keys.sort_unstable();
        keys.dedup();
        let mut hidden = Self { sums: Vec::with_capacity(keys.len()), ..Self::default() };
        for key in &keys {
            hidden.sums.push(hidden.total.sum);
            hidden.total = hidden.total.plus(Tally::one(&key.id()));
        }
        Self { keys, ..hidden }
    }

    /// What of it is below this key.
    pub(crate) fn below(&self, key: &ItemKey) -> Tally {
        let count = self.keys.partition_point(|hidden| hidden < key);
        match self.sums.get(count) {
            Some(sum) => Tally { count: count as u64, sum: *sum },
            None => self.total,
        }
    }

    /// All of it.
    pub(crate) fn total(&self) -> Tally {
        self.total
    }

    pub(crate) fn contains(&self, key: &ItemKey) -> bool {
        self.keys.binary_search(key).is_ok()
    }
}

struct Search<'c, 's> {
    snapshot: &'c Snapshot<'s>,
    part: Part,
    looks_left: usize,
    found: Vec<ItemKey>,
}

impl Search<'_, '_> {
    /// Looks at the events of an index group up to a time. False if there are too many.
    fn walk(
        &mut self,
        prefix: Prefix,
        until: Timestamp,
        is_hidden: impl Fn(EventRef<'_>) -> bool,
    ) -> Result<bool, ReadError> {
        let mut keys: Vec<IndexKey> = Vec::new();
        let (below, least) = (prefix.above(until), prefix.bottom(Timestamp(0)));
        if self.snapshot.index_below(&below, &least, self.looks_left, &mut keys)? {
            return Ok(false);
        }
        self.looks_left -= keys.len();
        let gated_kinds = &self.snapshot.inner.options.gated_kinds;
        for key in keys {
            let event = match self.snapshot.get_unwiped(key.seq()) {
                Err(ReadError::Damaged { .. }) => None,
                found => found?,
            };
            let is_meant = |event: &EventRef<'_>| {
                is_hidden(*event)
                    && (self.part == Part::All || gated_kinds.binary_search(&event.kind()).is_err())
            };
            self.found.extend(event.filter(is_meant).map(ItemKey::of));
        }
        Ok(true)
    }
}
