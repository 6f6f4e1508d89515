//! From index, timeline and graveyard to the log.

use zeolite_proto::{EventRef, Seq};

use super::{Check, Problem};
use crate::env::{Table, seq_of_key};
use crate::error::ReadError;
use crate::keys::{Family, INDEX_KEY_BYTES, IndexKey, TIMELINE_ENTRY_BYTES, TimelineEntry};
use crate::limits::CHECK_PROGRESS_ENTRIES;

impl Check<'_, '_> {
    /// Counts the index entries of settled events; follows each of them if there are not as many
    /// as the log accounts for.
    pub(super) fn index(&mut self, expected: u64) -> Result<(), ReadError> {
        let table = self.snapshot.inner.tables.index;
        let mut settled = 0;
        self.report.index_entries = self.walk("index", table, |check, key, value| {
            let key = IndexKey::from_bytes(key).filter(|key| Family::of(key).is_some());
            match key.filter(|_| value.is_empty()) {
                None => check.report.add(Problem::Malformed("index")),
                Some(key) if check.is_settled(key.seq()) => settled += 1,
                Some(key) => check.unsettled(key.seq(), Problem::DanglingEntry(key.seq())),
            }
            Ok(())
        })?;
        if settled == expected {
            return Ok(());
        }
        let mut keys_of = Vec::new();
        self.walk("index", table, |check, key, _| {
            let Some(key) = IndexKey::from_bytes(key) else { return Ok(()) };
            if check.is_settled(key.seq()) {
                keys_of.clear();
                let Some(found) = check.readable(key.seq())? else { return Ok(()) };
                if let Some(event) = found {
                    let maker = &check.snapshot.inner.keys;
                    maker.push_index_keys(event, key.seq(), &mut keys_of);
                }
                if !keys_of.contains(&key) {
                    check.report.add(Problem::DanglingEntry(key.seq()));
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// The same for the timeline.
    pub(super) fn timeline(&mut self, expected: u64) -> Result<(), ReadError> {
        let table = self.snapshot.inner.tables.timeline;
        let mut settled = 0;
        let mut sums = self.sums()?;
        self.report.timeline_entries = self.walk("timeline", table, |check, key, value| {
            match TimelineEntry::from_parts(key, value) {
                None => check.report.add(Problem::Malformed("timeline")),
                Some(entry) if check.is_settled(entry.seq()) => {
                    settled += 1;
                    check.add_to_sums(&entry, &mut sums)?;
                }
                Some(entry) => {
                    check.unsettled(entry.seq(), Problem::DanglingInTimeline(entry.seq()));
                }
            }
            Ok(())
        })?;
        if settled == expected {
            self.end_sums(sums);
            return Ok(());
        }
        self.walk("timeline", table, |check, key, value| {
            let Some(entry) = TimelineEntry::from_parts(key, value) else { return Ok(()) };
            let Some(found) = check.readable(entry.seq())? else { return Ok(()) };
            let is_right = found.is_some_and(|event| {
                TimelineEntry::new(event.created_at(), &event.id(), entry.seq()) == entry
            });
            if check.is_settled(entry.seq()) && !is_right {
                check.report.add(Problem::DanglingInTimeline(entry.seq()));
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Looks at the form of the graveyard's entries; that none of them is in the log was seen
    /// when the log was read.
    pub(super) fn graveyard(&mut self) -> Result<(), ReadError> {
        let table = self.snapshot.inner.tables.graveyard;
        self.walk("graveyard", table, |check, key, value| {
            let keys_bytes = value.len().checked_sub(TIMELINE_ENTRY_BYTES);
            let is_whole = keys_bytes.is_some_and(|bytes| bytes.is_multiple_of(INDEX_KEY_BYTES));
            if seq_of_key("graveyard", key).is_err() || !is_whole {
                check.report.add(Problem::Malformed("graveyard"));
            }
            Ok(())
        })?;
        Ok(())
    }

    /// What an entry leads to; `None` if that is damaged, which was reported already.
    pub(super) fn readable(&self, seq: Seq) -> Result<Option<Option<EventRef<'_>>>, ReadError> {
        match self.snapshot.get(seq) {
            Err(ReadError::Damaged { .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// An entry that flushing has brought ahead of `indexed_through`, or one of a buried event:
    /// neither is missed when it is not there, but its event must have been stored once.
    fn unsettled(&mut self, seq: Seq, problem: Problem) {
        if seq > self.meta.last_seq {
            self.report.add(problem);
        }
    }

    /// Shows each entry of a table; gives their number.
    pub(super) fn walk(
        &mut self,
        name: &'static str,
        table: Table,
        mut show: impl FnMut(&mut Self, &[u8], &[u8]) -> Result<(), ReadError>,
    ) -> Result<u64, ReadError> {
        let total = table.len(&self.snapshot.txn)?;
        let mut done = 0;
        for entry in table.iter(&self.snapshot.txn)? {
            let (key, value) = entry?;
            show(self, key, value)?;
            done += 1;
            if done % CHECK_PROGRESS_ENTRIES == 0 {
                self.show_progress(name, done, total);
            }
        }
        self.show_progress(name, done, total);
        Ok(done)
    }
}
