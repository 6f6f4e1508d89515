//! Whether an answer is the right one.

use std::collections::HashSet;

use zeolite_proto::{Event, EventId, Filter, Timestamp};

use super::table::{Presence, World};
use crate::drivers::facts::name_some;
use crate::row::Row;

/// What a filter must bring: everything that matches, newest first.
pub(super) struct Expected<'w> {
    matching: Vec<&'w (Event, Presence)>,
    limit: usize,
}

impl<'w> Expected<'w> {
    /// Looks at every event of the corpus.
    pub(super) fn new(world: &'w World, filter: &Filter) -> Self {
        let limit = filter.limit.and_then(|limit| usize::try_from(limit).ok());
        let matching =
            world.events().iter().filter(|(event, _)| filter.matches(event.view())).collect();
        Self { matching, limit: limit.unwrap_or(usize::MAX) }
    }

    /// The smallest and the largest right answer to a COUNT without limit.
    pub(super) fn count(&self) -> (u64, u64) {
        let required = |(_, presence): &&&(Event, Presence)| *presence == Presence::Required;
        let required = self.matching.iter().filter(required).count();
        (required as u64, self.matching.len() as u64)
    }

    /// Verifies an answer: the newest `limit` matches, each once, newest first. Which events of
    /// the second where the limit cuts come is left to the relay.
    pub(super) fn check(&self, row: &mut Row, found: &[EventId]) {
        let got: HashSet<_> = found.iter().collect();
        let counts = |event: &&&(Event, Presence)| {
            event.1 == Presence::Required || got.contains(&event.0.view().id())
        };
        let candidates: Vec<_> = self.matching.iter().filter(counts).collect();
        let length = candidates.len().min(self.limit);
        let cut = if candidates.len() > self.limit {
            candidates[length - 1].0.view().created_at()
        } else {
            Timestamp(0)
        };
        let may: HashSet<_> = candidates
            .iter()
            .filter(|(event, _)| event.view().created_at() >= cut)
            .map(|(event, _)| event.view().id())
            .collect();
        let missing: Vec<_> = candidates
            .iter()
            .filter(|(event, _)| event.view().created_at() > cut)
            .map(|(event, _)| event.view().id())
            .filter(|id| !got.contains(id))
            .collect();
        let unexpected: Vec<_> = found.iter().filter(|id| !may.contains(id)).copied().collect();
        row.check("events", length, found.len())
            .check("missing", 0, missing.len())
            .check("unexpected", 0, unexpected.len())
            .check("doubled", 0, found.len() - got.len())
            .check("out_of_order", 0, self.out_of_order(found));
        name_some(row, "missing", &missing);
        name_some(row, "unexpected", &unexpected);
    }

    /// Events that come after an older one.
    fn out_of_order(&self, found: &[EventId]) -> usize {
        let times: std::collections::HashMap<_, _> = self
            .matching
            .iter()
            .map(|(event, _)| (event.view().id(), event.view().created_at()))
            .collect();
        let times: Vec<_> = found.iter().filter_map(|id| times.get(id)).collect();
        times.windows(2).filter(|pair| pair[0] < pair[1]).count()
    }
}
