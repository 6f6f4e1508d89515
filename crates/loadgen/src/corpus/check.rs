//! Events of any file, checked on all cores, in the order of the file.

use std::fmt;
use std::io;
use std::path::Path;

use k256::schnorr::signature::hazmat::PrehashVerifier;
use k256::schnorr::{Signature, VerifyingKey};
use zeolite_proto::{Event, EventError, EventParser, EventRef};

use crate::corpus::input::{Chunk, Chunks, open};
use crate::corpus::pipeline::Ordered;
use crate::corpus::stored::CorpusError;

/// Why a text of a file is not taken as an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Between events there is text that is none, or an event is longer than any relay takes.
    Stray,
    /// It is not an event.
    NoEvent,
    /// Its id is not its hash.
    WrongId,
    /// Its signature is not its author's.
    WrongSignature,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stray => "text between events",
            Self::NoEvent => "not an event",
            Self::WrongId => "wrong id",
            Self::WrongSignature => "wrong signature",
        })
    }
}

/// Whether the signature is the author's (BIP-340), one by one with k256.
pub fn is_signed(event: EventRef<'_>) -> bool {
    let Ok(key) = VerifyingKey::from_bytes(&event.pubkey().0.into()) else { return false };
    let Ok(signature) = Signature::try_from(&event.sig().0[..]) else { return false };
    key.verify_prehash(&event.id().0, &signature).is_ok()
}

/// The texts of a chunk as events.
fn check(chunk: &Chunk) -> Vec<Result<Event, Fault>> {
    let mut parser = EventParser::new();
    let events = chunk.texts().map(|text| {
        let text = std::str::from_utf8(text).map_err(|_| Fault::NoEvent)?;
        let event = parser.parse(text).map_err(|error| match error {
            EventError::WrongId => Fault::WrongId,
            _ => Fault::NoEvent,
        })?;
        if is_signed(event.view()) { Ok(event) } else { Err(Fault::WrongSignature) }
    });
    let strays = (0..chunk.strays).map(|_| Err(Fault::Stray));
    events.chain(strays).collect()
}

/// The events of a file in its order, each checked, and what stands between them as faults. An error
/// of the system ends it.
pub struct Checked {
    path: std::path::PathBuf,
    batches: Ordered<io::Result<Vec<Result<Event, Fault>>>>,
}

impl Checked {
    /// Opens NDJSON or JSON arrays, plain, gzip or zstd; `-` is standard input. `threads` check
    /// (0: as many as there are cores).
    pub fn open(path: &Path, threads: usize) -> Result<Self, CorpusError> {
        let input = open(path).map_err(|error| CorpusError::io(path, error))?;
        let work = |chunk: io::Result<Chunk>| chunk.map(|chunk| check(&chunk));
        Ok(Self {
            path: path.to_owned(),
            batches: Ordered::start(threads, Chunks::new(input), work),
        })
    }
}

impl Iterator for Checked {
    type Item = Result<Vec<Result<Event, Fault>>, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        Some(batch.map_err(|error| CorpusError::io(&self.path, error)))
    }
}
