//! One short name for an ordered list of ids.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use zeolite_proto::EventId;

/// Builds the first 16 hex digits of the SHA-256 over concatenated lower-case hex ids.
#[derive(Clone, Debug, Default)]
pub struct FingerprintBuilder(Sha256);

impl FingerprintBuilder {
    /// Adds the next id.
    pub fn push(&mut self, id: &EventId) {
        let mut digits = [0; 64];
        faster_hex::hex_encode(&id.0, &mut digits).expect("64 digits for 32 bytes");
        self.0.update(digits);
    }

    /// The fingerprint of what was pushed.
    pub fn finish(self) -> Fingerprint {
        let hash: [u8; 32] = self.0.finalize().into();
        Fingerprint(hash.first_chunk().copied().expect("a hash has 32 bytes"))
    }
}

/// The fingerprint of a corpus or of a set of ids in `(created_at, id)` order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 8]);

impl Fingerprint {
    /// The fingerprint of these ids in this order.
    pub fn of<'i>(ids: impl IntoIterator<Item = &'i EventId>) -> Self {
        let mut builder = FingerprintBuilder::default();
        ids.into_iter().for_each(|id| builder.push(id));
        builder.finish()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&faster_hex::hex_string(&self.0))
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let mut bytes = [0; 8];
        faster_hex::hex_decode(text.as_bytes(), &mut bytes)
            .map_err(|_| D::Error::custom("expected 16 hex digits as fingerprint"))?;
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with `printf '%064d' 0 | sha256sum` and the like.
    #[test]
    fn fingerprints_are_those_of_the_specification() {
        assert_eq!(Fingerprint::of([]).to_string(), "e3b0c44298fc1c14");
        assert_eq!(Fingerprint::of([&EventId([0; 32])]).to_string(), "60e05bd1b195af2f");
    }
}
