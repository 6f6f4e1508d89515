//! A corpus on disk.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use zeolite_proto::{EventId, Kind, PubKey, Timestamp};

use crate::corpus::batch::{Batch, Corpus};
use crate::corpus::body::Head;
use crate::corpus::fingerprint::FingerprintBuilder;
use crate::corpus::manifest::Manifest;

/// Buffer before the lines: some hundred events for each system call.
const READ_BYTES: usize = 1 << 20;
/// What the fields before the tags take at most: 2 * 64 digits, two numbers and the names.
const HEAD_BYTES_MAX: usize = 256;

/// Why a corpus cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The file or its manifest cannot be read.
    #[error("{path}: {error}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// There is no manifest: the file is no corpus yet.
    #[error("{0}: has no manifest; make a corpus of it with `zeolite-load corpus import`")]
    NoManifest(PathBuf),
    /// The manifest is not one.
    #[error("{path}: {error}")]
    Manifest {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// A line is not an event.
    #[error("{path}: event {number}: {reason}")]
    Event {
        /// Which file.
        path: PathBuf,
        /// Its number, from 1.
        number: u64,
        /// What is wrong.
        reason: String,
    },
    /// The file does not hold what its manifest says.
    #[error("{path}: {what} is {found}, the manifest says {expected}")]
    Differs {
        /// Which file.
        path: PathBuf,
        /// What was compared.
        what: &'static str,
        /// What the file holds.
        found: String,
        /// What the manifest says.
        expected: String,
    },
}

impl CorpusError {
    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        Self::Io { path: path.to_owned(), error }
    }
}

/// A corpus on disk, read batch by batch in corpus order.
///
/// It takes the file at its word: hashes and signatures are what `corpus verify` checks. At the end
/// the number of events and the fingerprint are compared with the manifest, and the last item is an
/// error if they differ.
pub struct Stored {
    path: PathBuf,
    manifest: Manifest,
    lines: BufReader<File>,
    line: Vec<u8>,
    read: u64,
    fingerprint: Option<FingerprintBuilder>,
}

impl Stored {
    /// Opens a corpus that was generated or imported.
    pub fn open(path: &Path) -> Result<Self, CorpusError> {
        let manifest = Manifest::beside(path)?;
        let file = File::open(path).map_err(|error| CorpusError::io(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            manifest,
            lines: BufReader::with_capacity(READ_BYTES, file),
            line: Vec::new(),
            read: 0,
            fingerprint: Some(FingerprintBuilder::default()),
        })
    }

    /// What stands beside it.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn next_batch(&mut self) -> Result<Option<Batch>, CorpusError> {
        let mut batch = Batch::default();
        while !batch.is_full() && self.read_line()? {
            let line = self.line.trim_ascii_end();
            let head = read_head(line).ok_or_else(|| CorpusError::Event {
                path: self.path.clone(),
                number: self.read,
                reason: "is not written as corpora are; import the file".to_owned(),
            })?;
            batch.push_json(head, line);
            if let Some(fingerprint) = &mut self.fingerprint {
                fingerprint.push(&head.0);
            }
        }
        if batch.is_empty() { self.check_end().map(|()| None) } else { Ok(Some(batch)) }
    }

    fn read_line(&mut self) -> Result<bool, CorpusError> {
        self.line.clear();
        let read = self.lines.read_until(b'\n', &mut self.line);
        self.read += 1;
        read.map(|bytes| bytes > 0).map_err(|error| CorpusError::io(&self.path, error))
    }

    fn check_end(&mut self) -> Result<(), CorpusError> {
        let Some(fingerprint) = self.fingerprint.take() else { return Ok(()) };
        let (found, expected) = (fingerprint.finish(), self.manifest.fingerprint);
        if found == expected {
            return Ok(());
        }
        Err(CorpusError::Differs {
            path: self.path.clone(),
            what: "fingerprint",
            found: found.to_string(),
            expected: expected.to_string(),
        })
    }
}

impl Iterator for Stored {
    type Item = Result<Batch, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl Corpus {
    /// Reads a whole corpus into memory; see [`Stored`].
    pub fn open(path: &Path) -> Result<Self, CorpusError> {
        Stored::open(path)?.collect()
    }
}

/// The fields before the tags, which stand at fixed places in what we write.
fn read_head(line: &[u8]) -> Option<(EventId, Head)> {
    let text = std::str::from_utf8(line.get(..HEAD_BYTES_MAX.min(line.len()))?);
    // The cut may fall into a character of the content; what stands before it is enough.
    let text = match &text {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&line[..error.valid_up_to()]).ok()?,
    };
    let (id, rest) = text.strip_prefix("{\"id\":\"")?.split_at_checked(64)?;
    let (pubkey, rest) = rest.strip_prefix("\",\"pubkey\":\"")?.split_at_checked(64)?;
    let (created_at, rest) = rest.strip_prefix("\",\"created_at\":")?.split_once(',')?;
    let (kind, _) = rest.strip_prefix("\"kind\":")?.split_once(',')?;
    let head = Head {
        pubkey: PubKey::from_hex(pubkey).ok()?,
        created_at: Timestamp(created_at.parse().ok()?),
        kind: Kind(kind.parse().ok()?),
    };
    Some((EventId::from_hex(id).ok()?, head))
}
