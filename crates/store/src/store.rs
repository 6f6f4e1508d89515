//! Opening a store, and the handle that readers share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use zeolite_proto::EventId;

use crate::admit::Admitter;
use crate::commit::Committer;
use crate::env::{self, Env, Meta, Tables, WriterLock};
use crate::error::{OpenError, ReadError};
use crate::head::HeadCell;
use crate::keys::KeyMaker;
use crate::mapped::Mapped;
use crate::options::Options;
use crate::recovery::{self, Recovery};
use crate::snapshot::Snapshot;
use crate::sums;
use crate::vanish::OwnUrls;

/// What readers and writers of one store share.
pub(crate) struct Inner {
    pub(crate) dir: PathBuf,
    pub(crate) env: Env,
    pub(crate) tables: Tables,
    pub(crate) keys: KeyMaker,
    pub(crate) head: HeadCell,
    pub(crate) own_urls: OwnUrls,
    pub(crate) options: Options,
    mapped: Mapped,
    /// Set when the map has no room left but what deletions need.
    pub(crate) is_full: AtomicBool,
    /// Why writes are refused, once a commit failed.
    stopped: OnceLock<String>,
    recovery: Recovery,
    /// Another process may write to the store; this one does not.
    is_read_only: bool,
}

impl Inner {
    /// The reason why writes are refused, if they are.
    pub(crate) fn stopped(&self) -> Option<&str> {
        self.stopped.get().map(String::as_str)
    }

    /// Refuses writes from here on.
    pub(crate) fn stop(&self, reason: String) {
        // The first reason is the one to report.
        let _ = self.stopped.set(reason);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Lets go of the map of the file if more of it is in memory than is allowed. True if it was.
    pub(crate) fn bound_mapped(&self) -> bool {
        self.mapped.keep_within(&self.env)
    }

    /// True if another process may write to the store.
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only
    }
}

/// A handle for reading. Cheap to clone; the store closes when the last one is dropped.
#[derive(Clone)]
pub struct Store(pub(crate) Arc<Inner>);

/// Opens a store for writing, creating it if there is none. Only one process can hold it so;
/// others may [read](Store::open_read_only) beside it.
pub fn open(dir: &Path, mut options: Options) -> Result<(Store, Admitter, Committer), OpenError> {
    options.gated_kinds.sort_unstable();
    options.gated_kinds.dedup();
    std::fs::create_dir_all(dir).map_err(|source| OpenError::Io { path: dir.into(), source })?;
    let lock = Arc::new(WriterLock::take(dir)?);
    let (env, tables) = env::open_writable(dir, &options)?;
    sums::prepare(&env, &tables, &options)?;
    let own_urls = OwnUrls::new(&options.own_urls);
    let (store, meta) = Store::assemble(dir, env, tables, options, own_urls, false)?;
    let admitter = Admitter::new(&store, Arc::clone(&lock))?;
    let committer = Committer::new(&store, lock, &meta)?;
    Ok((store, admitter, committer))
}

impl Store {
    /// Opens a store that another process may be writing to. It shows what was committed when it
    /// was opened or last [refreshed](Self::refresh), without what is removed later.
    pub fn open_read_only(dir: &Path) -> Result<Self, OpenError> {
        let (env, tables) = env::open_readable(dir)?;
        let options = Options::default();
        Ok(Self::assemble(dir, env, tables, options, OwnUrls::Unknown, true)?.0)
    }

    fn assemble(
        dir: &Path,
        env: Env,
        tables: Tables,
        options: Options,
        own_urls: OwnUrls,
        is_read_only: bool,
    ) -> Result<(Self, Meta), OpenError> {
        let txn = env.read_txn()?;
        let meta = Meta::read(&tables, &txn)?;
        let keys = KeyMaker::new(meta.hash_key);
        let (head, recovery) = {
            let options = (!is_read_only).then_some(&options);
            recovery::rebuild_head(&tables, &txn, &keys, options, &meta)?
        };
        drop(txn);
        let mapped = Mapped::find(&env, &tables, options.mapped_bytes_max);
        let inner = Inner {
            dir: dir.into(),
            mapped,
            env,
            tables,
            keys,
            head: HeadCell::new(head),
            own_urls,
            options,
            is_full: AtomicBool::new(false),
            stopped: OnceLock::new(),
            recovery,
            is_read_only,
        };
        Ok((Self(Arc::new(inner)), meta))
    }

    /// Takes in what another process committed since this store was opened read-only; changes
    /// nothing otherwise. It reads the tail of the log, as opening does.
    ///
    /// A long walk in the order of the log needs this at its end: an event that was replaced
    /// meanwhile is not met any more, and what replaced it lies behind the ceiling.
    pub fn refresh(&self) -> Result<(), OpenError> {
        let inner = &self.0;
        if !inner.is_read_only {
            return Ok(());
        }
        let txn = inner.env.read_txn()?;
        let meta = Meta::read(&inner.tables, &txn)?;
        let (head, _) = recovery::rebuild_head(&inner.tables, &txn, &inner.keys, None, &meta)?;
        inner.head.update(|current| *current = head);
        Ok(())
    }

    /// The store as it is at this moment.
    pub fn snapshot(&self) -> Result<Snapshot<'_>, ReadError> {
        Snapshot::take(&self.0)
    }

    /// Whether the event is stored and not removed.
    pub fn contains(&self, id: &EventId) -> Result<bool, ReadError> {
        Ok(self.snapshot()?.by_id(id)?.is_some())
    }

    /// Frees the slots of readers that were killed, which keep old pages from being used again.
    /// The committer does so from time to time. Gives their number.
    pub fn clear_stale_readers(&self) -> Result<usize, ReadError> {
        Ok(self.0.env.clear_stale_readers()?)
    }

    /// Lets go of the map of the file if more of it is in memory than
    /// [`Options::mapped_bytes_max`]; true if it was. Commits see to it too, so this is for whoever
    /// reads much and writes nothing. It looks in microseconds, and letting go takes a few
    /// milliseconds.
    pub fn bound_mapped(&self) -> bool {
        self.0.bound_mapped()
    }

    /// The directory of the store.
    pub fn dir(&self) -> &Path {
        &self.0.dir
    }

    /// How it was opened.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// What was found in the log's tail at start.
    pub fn recovery(&self) -> &Recovery {
        &self.0.recovery
    }

    /// Why the store refuses writes, if a commit failed.
    pub fn stopped(&self) -> Option<&str> {
        self.0.stopped()
    }

    /// Whether the store has no room left but for deletions.
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }
}
