//! What a store holds and what that costs.

use std::collections::HashMap;

use zeolite_proto::{Kind, KindClass, Seq};

use crate::Store;
use crate::error::ReadError;
use crate::snapshot::Snapshot;

/// Figures of a store as of one moment.
#[derive(Clone, Debug)]
pub struct Stats {
    /// Live events, expired ones included until they are removed.
    pub events: u64,
    /// Of these, the regular ones.
    pub regular: u64,
    /// Of these, the newest versions of replaceable events.
    pub replaceable: u64,
    /// Of these, the newest versions of addressable events.
    pub addressable: u64,
    /// Events of each kind, most frequent first, then by kind.
    pub kinds: Vec<(Kind, u64)>,
    /// The tables of the store.
    pub tables: Vec<TableStats>,
    /// The highest seq given to an event.
    pub last_seq: Seq,
    /// Every event up to this seq is in the indexes on disk.
    pub indexed_through: Seq,
    /// Events whose index entries are in memory only, dead ones included.
    pub head_events: u64,
    /// Bytes of these entries.
    pub head_bytes: u64,
    /// Removed events whose index entries are still to be purged.
    pub graveyard_events: u64,
    /// Events in the archive.
    pub archived_events: u64,
    /// Bytes that the live events take, about: what retention's bound is held against.
    pub stored_bytes: u64,
    /// Bytes of the data file.
    pub file_bytes: u64,
    /// Bytes of the file that hold nothing and will be used again.
    pub free_bytes: u64,
    /// Bytes up to which the file may grow.
    pub map_bytes: u64,
}

/// Figures of one table.
#[derive(Clone, Copy, Debug)]
pub struct TableStats {
    /// Its name, see `docs/store-format.md`.
    pub name: &'static str,
    /// Its entries.
    pub entries: u64,
    /// Bytes of its pages.
    pub bytes: u64,
}

impl Stats {
    /// Bytes of the file for each live event.
    pub fn file_bytes_per_event(&self) -> f64 {
        self.file_bytes as f64 / self.events.max(1) as f64
    }
}

impl Store {
    /// Counts what is stored. Reads one index entry for each event.
    pub fn stats(&self) -> Result<Stats, ReadError> {
        let snapshot = self.snapshot()?;
        let kinds = kinds(&snapshot)?;
        let of_class = |class| {
            let of_class = kinds.iter().filter(|(kind, _)| kind.class() == class);
            of_class.map(|(_, count)| count).sum()
        };
        let meta = snapshot.meta()?;
        let tables = tables(&snapshot)?;
        let env = &self.0.env;
        let file_bytes = env.real_disk_size()?;
        let page_bytes = u64::from(env.unnamed_database_stat().page_size);
        // Besides the tables, the file has two meta pages and the pages of the table of tables.
        let used = tables.iter().map(|table| table.bytes).sum::<u64>()
            + 2 * page_bytes
            + env.unnamed_database_stat().non_free_page_size() as u64;
        Ok(Stats {
            events: kinds.iter().map(|(_, count)| count).sum(),
            regular: of_class(KindClass::Regular),
            replaceable: of_class(KindClass::Replaceable),
            addressable: of_class(KindClass::Addressable),
            last_seq: snapshot.ceiling(),
            indexed_through: meta.indexed_through,
            head_events: snapshot.head.events() as u64,
            head_bytes: snapshot.head.bytes() as u64,
            stored_bytes: self.stored_bytes()?,
            graveyard_events: snapshot.inner.tables.graveyard.len(&snapshot.txn)?,
            archived_events: snapshot.inner.tables.archive.len(&snapshot.txn)?,
            file_bytes,
            free_bytes: file_bytes.saturating_sub(used),
            map_bytes: env.info().map_size as u64,
            kinds,
            tables,
        })
    }
}

fn kinds(snapshot: &Snapshot<'_>) -> Result<Vec<(Kind, u64)>, ReadError> {
    let dead = snapshot.dead_seqs()?;
    let mut counts: HashMap<Kind, u64> = HashMap::new();
    snapshot.each_kind_entry(|kind, seq| {
        if !dead.contains(&seq) {
            *counts.entry(kind).or_default() += 1;
        }
    })?;
    let mut kinds: Vec<_> = counts.into_iter().collect();
    kinds.sort_unstable_by_key(|(kind, count)| (std::cmp::Reverse(*count), *kind));
    Ok(kinds)
}

fn tables(snapshot: &Snapshot<'_>) -> Result<Vec<TableStats>, ReadError> {
    let named = snapshot.inner.tables.named();
    let stats = named.into_iter().map(|(name, table)| {
        let stat = table.stat(&snapshot.txn)?;
        let (entries, bytes) = (stat.entries as u64, stat.non_free_page_size() as u64);
        Ok(TableStats { name, entries, bytes })
    });
    stats.collect()
}
