//! Copies of a store that is in use: `backup` as it is, `compact` without free pages.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use heed::CompactionOption;

use crate::Store;
use crate::env::DATA_FILE;

/// Why a store could not be copied. What was written of the copy is gone.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The target holds files already.
    #[error("{dir} is not empty", dir = .0.display())]
    NotEmpty(PathBuf),
    /// A file or directory could not be written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// LMDB failed.
    #[error("lmdb: {0}")]
    Lmdb(#[from] heed::Error),
}

impl Store {
    /// Copies the store as of one moment into `dir`, which is created and must be empty. Writing
    /// goes on meanwhile. Everything acknowledged before the call is in the copy, and it is on
    /// disk when this returns. Gives the bytes written.
    ///
    /// The copy holds one read transaction until it is done: pages freed meanwhile are not used
    /// again, so the store grows by what is written in that time.
    pub fn backup(&self, dir: &Path) -> Result<u64, CopyError> {
        self.copy(dir, CompactionOption::Disabled)
    }

    /// The same without free pages, so that the copy takes no more than the events need. LMDB
    /// never gives pages back to the file system; this is how a store shrinks.
    pub fn compact(&self, dir: &Path) -> Result<u64, CopyError> {
        self.copy(dir, CompactionOption::Enabled)
    }

    fn copy(&self, dir: &Path, option: CompactionOption) -> Result<u64, CopyError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |source| CopyError::Io { path, source }
        };
        fs::create_dir_all(dir).map_err(at(dir))?;
        if fs::read_dir(dir).map_err(at(dir))?.next().is_some() {
            return Err(CopyError::NotEmpty(dir.into()));
        }
        let path = dir.join(DATA_FILE);
        let file = self.0.env.copy_to_path(&path, option)?;
        file.sync_all().map_err(at(&path))?;
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(at(dir))?;
        Ok(file.metadata().map_err(at(&path))?.len())
    }
}
