//! The `sums` table: what the sums were when everything in it was last indexed.
//!
//! It covers exactly the events up to `indexed_through` that are in the log and readable. The
//! commit that ends a drain adds what was drained, and the commit that removes an event takes it
//! out; so opening a store reads the table and adds the tail of the log.

use std::sync::Arc;

use heed::{RoTxn, RwTxn};
use zeolite_proto::{Kind, Seq};
use zeolite_reconcile::Sum;

use super::change::{Change, change_places, split_at_key};
use super::places::{kind_of, settled_places};
use super::{Bucket, BucketSize, ItemKey, Place, Sums, Tallies, Tally};
use crate::env::{Env, FORMAT, Meta, Tables, meta};
use crate::error::{OpenError, ReadError};
use crate::keys::{KeyMaker, TimelineEntry};
use crate::limits::REBUILD_PROGRESS_EVENTS;
use crate::options::Options;
use crate::run::Run;
use crate::snapshot::timeline_entry;

/// count 8 | sum 32, of all items and of the gated ones.
const ROW_BYTES: usize = 2 * TALLY_BYTES;
const TALLY_BYTES: usize = 40;

type Row = [u8; ROW_BYTES];

fn row(tallies: &Tallies) -> Row {
    let mut row = [0; ROW_BYTES];
    for (bytes, tally) in row.chunks_exact_mut(TALLY_BYTES).zip([&tallies.all, &tallies.gated]) {
        bytes[..8].copy_from_slice(&tally.count.to_be_bytes());
        bytes[8..].copy_from_slice(&tally.sum.to_bytes());
    }
    row
}

/// Reads an entry of the table.
pub(crate) fn bucket((key, value): (&[u8], &[u8])) -> Result<Bucket, ReadError> {
    let damaged = || ReadError::DamagedEntry("sums");
    let edge = ItemKey(key.try_into().map_err(|_| damaged())?);
    let row: &Row = value.try_into().map_err(|_| damaged())?;
    let tally = |at: usize| {
        let (count, sum) = row[at..at + TALLY_BYTES].split_first_chunk().expect("40 bytes");
        let sum = sum.try_into().expect("32 bytes");
        Tally { count: u64::from_be_bytes(*count), sum: Sum::from_bytes(sum) }
    };
    Ok(Bucket { edge, tallies: Tallies { all: tally(0), gated: tally(TALLY_BYTES) } })
}

/// Sees to it that there is a table, and that it counts these kinds as gated.
pub(crate) fn prepare(env: &Env, tables: &Tables, options: &Options) -> Result<(), OpenError> {
    let mut txn = env.write_txn()?;
    let kinds: Vec<_> = options.gated_kinds.iter().flat_map(|kind| kind.0.to_be_bytes()).collect();
    if tables.meta.get(&txn, meta::GATED_KINDS.as_bytes())? == Some(&kinds[..]) {
        return Ok(());
    }
    let through = Meta::read_of_any_format(tables, &txn)?.indexed_through;
    SumsTable::new(tables, &mut txn, options, through).rebuild()?;
    tables.meta.put(&mut txn, meta::GATED_KINDS.as_bytes(), &kinds)?;
    tables.meta.put(&mut txn, meta::FORMAT.as_bytes(), &FORMAT.to_be_bytes())?;
    Ok(txn.commit()?)
}

/// The sums of everything in the table and of what the head holds besides.
pub(crate) fn load(
    tables: &Tables,
    txn: &RoTxn<'_>,
    keys: &KeyMaker,
    options: &Options,
    (runs, indexed_through): (&[Arc<Run>], Seq),
) -> Result<Sums, ReadError> {
    let buckets: Result<_, ReadError> =
        tables.sums.iter(txn)?.map(|entry| bucket(entry?)).collect();
    let top = match tables.timeline.last(txn)? {
        Some(last) => ItemKey::of_entry(&timeline_entry(last)?),
        None => ItemKey::LOWEST,
    };
    let settled = Sums::from_buckets(buckets?, top, BucketSize::new(options.bucket_items));
    let gated_kinds = &options.gated_kinds;
    let mut additions = Vec::with_capacity(runs.iter().map(|run| run.events).sum());
    for run in runs {
        run.push_additions(keys, gated_kinds, |_| false, &mut additions);
    }
    additions.sort_by(|a, b| a.key().cmp(b.key()));
    settled.changed(&additions, &mut |bucket, end, out| {
        settled_places(tables, txn, gated_kinds, indexed_through, (bucket, end), out)
    })
}

/// The table in a transaction that changes it.
pub(crate) struct SumsTable<'t, 'e> {
    tables: &'t Tables,
    txn: &'t mut RwTxn<'e>,
    gated_kinds: &'t [Kind],
    size: BucketSize,
    through: Seq,
}

impl<'t, 'e> SumsTable<'t, 'e> {
    /// `through` is what the table covers before the change.
    pub(crate) fn new(
        tables: &'t Tables,
        txn: &'t mut RwTxn<'e>,
        options: &'t Options,
        through: Seq,
    ) -> Self {
        let size = BucketSize::new(options.bucket_items);
        Self { tables, txn, gated_kinds: &options.gated_kinds, size, through }
    }

    /// Applies changes, which are in the order of their keys. The timeline must hold what the table
    /// covers before and after the change.
    pub(crate) fn change(&mut self, changes: &[Change]) -> Result<(), ReadError> {
        let mut rest = changes;
        while let Some(first) = rest.first() {
            let before = self.bucket_of(first.key())?;
            let next = self.bucket_after(&before.edge)?;
            let end = next.map(|next| next.edge);
            let (mine, others) = split_at_key(rest, end.as_ref());
            let mut bucket = before;
            bucket.tallies.change(mine);
            match self.size.is_too_large(&bucket.tallies) {
                true => self.cut(&before, end.as_ref(), mine)?,
                false => self.merge(bucket, next)?,
            }
            rest = others;
        }
        Ok(())
    }

    fn bucket_of(&self, key: &ItemKey) -> Result<Bucket, ReadError> {
        let found = self.tables.sums.get_lower_than_or_equal_to(self.txn, &key.0)?;
        found.map_or(Ok(Bucket::empty(ItemKey::LOWEST)), bucket)
    }

    fn bucket_after(&self, edge: &ItemKey) -> Result<Option<Bucket>, ReadError> {
        self.tables.sums.get_greater_than(self.txn, &edge.0)?.map(bucket).transpose()
    }

    fn put(&mut self, bucket: &Bucket) -> Result<(), ReadError> {
        Ok(self.tables.sums.put(self.txn, &bucket.edge.0, &row(&bucket.tallies))?)
    }

    /// Applies changes that make a bucket too large.
    fn cut(
        &mut self,
        before: &Bucket,
        end: Option<&ItemKey>,
        changes: &[Change],
    ) -> Result<(), ReadError> {
        let (mut places, mut buckets) = (Vec::new(), Vec::new());
        let range = (before, end);
        let through = self.through;
        if settled_places(self.tables, self.txn, self.gated_kinds, through, range, &mut places)? {
            change_places(&mut places, changes);
            self.size.push_buckets(before.edge, &places, &mut buckets);
        } else {
            buckets.push(*before);
            buckets[0].tallies.change(changes);
        }
        buckets.iter().try_for_each(|bucket| self.put(bucket))
    }

    /// Puts a bucket, together with the next one if both have become small.
    fn merge(&mut self, mut bucket: Bucket, next: Option<Bucket>) -> Result<(), ReadError> {
        if let Some(next) = next
            && self.size.has_room_for(&bucket.tallies, &next.tallies)
        {
            self.tables.sums.delete(self.txn, &next.edge.0)?;
            bucket.tallies.merge(&next.tallies);
        }
        if bucket.tallies == Tallies::default() {
            self.tables.sums.delete(self.txn, &bucket.edge.0)?;
            return Ok(());
        }
        self.put(&bucket)
    }

    /// Makes the table anew by a walk over the timeline: for stores of an older format, and when
    /// other kinds are gated than before.
    fn rebuild(&mut self) -> Result<(), ReadError> {
        let total = self.tables.timeline.len(self.txn)?;
        if total > 0 {
            tracing::info!(total, "making sums of all events, once");
        }
        let (mut buckets, mut top, mut done) = (Vec::new(), ItemKey::LOWEST, 0_u64);
        for entry in self.tables.timeline.iter(self.txn)? {
            let entry: TimelineEntry = timeline_entry(entry?)?;
            done += 1;
            if done.is_multiple_of(REBUILD_PROGRESS_EVENTS) {
                tracing::info!(done, total, "making sums");
            }
            if entry.seq() > self.through {
                continue;
            }
            if let Some(kind) = kind_of(self.tables, self.txn, entry.seq())? {
                let is_gated = self.gated_kinds.binary_search(&kind).is_ok();
                let place = Place { key: ItemKey::of_entry(&entry), is_gated };
                self.size.append(&place, &top, &mut buckets);
                top = place.key;
            }
        }
        self.tables.sums.clear(self.txn)?;
        buckets.iter().try_for_each(|bucket| self.put(bucket))
    }
}
