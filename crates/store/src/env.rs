//! The LMDB environment: its tables, the lock that says who writes, and the `meta` entries.

use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{Read, Seek, Write};
use std::path::Path;

use heed::types::Bytes;
use heed::{CommitOrAbort, Database, EnvFlags, EnvOpenOptions, RoTxn, RwTxn, WithoutTls};
use zeolite_proto::{Kind, Seq, Timestamp};

use crate::error::{OpenError, ReadError};
use crate::limits::{MAP_STEP_BYTES, READERS_MAX, UNWRITTEN_BYTES_MAX};
use crate::mapped::Place;
use crate::options::{Durability, Options};

/// The format this version reads and writes.
pub(crate) const FORMAT: u32 = 3;

/// Formats that a writer brings up to date when it opens a store: the first had no sums, and
/// neither had an archive.
const FORMAT_WITHOUT_SUMS: u32 = 1;
const FORMAT_WITHOUT_ARCHIVE: u32 = 2;

const LOCK_FILE: &str = "zeolite.lock";
/// The file that holds all tables.
pub(crate) const DATA_FILE: &str = "data.mdb";
const TABLES: usize = 13;

pub(crate) type Env = heed::Env<WithoutTls>;
pub(crate) type ReadTxn<'a> = RoTxn<'a, WithoutTls>;
pub(crate) type Table = Database<'static, Bytes, Bytes>;

/// The tables, see `docs/store-format.md`.
#[derive(Clone, Copy)]
pub(crate) struct Tables {
    /// seq, 8 bytes -> record.
    pub(crate) log: Table,
    /// [`IndexKey`](crate::keys::IndexKey) -> nothing.
    pub(crate) index: Table,
    /// The first 37 bytes of a [`TimelineEntry`](crate::keys::TimelineEntry) -> seq, 5 bytes.
    pub(crate) timeline: Table,
    /// Target id, deleter -> nothing.
    pub(crate) deleted: Table,
    /// [`AddressKey`](crate::keys::AddressKey) -> [`Bar`](crate::version::Bar).
    pub(crate) deleted_address: Table,
    /// Public key -> time of its newest request to vanish, 8 bytes.
    pub(crate) vanished: Table,
    /// Public key -> the same, while events are still to be removed on its behalf.
    pub(crate) vanishing: Table,
    /// seq, 8 bytes -> the timeline entry, then the index keys, of a removed event.
    pub(crate) graveyard: Table,
    /// The first 37 bytes of a timeline entry -> the tallies of the events from there to the next
    /// entry of this table.
    pub(crate) sums: Table,
    /// Id -> record, cause: what was replaced or deleted and is kept.
    pub(crate) archive: Table,
    /// Owner, created_at, id -> nothing.
    pub(crate) archive_index: Table,
    /// Owner -> the time up to which everything of theirs is to leave the archive.
    pub(crate) archive_wipes: Table,
    /// Name -> value.
    pub(crate) meta: Table,
}

const NAMES: [&str; TABLES] = [
    "log",
    "index",
    "timeline",
    "deleted",
    "deleted_address",
    "vanished",
    "vanishing",
    "graveyard",
    "sums",
    "archive",
    "archive_index",
    "archive_wipes",
    "meta",
];

impl Tables {
    fn from_array(tables: [Table; TABLES]) -> Self {
        let [
            log,
            index,
            timeline,
            deleted,
            deleted_address,
            vanished,
            vanishing,
            graveyard,
            sums,
            archive,
            archive_index,
            archive_wipes,
            meta,
        ] = tables;
        Self {
            log,
            index,
            timeline,
            deleted,
            deleted_address,
            vanished,
            vanishing,
            graveyard,
            sums,
            archive,
            archive_index,
            archive_wipes,
            meta,
        }
    }

    /// Every table with its name.
    pub(crate) fn named(&self) -> [(&'static str, Table); TABLES] {
        let tables = [
            self.log,
            self.index,
            self.timeline,
            self.deleted,
            self.deleted_address,
            self.vanished,
            self.vanishing,
            self.graveyard,
            self.sums,
            self.archive,
            self.archive_index,
            self.archive_wipes,
            self.meta,
        ];
        std::array::from_fn(|at| (NAMES[at], tables[at]))
    }
}

/// The names of the `meta` entries.
pub(crate) mod meta {
    /// The format number, 4 bytes.
    pub(crate) const FORMAT: &str = "format";
    /// The key of the prefix hash, 16 bytes.
    pub(crate) const HASH_KEY: &str = "hash_key";
    /// Every event up to this seq, 8 bytes, is in the index and the timeline.
    pub(crate) const INDEXED_THROUGH: &str = "indexed_through";
    /// The kinds that the `sums` table counts as gated, 2 bytes each.
    pub(crate) const GATED_KINDS: &str = "gated_kinds";
    /// The highest seq ever given to a committed event, 8 bytes.
    pub(crate) const LAST_SEQ: &str = "last_seq";
}

/// Holds the right to write to a store for as long as it lives.
pub(crate) struct WriterLock {
    _file: File,
}

impl WriterLock {
    pub(crate) fn take(dir: &Path) -> Result<Self, OpenError> {
        let path = dir.join(LOCK_FILE);
        let io = |source| OpenError::Io { path: path.clone(), source };
        let mut options = File::options();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // A holder that has not written its pid yet is reported as 0.
                let _ = file.read_to_string(&mut holder);
                let pid = holder.trim().parse().unwrap_or(0);
                return Err(OpenError::InUse { dir: dir.into(), pid });
            }
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(io)?;
        writeln!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Self { _file: file })
    }
}

/// Opens for writing; creates directory and tables that are missing.
pub(crate) fn open_writable(dir: &Path, options: &Options) -> Result<(Env, Tables), OpenError> {
    let env = open_env(dir, options.map_bytes, flags_of(options.durability))?;
    // Slots of readers that were killed would keep old pages from being used again.
    env.clear_stale_readers()?;
    let txn = env.write_txn()?;
    let tables = env
        .create_databases_and_commit(txn, |opener, txn| {
            let mut tables = Vec::with_capacity(TABLES);
            for name in NAMES {
                tables.push(opener.create_database::<Bytes, Bytes>(txn, Some(name))?);
            }
            let tables: [_; TABLES] = tables.try_into().expect("one table for each name");
            let [.., meta] = &tables;
            init_meta(*meta, txn)?;
            Ok::<_, OpenError>(CommitOrAbort::<_, ()>::Commit(tables))
        })?
        .unwrap_commit();
    Ok((env, Tables::from_array(tables)))
}

/// Opens what another process may be writing to; creates nothing.
pub(crate) fn open_readable(dir: &Path) -> Result<(Env, Tables), OpenError> {
    if !dir.join(DATA_FILE).exists() {
        return Err(OpenError::Missing(dir.into()));
    }
    let env = open_env(dir, crate::limits::MAP_BYTES_DEFAULT, EnvFlags::READ_ONLY)?;
    let txn = env.read_txn()?;
    let tables = env
        .open_databases_and_commit(txn, |opener, txn| {
            let mut tables = Vec::with_capacity(TABLES);
            for name in NAMES {
                tables.extend(opener.open_database::<Bytes, Bytes>(txn, Some(name))?);
            }
            if let Some(meta) = opener.open_database::<Bytes, Bytes>(txn, Some("meta"))? {
                check_format(meta, txn)?;
            }
            Ok::<_, OpenError>(match <[_; TABLES]>::try_from(tables) {
                Ok(tables) => CommitOrAbort::Commit(tables),
                Err(_) => CommitOrAbort::Abort(()),
            })
        })?
        .commit()
        .ok_or_else(|| OpenError::Missing(dir.into()))?;
    Ok((env, Tables::from_array(tables)))
}

#[allow(unsafe_code, reason = "LMDB maps a file that other programs could change under it")]
fn open_env(dir: &Path, map_bytes: usize, flags: EnvFlags) -> Result<Env, OpenError> {
    let io = |source| OpenError::Io { path: dir.into(), source };
    if !flags.contains(EnvFlags::READ_ONLY) {
        fs::create_dir_all(dir).map_err(io)?;
    }
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    let map_bytes = map_bytes.next_multiple_of(MAP_STEP_BYTES);
    options.map_size(map_bytes).max_dbs(TABLES as u32).max_readers(READERS_MAX);
    // SAFETY: the flags are those of `flags_of` or READ_ONLY; none of them (unlike NO_LOCK or
    // WRITE_MAP) lets safe code break LMDB's isolation.
    unsafe { options.flags(flags) };
    // SAFETY: the files of a store directory are changed through LMDB only; `docs/store-format.md`
    // tells the operator so. Writers exclude each other by the lock file, and LMDB keeps
    // readers and the writer apart by its own lock file.
    let env = unsafe { options.open(dir)? };
    check_length(&env, dir)?;
    Ok(env)
}

/// The address of a byte inside this environment's map of its file.
pub(crate) fn a_mapped_byte(env: &Env, tables: &Tables) -> Option<usize> {
    let txn = env.read_txn().ok()?;
    let value = tables.meta.get(&txn, meta::FORMAT.as_bytes()).ok()??;
    Some(value.as_ptr().addr())
}

/// Lets go of every page of this environment's map, whose place is given. True if that was done.
///
/// JUSTIFICATION: pages of a map that were read once are counted as this process's memory until the
/// system is short of it, and neither LMDB nor heed has a way to give them back.
#[allow(unsafe_code, reason = "a map is given advice by a system call")]
pub(crate) fn let_go_of_map(_env: &Env, place: Place) -> bool {
    let start = std::ptr::with_exposed_provenance_mut(place.start);
    // SAFETY: the range is one map that a value of this environment was found in, so it stays what it
    // is for as long as the environment, which is borrowed: nothing else is ever mapped there. It is
    // shared, of a file, and for reading only: WRITE_MAP is never set (`flags_of`), so LMDB changes
    // the file by writing to it and keeps what is not written in memory of its own. Whoever reads a
    // page that was let go, in whatever thread, is made to wait until the system has mapped the same
    // page of the file again; references into the map stay good and show the same bytes.
    unsafe { libc::madvise(start, place.bytes, libc::MADV_DONTNEED) == 0 }
}

/// Reading a mapped page that is not in the file would kill the process.
fn check_length(env: &Env, dir: &Path) -> Result<(), OpenError> {
    let path = dir.join(DATA_FILE);
    let metadata = fs::metadata(&path).map_err(|source| OpenError::Io { path, source })?;
    let page_bytes = u64::from(env.unnamed_database_stat().page_size);
    let expected = (env.info().last_page_number as u64 + 1) * page_bytes;
    if metadata.len() + UNWRITTEN_BYTES_MAX < expected {
        return Err(OpenError::Truncated { found: metadata.len(), expected });
    }
    Ok(())
}

fn flags_of(durability: Durability) -> EnvFlags {
    match durability {
        Durability::Durable => EnvFlags::empty(),
        Durability::Relaxed => EnvFlags::NO_META_SYNC,
        Durability::Fast => EnvFlags::NO_SYNC,
    }
}

/// Fills the `meta` table of a new store, and looks at the format of an old one.
fn init_meta(table: Database<'_, Bytes, Bytes>, txn: &mut RwTxn<'_>) -> Result<(), OpenError> {
    if !table.is_empty(txn)? {
        return match check_format(table, txn) {
            // `sums::prepare` makes them and says so.
            Err(OpenError::Format { found: FORMAT_WITHOUT_SUMS, .. }) => Ok(()),
            // Its tables are there by now, and empty.
            Err(OpenError::Format { found: FORMAT_WITHOUT_ARCHIVE, .. }) => {
                Ok(table.put(txn, meta::FORMAT.as_bytes(), &FORMAT.to_be_bytes())?)
            }
            checked => checked,
        };
    }
    let zero = Seq::ZERO.0.to_be_bytes();
    table.put(txn, meta::FORMAT.as_bytes(), &FORMAT.to_be_bytes())?;
    table.put(txn, meta::HASH_KEY.as_bytes(), &random_key())?;
    table.put(txn, meta::INDEXED_THROUGH.as_bytes(), &zero)?;
    table.put(txn, meta::LAST_SEQ.as_bytes(), &zero)?;
    Ok(())
}

fn check_format(table: Database<'_, Bytes, Bytes>, txn: &RoTxn<'_>) -> Result<(), OpenError> {
    let found = u32::from_be_bytes(meta_entry(table, txn, meta::FORMAT)?);
    if found == FORMAT { Ok(()) } else { Err(OpenError::Format { found, expected: FORMAT }) }
}

/// 16 bytes that nobody outside can foretell: `RandomState` is seeded by the system.
fn random_key() -> [u8; 16] {
    let mut key = [0; 16];
    for half in key.chunks_exact_mut(8) {
        half.copy_from_slice(&RandomState::new().build_hasher().finish().to_ne_bytes());
    }
    key
}

/// What the `meta` table says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meta {
    pub(crate) hash_key: [u8; 16],
    pub(crate) indexed_through: Seq,
    pub(crate) last_seq: Seq,
}

impl Meta {
    pub(crate) fn read(tables: &Tables, txn: &RoTxn<'_>) -> Result<Self, OpenError> {
        check_format(tables.meta, txn)?;
        Self::read_of_any_format(tables, txn)
    }

    /// The same for a store that may have an older format.
    pub(crate) fn read_of_any_format(tables: &Tables, txn: &RoTxn<'_>) -> Result<Self, OpenError> {
        let table = tables.meta;
        let seq = |name| meta_entry(table, txn, name).map(|bytes| Seq(u64::from_be_bytes(bytes)));
        Ok(Self {
            hash_key: meta_entry(table, txn, meta::HASH_KEY)?,
            indexed_through: seq(meta::INDEXED_THROUGH)?,
            last_seq: seq(meta::LAST_SEQ)?,
        })
    }
}

/// The kinds that the table of sums counts as gated.
pub(crate) fn gated_kinds(tables: &Tables, txn: &RoTxn<'_>) -> Result<Vec<Kind>, ReadError> {
    let bytes = tables.meta.get(txn, meta::GATED_KINDS.as_bytes())?.unwrap_or_default();
    let (kinds, rest) = bytes.as_chunks();
    match rest {
        [] => Ok(kinds.iter().map(|kind| Kind(u16::from_be_bytes(*kind))).collect()),
        _ => Err(ReadError::DamagedEntry("meta")),
    }
}

fn meta_entry<const N: usize>(
    table: Database<'_, Bytes, Bytes>,
    txn: &RoTxn<'_>,
    name: &'static str,
) -> Result<[u8; N], OpenError> {
    let bytes = table.get(txn, name.as_bytes())?;
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or(OpenError::DamagedMeta(name))
}

/// Writes a seq into the `meta` table.
pub(crate) fn put_seq(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    name: &str,
    seq: Seq,
) -> Result<(), heed::Error> {
    tables.meta.put(txn, name.as_bytes(), &seq.0.to_be_bytes())
}

/// The key of the `log` and `graveyard` tables.
pub(crate) fn seq_key(seq: Seq) -> [u8; 8] {
    seq.0.to_be_bytes()
}

/// Reads a key of the `log` and `graveyard` tables.
pub(crate) fn seq_of_key(table: &'static str, key: &[u8]) -> Result<Seq, ReadError> {
    let bytes = key.try_into().map_err(|_| ReadError::DamagedEntry(table))?;
    Ok(Seq(u64::from_be_bytes(bytes)))
}

/// Reads a value of the `vanished` and `vanishing` tables.
pub(crate) fn time_of_value(table: &'static str, value: &[u8]) -> Result<Timestamp, ReadError> {
    let bytes = value.try_into().map_err(|_| ReadError::DamagedEntry(table))?;
    Ok(Timestamp(u64::from_be_bytes(bytes)))
}
