//! The events that one filter matches, in answer order.

use zeolite_proto::{EventId, EventRef, Filter, Timestamp};

use super::cursor::{Cursor, Window};
use super::entry::Entry;
use super::merge::Merge;
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
    window: Window,
    feed: Feed,
    /// A match that was found in an earlier slice and not taken.
    put_back: Option<Entry>,
    /// How many more matches this filter may give; `None` is unlimited.
    left: Option<u64>,
    /// Entries looked at beyond the limit since the last match.
    lookahead_entries: u64,
    counters: Counters,
}

/// What a walk did so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) looked: u64,
    pub(crate) matched: u64,
}

/// Where a stream's entries come from.
pub(crate) enum Feed {
    /// The ids from the given place on are still to be found.
    Ids(usize, Vec<Entry>),
    /// Walks over index groups.
    Walks(Merge),
}

impl Stream {
    pub(crate) fn new(filter: Filter, window: Window, feed: Feed, limit: Option<u64>) -> Self {
        let counters = Counters::default();
        Self { filter, window, feed, put_back: None, left: limit, lookahead_entries: 0, counters }
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }

    /// True when matches found from here on are beyond the filter's limit.
    pub(crate) fn is_past_limit(&self) -> bool {
        self.left == Some(0)
    }

    /// Counts a match that was given.
    pub(crate) fn take(&mut self) {
        self.counters.matched += 1;
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

    /// Walks to the next event that matches and is not expired.
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
        if !self.open(source, meter)? {
            return Ok(Found::Paused);
        }
        loop {
            let Feed::Walks(merge) = &mut self.feed else { unreachable!("the feed is open") };
            let Some(entry) = merge.next(source, self.window)? else { return Ok(Found::Ended) };
            self.counters.looked += 1;
            self.lookahead_entries += u64::from(self.is_past_limit());
            if let Some(event) = self.look(source, entry, now)? {
                self.lookahead_entries = 0;
                return Ok(Found::Event(entry, event));
            }
            if self.is_lookahead_over() {
                return Ok(Found::Ended);
            }
            if meter.is_over() {
                return Ok(Found::Paused);
            }
        }
    }

    fn look<'s>(
        &self,
        source: &'s impl KeySource,
        entry: Entry,
        now: Timestamp,
    ) -> Result<Option<EventRef<'s>>, ReadError> {
        let event = source.event(entry.seq())?;
        Ok(event.filter(|event| self.filter.matches(*event) && !event.is_expired(now)))
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
            let cursor = Cursor::listed(std::mem::take(found));
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
