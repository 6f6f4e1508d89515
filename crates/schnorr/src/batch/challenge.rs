//! The scalars of an item, as BIP-340 defines them.

use k256::elliptic_curve::ff::PrimeField;
use k256::elliptic_curve::ops::Reduce;
use k256::{FieldBytes, Scalar};
use sha2::{Digest, Sha256};
use zeolite_proto::{EventId, PubKey};

/// Hashes of the challenge, begun with what they have in common.
pub(super) struct Challenges {
    tagged: Sha256,
}

impl Challenges {
    pub(super) fn new() -> Self {
        let tag = Sha256::digest(b"BIP0340/challenge");
        Self { tagged: Sha256::new().chain_update(tag).chain_update(tag) }
    }

    /// The challenge e of a signature that starts with `r`.
    pub(super) fn of(&self, r: &[u8; 32], key: &PubKey, id: &EventId) -> Scalar {
        let hash = self.tagged.clone().chain_update(r).chain_update(key.0).chain_update(id.0);
        <Scalar as Reduce<FieldBytes>>::reduce(&hash.finalize())
    }
}

/// Reads s. Zero is refused, as k256 does: no one can find a signature that has it.
pub(super) fn parse_s(bytes: &[u8; 32]) -> Option<Scalar> {
    let s: Option<Scalar> = Scalar::from_repr(FieldBytes::from(*bytes)).into();
    s.filter(|s| !bool::from(s.is_zero()))
}
