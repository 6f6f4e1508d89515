//! The events that one filter matches, in answer order.

use std::sync::Arc;

use zeolite_proto::limits::CREATED_AT_MAX;
use zeolite_proto::{EventId, EventRef, Filter, Reader, Timestamp};

use super::cursor::{Cursor, Window};
use super::entry::Entry;
use super::explain::Explanation;
use super::merge::Merge;
use super::plan::plan;
use super::source::KeySource;
use crate::error::ReadError;
use crate::limits::LOOKAHEAD_ENTRIES_MAX;
use crate::slice::Meter;

/// What looking for the next match came to.
pub(crate) enum Found<'s> {
    /// The next match.
    Event(Entry, EventRef<'s>),
    /// There is none.
    Ended,
    /// The slice's time is over; call again in the next one.
    Paused,
}

/// One filter's walk.
pub(crate) struct Stream {
    filter: Filter,
    /// For whom; what others may read is passed over and uses up no limit (case 39).
    reader: Arc<Reader>,
    /// A match within the limit was passed over.
    has_withheld: bool,
    window: Window,
    feed: Feed,
    /// A match that was found in an earlier slice and not taken.
    put_back: Option<Entry>,
    /// How many more matches this filter may give; `None` is unlimited.
    left: Option<u64>,
    /// Entries looked at beyond the limit since the last match.
    lookahead_entries: u64,
    /// The number of looks at which the plan is doubted, and how many more until the next time.
    doubt: Option<(u64, u64)>,
    explanation: Explanation,
}

/// Where a stream's entries come from.
pub(crate) enum Feed {
    /// The ids from the given place on are still to be found.
    Ids(usize, Vec<Entry>),
    /// Walks over index groups.
    Walks(Merge),
}

impl Stream {
    /// Plans the walk.
    pub(crate) fn new(
        filter: &Filter,
        limit: Option<u64>,
        reader: &Arc<Reader>,
        source: &impl KeySource,
    ) -> Result<Self, ReadError> {
        let newest = filter.until.unwrap_or(Timestamp(CREATED_AT_MAX));
        let oldest = filter.since.unwrap_or_default();
        let window = Window { below: Entry::newest_at(newest), oldest };
        let plan = plan(filter, limit, source, window)?;
        let (chosen, considered) = (plan.chosen, plan.considered);
        Ok(Self {
            filter: filter.clone(),
            reader: Arc::clone(reader),
            has_withheld: false,
            window,
            feed: plan.feed,
            put_back: None,
            left: limit,
            lookahead_entries: 0,
            doubt: plan.looks_before_doubt.map(|looks| (looks, looks)),
            explanation: Explanation { chosen, considered, replans: 0, looked: 0, matched: 0 },
        })
    }

    /// How the filter is served and what that has cost so far.
    pub(crate) fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// True if a match that was due was not for this reader.
    pub(crate) fn has_withheld(&self) -> bool {
        self.has_withheld
    }

    /// True when matches found from here on are beyond the filter's limit.
    pub(crate) fn is_past_limit(&self) -> bool {
        self.left == Some(0)
    }

    /// Counts a match that was given.
    pub(crate) fn take(&mut self) {
        self.explanation.matched += 1;
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(1);
        }
    }

    /// Keeps a match for the next slice.
    pub(crate) fn put_back(&mut self, entry: Entry) {
        self.put_back = Some(entry);
    }

    /// True when looking beyond the limit has cost enough.
    pub(crate) fn is_lookahead_over(&self) -> bool {
        self.lookahead_entries >= LOOKAHEAD_ENTRIES_MAX
    }

    /// Walks to the next event that matches, is not expired and may be read.
    pub(crate) fn find<'s>(
        &mut self,
        source: &'s impl KeySource,
        now: Timestamp,
        meter: &mut Meter,
    ) -> Result<Found<'s>, ReadError> {
        if let Some(entry) = self.put_back.take()
            && let Some(event) = self.look(source, entry, now)?
        {
            return Ok(Found::Event(entry, event));
        }
        loop {
            if !self.open(source, meter)? {
                return Ok(Found::Paused);
            }
            let Feed::Walks(merge) = &mut self.feed else { unreachable!("the feed is open") };
            let Some(entry) = merge.next(source, self.window)? else { return Ok(Found::Ended) };
            self.explanation.looked += 1;
            self.lookahead_entries += u64::from(self.is_past_limit());
            if let Some(event) = self.look(source, entry, now)? {
                self.lookahead_entries = 0;
                return Ok(Found::Event(entry, event));
            }
            if self.is_lookahead_over() {
                return Ok(Found::Ended);
            }
            self.doubt(source, entry)?;
            if meter.is_over() {
                return Ok(Found::Paused);
            }
        }
    }

    /// Plans again from behind `entry` if the walk has met far more entries than it was chosen
    /// for: the index that was thinnest at its newest end need not be so further back.
    fn doubt(&mut self, source: &impl KeySource, entry: Entry) -> Result<(), ReadError> {
        let Some((at, spacing)) = self.doubt else { return Ok(()) };
        let Feed::Walks(merge) = &self.feed else { return Ok(()) };
        if self.explanation.looked < at || !merge.is_between_groups() {
            return Ok(());
        }
        let window = Window { below: entry.end_of_group(), ..self.window };
        let plan = plan(&self.filter, self.left, source, window)?;
        if plan.chosen != self.explanation.chosen {
            self.window = window;
            self.feed = plan.feed;
            self.explanation.chosen = plan.chosen;
            self.explanation.considered = plan.considered;
            self.explanation.replans += 1;
        }
        // Twice as rarely each time, so that plans stay a small part of the cost.
        let spacing = (2 * spacing).max(plan.looks_before_doubt.unwrap_or(0));
        self.doubt = Some((self.explanation.looked + spacing, spacing));
        Ok(())
    }

    fn look<'s>(
        &mut self,
        source: &'s impl KeySource,
        entry: Entry,
        now: Timestamp,
    ) -> Result<Option<EventRef<'s>>, ReadError> {
        let event = source.event(entry.seq())?;
        let matching = event.filter(|event| self.filter.matches(*event) && !event.is_expired(now));
        let Some(event) = matching else { return Ok(None) };
        let may_read = self.reader.may_read(event);
        self.has_withheld |= !may_read && !self.is_past_limit();
        Ok(may_read.then_some(event))
    }

    /// Finds the first entry of every walk. False when the time was over before.
    fn open(&mut self, source: &impl KeySource, meter: &mut Meter) -> Result<bool, ReadError> {
        if let Feed::Ids(next, found) = &mut self.feed {
            let ids: &[EventId] = self.filter.ids.as_deref().unwrap_or_default();
            while let Some(id) = ids.get(*next) {
                *next += 1;
                let entry = source.find_id(id)?;
                found.extend(entry);
                if meter.is_over() {
                    return Ok(false);
                }
            }
            let cursor = Cursor::listed(std::mem::take(found), self.window);
            self.feed = Feed::Walks(Merge::new(vec![cursor]));
        }
        if let Feed::Walks(merge) = &mut self.feed {
            while merge.open_one(source, self.window)? {
                if meter.is_over() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
