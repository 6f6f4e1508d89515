//! Corpora: seeded, deterministic to the byte, signed; or taken from files of real events.
//!
//! [`Spec`] names a corpus; [`generate()`] makes it as a stream of [`Batch`]es in corpus order, signed on
//! all cores, and [`Corpus`] holds a small one in memory. A corpus on disk is NDJSON with a
//! [`Manifest`] beside it; [`Stored`] streams it again. The [`EffectiveSet`] says what a relay must hold
//! after it has taken all of it. `docs/benchmarks/CORPORA.md` describes the shapes.
//!
//! Corpus order is by `(created_at, id)`, so sorting a corpus again changes nothing.

mod batch;
mod body;
mod census;
mod check;
mod classic;
mod compose;
mod effective;
mod fingerprint;
mod fixed;
mod generate;
mod input;
mod manifest;
mod network;
mod pipeline;
mod plan;
mod rng;
#[cfg(test)]
mod shape_tests;
mod signer;
mod social;
mod spec;
mod stored;
mod tally;
mod text;
mod verify;
mod write;
mod zipf;

pub use batch::{Batch, Corpus, CorpusEvent};
pub use census::{Census, Counts};
pub use check::{Checked, Fault, is_signed};
pub use effective::EffectiveBuilder;
pub use effective::fate::Fate;
pub use effective::set::{Comparison, EffectiveSet};
pub use fingerprint::{Fingerprint, FingerprintBuilder};
pub use generate::{Generator, generate};
pub use manifest::{Effective, Manifest};
pub use signer::{Author, EventSigner, SignedEvent};
pub use spec::{SEED, Shape, Spec};
pub use stored::{CorpusError, Stored};
pub use verify::{Findings, verify};
pub use write::{import, write_generated};
