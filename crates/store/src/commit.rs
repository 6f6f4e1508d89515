//! The committer: makes batches durable, and takes the head's keys along in slices.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use heed::{PutFlags, RwTxn};
use rustc_hash::FxHashSet;
use zeolite_proto::{Seq, Timestamp};

use crate::Inner;
use crate::archive::{self, ArchivePart, Owner};
use crate::batch::{Batch, PendingBatch, Removed};
use crate::env::{Meta, Tables, WriterLock, meta, put_seq, seq_key};
use crate::error::{CommitError, OpenError, ReadError};
use crate::flush::{Drain, is_due, slice_keys};
use crate::limits::{
    ARCHIVE_WIPE_EVENTS, FLUSH_ALL_KEYS, FLUSH_KEYS_MAX, KEYS_PER_EVENT, STALE_READERS_COMMITS,
};
use crate::options::Durability;
use crate::purge::{bury, purge_slice};
use crate::recovery::unfinished_vanishes;
use crate::room::{is_full, keys_max};
use crate::store::Store;
use crate::stored_bytes::{self, event_bytes};
use crate::sums::{Change, SumsTable};

/// Makes batches durable: one LMDB transaction for all that are waiting, with a slice of flush and
/// a slice of purge, and one sync.
pub struct Committer {
    inner: Arc<Inner>,
    /// Everything up to here is in LMDB's indexes.
    indexed_through: Seq,
    /// Everything up to here is in the log.
    durable: Seq,
    next_number: u64,
    commits: u64,
    /// What the events in the log take.
    stored_bytes: u64,
    archived_events: u64,
    drain: Option<Drain>,
    /// Removed events whose keys may be in the head.
    dead_in_head: FxHashSet<Seq>,
    _lock: Arc<WriterLock>,
}

/// What a transaction did beside its batches, to be told to the head once it is committed.
struct Done {
    is_worth_a_commit: bool,
    indexed_through: Seq,
    is_full: bool,
}

impl Committer {
    pub(crate) fn new(
        store: &Store,
        lock: Arc<WriterLock>,
        meta: &Meta,
    ) -> Result<Self, OpenError> {
        let inner = Arc::clone(&store.0);
        let txn = inner.env.read_txn()?;
        let is_full = is_full(&inner, &txn, &inner.head.load(), 0)?;
        let stored_bytes = match stored_bytes::read(&inner.tables, &txn) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => stored_bytes::add_up(&inner.tables, &txn).map_err(in_meta)?,
            Err(error) => return Err(in_meta(error)),
        };
        let archived_events = inner.tables.archive.len(&txn)?;
        drop(txn);
        inner.is_full.store(is_full, Ordering::Relaxed);
        Ok(Self {
            indexed_through: meta.indexed_through,
            durable: inner.head.load().last_seq,
            next_number: 1,
            commits: 0,
            stored_bytes,
            archived_events,
            drain: None,
            dead_in_head: FxHashSet::default(),
            _lock: lock,
            inner,
        })
    }

    /// What the committed events take, see [`Store::stored_bytes`].
    pub fn stored_bytes(&self) -> u64 {
        self.stored_bytes
    }

    /// How many events are in the archive.
    pub fn archived_events(&self) -> u64 {
        self.archived_events
    }

    /// Commits batches, all or none. They are as durable as the store's options say when this
    /// returns. Without batches it goes on with flush and purge, if there is something to do.
    ///
    /// After an error nothing of these batches, or of what was admitted after them, is in the
    /// store any more, and it refuses writes until it is reopened; reads go on.
    ///
    /// # Panics
    ///
    /// If batches are left out or come in another order than they were admitted in.
    pub fn commit(&mut self, batches: Vec<PendingBatch>) -> Result<(), CommitError> {
        let batches: Vec<_> = batches.into_iter().map(|pending| pending.0).collect();
        self.commit_with(&batches, false).map(drop)
    }

    /// Moves the whole head into LMDB's indexes and empties the graveyard: an orderly close, after
    /// which opening is quick.
    pub fn flush_all(&mut self) -> Result<(), CommitError> {
        while self.commit_with(&[], true)? {}
        if self.inner.options.durability != Durability::Durable {
            self.inner.env.force_sync()?;
        }
        Ok(())
    }

    /// True if it changed something.
    fn commit_with(&mut self, batches: &[Arc<Batch>], flush: bool) -> Result<bool, CommitError> {
        if let Some(reason) = self.inner.stopped() {
            return Err(CommitError::Stopped(reason.into()));
        }
        for batch in batches {
            assert_eq!(batch.number, self.next_number, "batches are committed in order");
            self.next_number += 1;
        }
        let result = self.try_commit(batches, flush);
        if let Err(error) = &result {
            self.stop(error);
        }
        result
    }

    fn try_commit(&mut self, batches: &[Arc<Batch>], flush: bool) -> Result<bool, CommitError> {
        let inner = Arc::clone(&self.inner);
        let mut txn = inner.env.write_txn()?;
        let mut done = Done {
            is_worth_a_commit: false,
            indexed_through: self.indexed_through,
            is_full: false,
        };
        let mut buried = Vec::new();
        let mut stored_bytes = self.stored_bytes;
        for batch in batches.iter().filter(|batch| !batch.is_empty()) {
            self.write_batch(&mut txn, batch, &mut buried, &mut stored_bytes)?;
            done.is_worth_a_commit = true;
        }
        self.change_sums(&mut txn, buried)?;
        let durable = batches.last().map_or(self.durable, |batch| batch.last_seq);
        if durable > self.durable {
            put_seq(&inner.tables, &mut txn, meta::LAST_SEQ, durable)?;
        }
        if done.is_worth_a_commit {
            stored_bytes::write(&inner.tables, &mut txn, stored_bytes)?;
        }
        let new_events = batches.iter().map(|batch| batch.events.len()).sum();
        self.flush_slice(&mut txn, durable, new_events, flush, &mut done)?;
        let keys_max = keys_max(&inner, &txn)?;
        let events_min = inner.options.purge_events_min;
        // Not what this very commit has brought into the indexes: until it is published the head
        // has those keys too, and whoever meets a dead one there looks for its grave.
        let through = self.indexed_through;
        let purged = purge_slice(&inner.tables, &mut txn, through, events_min, keys_max)?;
        let wipes_max = (keys_max / KEYS_PER_EVENT).clamp(1, ARCHIVE_WIPE_EVENTS);
        let wiped = archive::wipe_slice(&inner.tables, &mut txn, wipes_max)?;
        if !done.is_worth_a_commit && purged + wiped == 0 {
            return Ok(false);
        }
        done.is_full = is_full(&inner, &txn, &inner.head.load(), self.next_number - 1)?;
        let archived_events = inner.tables.archive.len(&txn)?;
        txn.commit()?;
        self.archived_events = archived_events;
        self.durable = durable;
        self.stored_bytes = stored_bytes;
        self.publish(batches, &done);
        self.sweep_readers();
        inner.bound_mapped();
        Ok(true)
    }

    /// Frees the slots of readers that were killed, from time to time.
    fn sweep_readers(&mut self) {
        self.commits += 1;
        if self.commits.is_multiple_of(STALE_READERS_COMMITS)
            && let Err(error) = self.inner.env.clear_stale_readers()
        {
            tracing::warn!(%error, "the table of readers could not be swept");
        }
    }

    /// Adds to `buried` what the table of sums loses, and brings `stored_bytes` up to date.
    fn write_batch(
        &mut self,
        txn: &mut RwTxn<'_>,
        batch: &Batch,
        buried: &mut Vec<Change>,
        stored_bytes: &mut u64,
    ) -> Result<(), ReadError> {
        let tables = &self.inner.tables;
        for (seq, event) in batch.events.iter() {
            let record = event.view().record();
            tables.log.put_with_flags(txn, PutFlags::APPEND, &seq_key(*seq), record)?;
            *stored_bytes += event_bytes(event.view());
        }
        let archives = !self.inner.is_full();
        for Removed { seq, place, archive_as } in &batch.removed {
            if let Some(cause) = archive_as.filter(|_| archives) {
                archive::put_stored(tables, txn, cause, *seq)?;
            }
            let Some(freed) = bury(tables, txn, &self.inner.keys, *seq)? else { continue };
            *stored_bytes = stored_bytes.saturating_sub(freed);
            if *seq > self.indexed_through {
                self.dead_in_head.insert(*seq);
            } else {
                buried.push(Change::removal(*place));
            }
        }
        for (cause, event) in batch.archived.iter().filter(|_| archives) {
            archive::put(tables, txn, *cause, event.view())?;
        }
        write_tombs(&self.inner, txn, batch)?;
        write_archive_wipes(tables, txn, batch)
    }

    fn flush_slice(
        &mut self,
        txn: &mut RwTxn<'_>,
        durable: Seq,
        new_events: usize,
        flush: bool,
        done: &mut Done,
    ) -> Result<(), ReadError> {
        let head = self.inner.head.load();
        if self.drain.is_none() && (flush || is_due(&head, &self.inner.options)) {
            self.drain = self.inner.head.update(|head| Drain::begin(head, durable));
        }
        if self.drain.is_none() && flush && head.runs.is_empty() && durable > self.indexed_through {
            // All that was admitted since the last flush is dead.
            put_seq(&self.inner.tables, txn, meta::INDEXED_THROUGH, durable)?;
            done.indexed_through = durable;
            done.is_worth_a_commit = true;
        }
        let Some(drain) = &mut self.drain else { return Ok(()) };
        let keys = if flush {
            FLUSH_ALL_KEYS
        } else {
            slice_keys(drain.keys_left(), new_events, &head, &self.inner.options)
        };
        let keys = keys.min(FLUSH_KEYS_MAX).min(keys_max(&self.inner, txn)?);
        drain.write_slice(&self.inner.tables, txn, keys, &self.dead_in_head)?;
        if drain.is_done() {
            done.indexed_through = drain.through();
            put_seq(&self.inner.tables, txn, meta::INDEXED_THROUGH, done.indexed_through)?;
            let gated_kinds = &self.inner.options.gated_kinds;
            let added = drain.additions(&self.inner.keys, gated_kinds, &self.dead_in_head);
            self.change_sums(txn, added)?;
        }
        done.is_worth_a_commit = true;
        Ok(())
    }

    /// Brings the table of sums up to date.
    fn change_sums(&self, txn: &mut RwTxn<'_>, mut changes: Vec<Change>) -> Result<(), ReadError> {
        changes.sort_by(|a, b| a.key().cmp(b.key()));
        let (tables, options) = (&self.inner.tables, &self.inner.options);
        SumsTable::new(tables, txn, options, self.indexed_through).change(&changes)
    }

    /// Tells the head what is in LMDB since the commit.
    fn publish(&mut self, batches: &[Arc<Batch>], done: &Done) {
        let was_full = self.inner.is_full.swap(done.is_full, Ordering::Relaxed);
        if self.inner.options.archive && done.is_full && !was_full {
            tracing::warn!("the store is full: what is replaced or deleted now is not archived");
        }
        self.indexed_through = done.indexed_through;
        let drained = self.drain.take_if(|drain| drain.is_done()).map(|drain| drain.runs());
        if drained.is_some() {
            let indexed_through = self.indexed_through;
            self.dead_in_head.retain(|seq| *seq > indexed_through);
        }
        let committed = batches.last().map(|batch| batch.number);
        self.inner.head.update(|head| {
            if let Some(number) = committed {
                head.uncommitted.retain(|batch| batch.number > number);
            }
            if let Some(runs) = drained {
                head.runs.drain(..runs);
                head.draining = 0;
            }
        });
    }

    /// Takes back what was not committed, and refuses writes from here on.
    fn stop(&mut self, error: &CommitError) {
        tracing::error!(%error, "a commit failed; the store refuses writes until it is reopened");
        self.inner.stop(error.to_string());
        self.drain = None;
        let txn = self.inner.env.read_txn().map_err(ReadError::from);
        let vanishing = txn.and_then(|txn| unfinished_vanishes(&self.inner.tables, &txn));
        self.inner.head.update(|head| {
            // If even this cannot be read, what is hidden stays hidden.
            let vanishing = vanishing.unwrap_or_else(|_| Arc::clone(&head.vanishing));
            head.roll_back(self.durable, vanishing);
        });
    }
}

/// What is wrong with the sum of what events take, when a store is opened.
fn in_meta(error: ReadError) -> OpenError {
    match error {
        ReadError::Lmdb(error) => OpenError::Lmdb(error),
        _ => OpenError::DamagedMeta("stored_bytes"),
    }
}

fn write_tombs(inner: &Inner, txn: &mut RwTxn<'_>, batch: &Batch) -> Result<(), ReadError> {
    let tables = &inner.tables;
    for key in &batch.tombstones {
        tables.deleted.put(txn, key, &[])?;
    }
    for (key, bar) in &batch.bars {
        tables.deleted_address.put(txn, key, &bar.to_bytes())?;
    }
    for (key, until) in &batch.vanished {
        tables.vanished.put(txn, &key.0, &until.0.to_be_bytes())?;
        archive::begin_wipes_of_vanished(tables, txn, key, *until)?;
    }
    for (key, until) in &batch.vanishing {
        match until {
            Some(until) => tables.vanishing.put(txn, &key.0, &until.0.to_be_bytes())?,
            None => {
                tables.vanishing.delete(txn, &key.0)?;
            }
        }
    }
    Ok(())
}

fn write_archive_wipes(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    batch: &Batch,
) -> Result<(), ReadError> {
    for part in &batch.archive_wipes {
        match part {
            ArchivePart::Event(id) => archive::remove(tables, txn, id)?,
            ArchivePart::Author(key) => {
                let everything = Timestamp(u64::MAX);
                archive::begin_wipe(tables, txn, &Owner::author(key), everything)?;
            }
        }
    }
    Ok(())
}
