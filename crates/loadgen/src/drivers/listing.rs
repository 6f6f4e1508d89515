//! Everything that a relay shows, page by page: for relays of any make, without NIP-77.

use std::time::Duration;

use rustc_hash::FxHashSet;
use zeolite_proto::{EventId, Timestamp};

use super::ask::Asker;
use super::error::DriveError;
use crate::socket::find_value;

/// Walks into the past. `until` is inclusive, so pages overlap by a second and repeats are dropped;
/// a second with more events than a page holds is stepped over, which `stepped_over` counts.
pub(crate) struct Pager {
    /// Members of the filter, without braces.
    conditions: String,
    page: usize,
    until: Option<u64>,
    seen: FxHashSet<EventId>,
    found: Vec<EventId>,
    stepped_over: u64,
    doubled: u64,
}

/// One page.
pub(crate) struct Page {
    /// From the request to EOSE.
    pub(crate) done: Duration,
    /// There is nothing older.
    pub(crate) is_last: bool,
}

impl Pager {
    /// Pages of so many events of those that these members of a filter select.
    pub(crate) fn new(conditions: &str, page: usize) -> Self {
        Self {
            conditions: conditions.into(),
            page,
            until: None,
            seen: FxHashSet::default(),
            found: Vec::new(),
            stepped_over: 0,
            doubled: 0,
        }
    }

    /// Asks for the next page and shows every new event to `on_event`.
    pub(crate) async fn next(
        &mut self,
        asker: &mut Asker,
        mut on_event: impl FnMut(EventId, &[u8]),
    ) -> Result<Page, DriveError> {
        let filter = self.filter();
        let (mut oldest, mut new) = (None, 0_usize);
        let Self { seen, found, .. } = self;
        let answer = asker
            .ask_with(&filter, |id, json| {
                if let Some(Timestamp(time)) = created_at(json) {
                    oldest = Some(oldest.map_or(time, |oldest: u64| oldest.min(time)));
                }
                if seen.insert(id) {
                    new += 1;
                    found.push(id);
                    on_event(id, json);
                }
            })
            .await?;
        let distinct: FxHashSet<_> = answer.ids.iter().collect();
        self.doubled += (answer.ids.len() - distinct.len()) as u64;
        if let Some(text) = answer.refusal {
            return Err(DriveError::Refused { what: filter, text });
        }
        Ok(Page { done: answer.done, is_last: self.step(oldest, new, answer.ids.len()) })
    }

    /// Chooses where the next page begins; true if there is none.
    fn step(&mut self, oldest: Option<u64>, new: usize, length: usize) -> bool {
        let Some(oldest) = oldest else { return true };
        if new > 0 {
            self.until = Some(oldest);
            return false;
        }
        if length >= self.page {
            self.stepped_over += 1;
        }
        self.until = oldest.checked_sub(1);
        self.until.is_none()
    }

    fn filter(&self) -> String {
        let mut members = vec![format!("\"limit\":{}", self.page)];
        members.extend((!self.conditions.is_empty()).then(|| self.conditions.clone()));
        members.extend(self.until.map(|until| format!("\"until\":{until}")));
        format!("{{{}}}", members.join(","))
    }

    /// Seconds that may hold more than was seen of them.
    pub(crate) fn stepped_over(&self) -> u64 {
        self.stepped_over
    }

    /// Events that came more than once in one page.
    pub(crate) fn doubled(&self) -> u64 {
        self.doubled
    }

    /// The ids, each once, in order of arrival.
    pub(crate) fn into_found(self) -> Vec<EventId> {
        self.found
    }
}

/// The time that an event's JSON claims.
pub(crate) fn created_at(event: &[u8]) -> Option<Timestamp> {
    let digits = find_value(event, 0, b"created_at")?;
    std::str::from_utf8(digits).ok()?.parse().ok().map(Timestamp)
}
