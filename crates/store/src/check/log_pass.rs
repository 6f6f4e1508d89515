//! From the log to index and timeline.

use zeolite_proto::{Address, EventId, EventRef, Kind, PubKey, Seq, Timestamp};

use super::{Check, Expected, Problem};
use crate::admission::{Lookups, Verdict, decide};
use crate::batch::tombstone_key;
use crate::env::seq_of_key;
use crate::error::ReadError;
use crate::keys::{Family, IndexKey, TimelineEntry};
use crate::limits::CHECK_CHUNK_EVENTS;
use crate::snapshot::Snapshot;
use crate::stored_bytes::event_bytes;
use crate::version::{Bar, Version};

/// The entries of some consecutive events. They are looked up in sorted order, which finds most of
/// them on the page of the one before.
#[derive(Default)]
struct Chunk {
    index: Vec<IndexKey>,
    timeline: Vec<TimelineEntry>,
}

impl Check<'_, '_> {
    /// Reads the whole log.
    pub(super) fn log(&mut self) -> Result<Expected, ReadError> {
        let (log, txn) = (self.snapshot.inner.tables.log, &self.snapshot.txn);
        let total = log.len(txn)?;
        let mut expected = Expected::default();
        let mut chunk = Chunk::default();
        let mut versions = Vec::new();
        for entry in log.iter(txn)? {
            let (key, record) = entry?;
            let Ok(seq) = seq_of_key("log", key) else {
                self.report.add(Problem::Malformed("log"));
                continue;
            };
            self.report.events += 1;
            match EventRef::new(record) {
                Ok(event) => {
                    self.stored_bytes = self.stored_bytes.map(|sum| sum + event_bytes(event));
                    if let Err(source) = event.check() {
                        self.report.add(Problem::Damaged { seq, source });
                    }
                    self.event(seq, event, &mut chunk, &mut versions)?;
                }
                Err(source) => {
                    self.stored_bytes = None;
                    self.report.add(Problem::Damaged { seq, source });
                }
            }
            if chunk.timeline.len() == CHECK_CHUNK_EVENTS {
                self.look_up(&mut chunk, &mut expected)?;
                self.show_progress("log", self.report.events, total);
            }
        }
        self.look_up(&mut chunk, &mut expected)?;
        self.show_progress("log", self.report.events, total);
        self.versions(versions)?;
        Ok(expected)
    }

    fn event(
        &mut self,
        seq: Seq,
        event: EventRef<'_>,
        chunk: &mut Chunk,
        versions: &mut Vec<(IndexKey, Seq)>,
    ) -> Result<(), ReadError> {
        if seq > self.meta.last_seq {
            self.report.add(Problem::PastLast(seq));
        }
        if self.buried.contains(&seq) {
            self.report.add(Problem::Buried(seq));
        }
        // Committed after this snapshot's head was taken: its keys are in a newer head.
        if seq > self.snapshot.ceiling() {
            return Ok(());
        }
        let keys_before = chunk.index.len();
        self.snapshot.inner.keys.push_index_keys(event, seq, &mut chunk.index);
        chunk.timeline.push(TimelineEntry::new(event.created_at(), &event.id(), seq));
        // What the head knows to be dead leaves the log with the next commit.
        if self.snapshot.get(seq)?.is_some() {
            let keys = &chunk.index[keys_before..];
            let address = keys.iter().find(|key| Family::of(key) == Some(Family::Address));
            versions.extend(address.map(|key| (*key, seq)));
            self.barred(seq, event)?;
        }
        Ok(())
    }

    /// Would the admitter take this event today, were it not stored?
    fn barred(&mut self, seq: Seq, event: EventRef<'_>) -> Result<(), ReadError> {
        // Whoever checks may not know the relay's URLs. A request does not bar itself.
        let is_own_vanish = event.kind() == Kind::VANISH;
        let tombs = Tombs(self.snapshot);
        let address = event.address();
        let verdict = decide(event, address.as_ref(), is_own_vanish, Timestamp(0), &tombs)?;
        if verdict != Verdict::Store {
            let verdict = format!("{verdict:?}");
            self.report.add(Problem::Barred { seq, verdict });
        }
        Ok(())
    }

    fn look_up(&mut self, chunk: &mut Chunk, expected: &mut Expected) -> Result<(), ReadError> {
        let (tables, txn) = (&self.snapshot.inner.tables, &self.snapshot.txn);
        chunk.index.sort_unstable();
        for key in chunk.index.drain(..) {
            let is_settled = key.seq() <= self.meta.indexed_through;
            expected.index += u64::from(is_settled);
            let is_there = !is_settled && in_head(self.snapshot, |run| &run.index, &key)
                || tables.index.get(txn, &key.0)?.is_some();
            if !is_there {
                let family = Family::of(&key).map_or("unknown", Family::name);
                self.report.add(Problem::MissingEntry { seq: key.seq(), family });
            }
        }
        chunk.timeline.sort_unstable();
        for entry in chunk.timeline.drain(..) {
            let is_settled = entry.seq() <= self.meta.indexed_through;
            expected.timeline += u64::from(is_settled);
            let is_there = !is_settled && in_head(self.snapshot, |run| &run.timeline, &entry)
                || tables.timeline.get(txn, entry.key())? == Some(entry.value());
            if !is_there {
                self.report.add(Problem::MissingInTimeline(entry.seq()));
            }
        }
        Ok(())
    }

    /// Two events whose address keys share a prefix are versions of one address, or a collision.
    fn versions(&mut self, mut versions: Vec<(IndexKey, Seq)>) -> Result<(), ReadError> {
        versions.sort_unstable();
        for group in versions.chunk_by(|(a, _), (b, _)| a.prefix() == b.prefix()) {
            let mut seen: Vec<(Address, Seq)> = Vec::new();
            for (_, seq) in group.iter().filter(|_| group.len() > 1) {
                let event = self.snapshot.get(*seq)?;
                let Some(address) = event.and_then(EventRef::address) else { continue };
                match seen.iter().find(|(other, _)| *other == address) {
                    Some((_, other)) => {
                        let (older, newer) = (*other.min(seq), *other.max(seq));
                        self.report.add(Problem::TwoVersions { older, newer });
                    }
                    None => seen.push((address, *seq)),
                }
            }
        }
        Ok(())
    }
}

fn in_head<T: Ord>(
    snapshot: &Snapshot<'_>,
    keys: impl Fn(&crate::run::Run) -> &Vec<T>,
    key: &T,
) -> bool {
    snapshot.head.runs.iter().any(|run| keys(run).binary_search(key).is_ok())
}

/// What bars events, as if no event were stored.
struct Tombs<'c, 's>(&'c Snapshot<'s>);

impl Lookups for Tombs<'_, '_> {
    type Error = ReadError;

    fn is_stored(&self, _: &EventId) -> Result<bool, ReadError> {
        Ok(false)
    }

    fn is_tombstoned(&self, id: &EventId, deleter: &PubKey) -> Result<bool, ReadError> {
        self.0.is_tombstoned(&tombstone_key(id, deleter))
    }

    fn bar(&self, address: &Address) -> Result<Option<Bar>, ReadError> {
        self.0.bar(&self.0.inner.keys.address_bar(address))
    }

    fn vanished_until(&self, key: &PubKey) -> Result<Option<Timestamp>, ReadError> {
        self.0.vanished_until(key)
    }

    fn newest(&self, _: &Address) -> Result<Option<Version>, ReadError> {
        Ok(None)
    }
}
