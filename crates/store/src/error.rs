//! What can go wrong, one enum per operation.

use std::path::PathBuf;

use zeolite_proto::{RecordError, Seq};

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process writes to this store.
    #[error("the store at {dir} is in use by process {pid}", dir = dir.display())]
    InUse {
        /// The directory of the store.
        dir: PathBuf,
        /// The process that holds it, as its lock file says; 0 if that cannot be read.
        pid: u32,
    },
    /// There is no store in this directory, and it was not to be created.
    #[error("there is no store at {dir}", dir = .0.display())]
    Missing(PathBuf),
    /// The store was written in a format that this version does not read.
    #[error("the store has format {found}, this version reads format {expected}")]
    Format {
        /// The format of the store.
        found: u32,
        /// The format of this version.
        expected: u32,
    },
    /// The data file is shorter than what it says of itself: its end was cut off.
    #[error("the store's data file has {found} bytes and should have {expected}")]
    Truncated {
        /// Bytes of the file.
        found: u64,
        /// Bytes of the pages that the last commit refers to.
        expected: u64,
    },
    /// An entry of the `meta` table is missing or has the wrong length.
    #[error("the store's meta entry {0} is damaged")]
    DamagedMeta(&'static str),
    /// A file could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// LMDB failed.
    #[error("lmdb: {0}")]
    Lmdb(#[from] heed::Error),
    /// A table could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// LMDB failed.
    #[error("lmdb: {0}")]
    Lmdb(#[from] heed::Error),
    /// A record of the log is damaged.
    #[error("event {seq} of the log: {source}")]
    Damaged {
        /// Which record.
        seq: Seq,
        /// What is wrong with it.
        source: RecordError,
    },
    /// An entry of a table has a wrong length, or contradicts another.
    #[error("an entry of table {0} is damaged")]
    DamagedEntry(&'static str),
    /// So many events wait to be removed that telling what is visible takes too long.
    #[error("too many events wait to be removed")]
    Unsettled,
}

/// Why events were not admitted.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A commit failed; the store takes no more writes until it is reopened.
    #[error("the store refuses writes until it is reopened: {0}")]
    Stopped(String),
    /// What is stored could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<heed::Error> for WriteError {
    fn from(error: heed::Error) -> Self {
        Self::Read(error.into())
    }
}

/// Why batches were not committed. Nothing of them is in the store.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// An earlier commit failed.
    #[error("an earlier commit failed: {0}")]
    Stopped(String),
    /// LMDB failed.
    #[error("lmdb: {0}")]
    Lmdb(#[from] heed::Error),
    /// Something that had to be read for the commit could not be.
    #[error(transparent)]
    Read(#[from] ReadError),
}
