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
        let found = skip_damaged(self.by_id(id))?;
        Ok(found.map(|(seq, event)| Entry::of(event, seq)))
    }

    fn event(&self, seq: Seq) -> Result<Option<EventRef<'_>>, ReadError> {
        skip_damaged(self.get(seq))
    }
}

/// One damaged record must not spoil every answer that meets it; `check` names it.
fn skip_damaged<T>(read: Result<Option<T>, ReadError>) -> Result<Option<T>, ReadError> {
    match read {
        Err(error @ ReadError::Damaged { .. }) => {
            tracing::warn!(%error, "a scan skips a damaged record");
            Ok(None)
        }
        read => read,
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

#[cfg(test)]
mod tests {
    use zeolite_proto::{EventParser, Filter, Reader, Verified};
    use zeolite_testkit::Factory;

    use super::*;
    use crate::env::seq_key;
    use crate::{Options, Scan, ScanOptions, ScanState, SliceBudget, open};

    #[test]
    fn a_damaged_record_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let (store, mut admitter, mut committer) = open(dir.path(), Options::default()).unwrap();
        let (mut factory, mut parser) = (Factory::unsigned(1), EventParser::new());
        let notes = (0..3).map(|n| factory.note(0, n, "").to_string());
        let events: Vec<_> =
            notes.map(|json| Verified::trusted(parser.parse(&json).unwrap())).collect();
        let id = events[1].view().id();
        let admitted = admitter.admit(events, Timestamp(0)).unwrap();
        committer.commit(vec![admitted.pending]).unwrap();
        let mut txn = store.0.env.write_txn().unwrap();
        store.0.tables.log.put(&mut txn, &seq_key(Seq(2)), b"short").unwrap();
        txn.commit().unwrap();
        for (filter, expected) in
            [("{}".to_owned(), vec![Seq(3), Seq(1)]), (format!(r#"{{"ids":["{id}"]}}"#), vec![])]
        {
            let filter = [Filter::from_json(&filter).unwrap()];
            let mut scan =
                Scan::new(&store, &filter, ScanOptions::default(), &Reader::of_everything().into())
                    .unwrap();
            let mut given = Vec::new();
            let mut sink = |seq, _: EventRef<'_>| {
                given.push(seq);
                true
            };
            let state = scan.slice(Timestamp(0), SliceBudget::UNLIMITED, &mut sink).unwrap();
            assert_eq!((given, state), (expected, ScanState::Done { complete: true }));
        }
    }
}
