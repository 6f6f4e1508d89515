//! The coefficients of a batch: 1, then random numbers of 128 bits.
//!
//! They go from -2^127 to 2^127 - 1: as many as from 0 to 2^128 - 1, and one bit shorter to multiply
//! with, for signs are free.

use k256::Scalar;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use super::challenge::Digest256;

/// The generator is seeded with a hash of every byte of the batch, as BIP-340 says: whoever makes a
/// batch cannot choose it after having seen its coefficients.
///
/// Each item goes in by the hash of its challenge, which stands for r, the key and the id, and by s.
/// That is half of the item's bytes, and two batches with the same hash would have a collision of
/// SHA-256 in one place or the other.
pub(super) struct Coefficients {
    generator: ChaCha20Rng,
    is_first: bool,
}

impl Coefficients {
    /// Of a batch, by the challenges' hashes and s of all of its items.
    pub(super) fn of<'a>(items: impl Iterator<Item = (&'a Digest256, &'a [u8; 32])>) -> Self {
        // Each item is 64 bytes, so that no two batches have the same input.
        let mut hash = Sha256::new();
        let mut bytes = [0; 64];
        for (digest, s) in items {
            bytes[..32].copy_from_slice(digest);
            bytes[32..].copy_from_slice(s);
            hash.update(bytes);
        }
        Self { generator: ChaCha20Rng::from_seed(hash.finalize().into()), is_first: true }
    }

    pub(super) fn next(&mut self) -> i128 {
        if std::mem::take(&mut self.is_first) {
            return 1;
        }
        let [low, high] = [self.generator.next_u64(), self.generator.next_u64()];
        (u128::from(high) << 64 | u128::from(low)).cast_signed()
    }
}

/// A coefficient modulo the group's order.
pub(super) fn scalar(coefficient: i128) -> Scalar {
    let magnitude = Scalar::from(coefficient.unsigned_abs());
    if coefficient < 0 { -magnitude } else { magnitude }
}
