//! A walk over one group of entries that outlives any transaction.

use zeolite_proto::Timestamp;

use super::entry::Entry;
use super::source::KeySource;
use crate::error::ReadError;
use crate::keys::Prefix;
use crate::limits::{REFILL_KEYS_MAX, REFILL_KEYS_MIN};
use crate::snapshot::TimelinePlace;

/// What a filter's walks are confined to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Only what stands after this entry is looked at.
    pub(crate) below: Entry,
    /// Events made earlier are not looked at.
    pub(crate) oldest: Timestamp,
}

/// Holds a small buffer of entries and the place where the next refill begins, so that it can
/// rest between slices without holding on to anything in the store.
pub(crate) struct Cursor {
    road: Road,
    /// Newest last.
    buffer: Vec<Entry>,
    refill_keys: usize,
}

enum Road {
    Group { prefix: Prefix, below: Entry },
    Timeline { below: TimelinePlace },
    Ended,
}

impl Cursor {
    pub(crate) fn group(prefix: Prefix, window: Window) -> Self {
        Self::new(Road::Group { prefix, below: window.below })
    }

    pub(crate) fn timeline(window: Window) -> Self {
        Self::new(Road::Timeline { below: window.below.timeline_place() })
    }

    /// A walk over entries that are all known.
    pub(crate) fn listed(mut entries: Vec<Entry>, window: Window) -> Self {
        entries.retain(|entry| *entry < window.below && entry.time() >= window.oldest);
        entries.sort_unstable();
        entries.dedup();
        Self { buffer: entries, ..Self::new(Road::Ended) }
    }

    fn new(road: Road) -> Self {
        Self { road, buffer: Vec::new(), refill_keys: REFILL_KEYS_MIN }
    }

    /// Makes the next refill read `keys` entries, within bounds.
    pub(crate) fn expect(&mut self, keys: usize) {
        self.refill_keys = keys.clamp(REFILL_KEYS_MIN, REFILL_KEYS_MAX);
    }

    /// The next entry in answer order.
    pub(crate) fn next(
        &mut self,
        source: &impl KeySource,
        window: Window,
    ) -> Result<Option<Entry>, ReadError> {
        while self.buffer.is_empty() && !matches!(self.road, Road::Ended) {
            self.refill(source, window)?;
        }
        Ok(self.buffer.pop())
    }

    /// Reads the next entries if none are buffered. One read is enough to say something of the
    /// group's density.
    pub(crate) fn probe(
        &mut self,
        source: &impl KeySource,
        window: Window,
    ) -> Result<(), ReadError> {
        if self.buffer.is_empty() { self.refill(source, window) } else { Ok(()) }
    }

    /// The entries read so far and not taken, newest last.
    pub(crate) fn buffered(&self) -> &[Entry] {
        &self.buffer
    }

    /// True when nothing is left to be read behind the buffer.
    pub(crate) fn is_read_out(&self) -> bool {
        matches!(self.road, Road::Ended)
    }

    fn refill(&mut self, source: &impl KeySource, window: Window) -> Result<(), ReadError> {
        let (out, max) = (&mut self.buffer, self.refill_keys);
        self.road = match &self.road {
            Road::Group { prefix, below } => source
                .refill(prefix, *below, window.oldest, max, out)?
                .map_or(Road::Ended, |below| Road::Group { prefix: *prefix, below }),
            Road::Timeline { below } => source
                .refill_timeline(*below, window.oldest, max, out)?
                .map_or(Road::Ended, |below| Road::Timeline { below }),
            Road::Ended => Road::Ended,
        };
        self.buffer.reverse();
        self.refill_keys = (self.refill_keys * 2).min(REFILL_KEYS_MAX);
        Ok(())
    }
}
