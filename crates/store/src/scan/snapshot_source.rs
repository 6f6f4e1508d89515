//! The walks of a scan over a store's snapshot.

use zeolite_proto::{EventId, EventRef, Seq, Timestamp};

use super::entry::Entry;
use super::source::{KeySource, Value};
use crate::error::ReadError;
use crate::keys::{INDEX_KEY_BYTES, IndexKey, PREFIX_BYTES, Prefix};
use crate::snapshot::{Snapshot, TimelinePlace};

impl KeySource for Snapshot<'_> {
    fn prefix(&self, value: Value<'_>) -> Prefix {
        let keys = &self.inner.keys;
        match value {
            Value::Author(author) => keys.author(author),
            Value::Kind(kind) => keys.kind(kind),
            Value::AuthorKind(author, kind) => keys.author_kind(author, kind),
            Value::Tag(letter, value) => keys.tag(letter, value),
        }
    }

    fn refill(
        &self,
        prefix: &Prefix,
        below: Entry,
        oldest: Timestamp,
        max: usize,
        out: &mut Vec<Entry>,
    ) -> Result<Option<Entry>, ReadError> {
        let mut keys = Vec::with_capacity(max);
        let (below, least) = (index_key(prefix, below), prefix.bottom(oldest));
        let has_more = self.index_below(&below, &least, max, &mut keys)?;
        out.extend(keys.iter().map(entry));
        Ok(keys.last().map(entry).filter(|_| has_more))
    }

    fn refill_timeline(
        &self,
        below: TimelinePlace,
        oldest: Timestamp,
        max: usize,
        out: &mut Vec<Entry>,
    ) -> Result<Option<TimelinePlace>, ReadError> {
        let mut entries = Vec::with_capacity(max);
        let has_more = self.timeline_behind(below, oldest, max, &mut entries)?;
        out.extend(entries.iter().map(|e| Entry::new(e.time(), &e.id(), e.seq())));
        let last = entries.last().filter(|_| has_more);
        Ok(last.map(|last| TimelinePlace { time: last.time(), id: Some(last.id()) }))
    }

    fn find_id(&self, id: &EventId) -> Result<Option<Entry>, ReadError> {
        Ok(self.by_id(id)?.map(|(seq, event)| Entry::of(event, seq)))
    }

    fn event(&self, seq: Seq) -> Result<Option<EventRef<'_>>, ReadError> {
        self.get(seq)
    }
}

fn entry(key: &IndexKey) -> Entry {
    let tail = key.0[PREFIX_BYTES..].try_into().expect("a key is a prefix and a tail");
    Entry::from_tail(tail)
}

fn index_key(prefix: &Prefix, entry: Entry) -> IndexKey {
    let mut key = [0; INDEX_KEY_BYTES];
    key[..PREFIX_BYTES].copy_from_slice(&prefix.0);
    key[PREFIX_BYTES..].copy_from_slice(&entry.tail());
    IndexKey(key)
}
