//! The scalars of an item, as BIP-340 defines them.

use k256::elliptic_curve::ff::PrimeField;
use k256::elliptic_curve::ops::Reduce;
use k256::{FieldBytes, Scalar};
use sha2::{Digest, Sha256};
use zeolite_proto::{EventId, PubKey};

/// A SHA-256 hash.
pub(super) type Digest256 = [u8; 32];

/// Hashes of the challenge, begun with what they have in common.
pub(super) struct Challenges {
    tagged: Sha256,
}

impl Challenges {
    pub(super) fn new() -> Self {
        let tag = Sha256::digest(b"BIP0340/challenge");
        Self { tagged: Sha256::new().chain_update(tag).chain_update(tag) }
    }

    /// The hash of the first half of a signature, its key and its message.
    pub(super) fn digest(&self, r: &[u8; 32], key: &PubKey, id: &EventId) -> Digest256 {
        let mut bytes = [0; 96];
        bytes[..32].copy_from_slice(r);
        bytes[32..64].copy_from_slice(&key.0);
        bytes[64..].copy_from_slice(&id.0);
        self.tagged.clone().chain_update(bytes).finalize().into()
    }
}

/// The challenge e of which this is the hash.
pub(super) fn from_digest(digest: &Digest256) -> Scalar {
    <Scalar as Reduce<FieldBytes>>::reduce(&FieldBytes::from(*digest))
}

/// Reads s. Zero is refused, as k256 does: no one can find a signature that has it.
pub(super) fn parse_s(bytes: &[u8; 32]) -> Option<Scalar> {
    let s: Option<Scalar> = Scalar::from_repr(FieldBytes::from(*bytes)).into();
    s.filter(|s| !bool::from(s.is_zero()))
}
