//! What names a generated corpus.

use std::fmt;
use std::str::FromStr;

/// The shape of a corpus and the version of its generator: a change that alters a byte is a new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The shape that published relay figures use: easy on a relay.
    ClassicV1,
    /// Closer to a public relay: deletions, versions, expiry, ties, large events.
    NetworkV1,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 2] = [Self::ClassicV1, Self::NetworkV1];

    /// The name on the command line and in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClassicV1 => "classic-v1",
            Self::NetworkV1 => "network-v1",
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|shape| shape.name() == text)
            .ok_or_else(|| "expected classic-v1 or network-v1".to_owned())
    }
}

/// The seed of published figures.
pub const SEED: u64 = 1;

/// A generated corpus: equal specs give equal bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The shape.
    pub shape: Shape,
    /// How many events.
    pub events: u32,
    /// Where all randomness comes from.
    pub seed: u64,
}

impl Spec {
    /// A corpus with the seed of published figures.
    pub fn new(shape: Shape, events: u32) -> Self {
        Self { shape, events, seed: SEED }
    }
}
