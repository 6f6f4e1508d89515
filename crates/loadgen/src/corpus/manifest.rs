//! What stands beside a corpus on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};
use zeolite_proto::Kind;

use crate::corpus::fingerprint::Fingerprint;
use crate::corpus::stored::CorpusError;

/// The description of a corpus, as JSON beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// `generated`, or the name of the file the events were taken from.
    pub source: String,
    /// The shape, or `import`.
    pub generator: String,
    /// The version of the program that wrote it.
    pub version: String,
    /// Where the randomness came from; absent for imported events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The earliest `created_at` that the corpus may have.
    pub base_time: u64,
    /// Seconds that the corpus spans at most.
    pub span_s: u64,
    /// How many events.
    pub events: u64,
    /// Bytes of the file, uncompressed.
    pub bytes: u64,
    /// Over all ids in corpus order.
    pub fingerprint: Fingerprint,
    /// How many events of each kind.
    pub kinds: BTreeMap<u16, u64>,
    /// What a relay holds after it has taken all of it.
    pub effective: Effective,
    /// What was left out of an imported file, by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dropped: BTreeMap<String, u64>,
}

/// The effective set of a corpus in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effective {
    /// The time it was computed for. A generated corpus has the same set at any time from its end
    /// to the year 2100.
    pub now: u64,
    /// How many events.
    pub events: u64,
    /// Over their ids in `(created_at, id)` order.
    pub fingerprint: Fingerprint,
}

impl Manifest {
    /// Where the manifest of a corpus lies: its path with `.manifest.json` behind it.
    pub fn path_of(corpus: &Path) -> PathBuf {
        let mut path = corpus.as_os_str().to_owned();
        path.push(".manifest.json");
        path.into()
    }

    /// Reads the manifest of a corpus.
    pub fn beside(corpus: &Path) -> Result<Self, CorpusError> {
        let path = Self::path_of(corpus);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && corpus.exists() => {
                return Err(CorpusError::NoManifest(corpus.to_owned()));
            }
            read => read.map_err(|error| CorpusError::io(&path, error))?,
        };
        serde_json::from_slice(&text).map_err(|error| CorpusError::Manifest { path, error })
    }

    /// Writes the manifest of a corpus.
    pub fn write_beside(&self, corpus: &Path) -> Result<(), CorpusError> {
        let path = Self::path_of(corpus);
        let mut text = serde_json::to_vec_pretty(self).expect("a manifest is plain data");
        text.push(b'\n');
        fs::write(&path, text).map_err(|error| CorpusError::io(&path, error))
    }

    /// How many events of this kind.
    pub fn events_of(&self, kind: Kind) -> u64 {
        self.kinds.get(&kind.0).copied().unwrap_or(0)
    }
}
