//! The coefficients of a batch: 1, then random numbers of 128 bits.
//!
//! They go from -2^127 to 2^127 - 1: as many as from 0 to 2^128 - 1, and one bit shorter to multiply
//! with, for signs are free.

use k256::Scalar;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use super::Item;

/// The generator is seeded with a hash of every byte of the batch, as BIP-340 says: whoever makes a
/// batch cannot choose it after having seen its coefficients.
pub(super) struct Coefficients {
    generator: ChaCha20Rng,
    is_first: bool,
}

impl Coefficients {
    pub(super) fn of(items: &[Item]) -> Self {
        // Each item is 128 bytes, so that no two batches have the same input.
        let mut hash = Sha256::new();
        let mut bytes = [0; 128];
        for (key, id, sig) in items {
            bytes[..32].copy_from_slice(&key.0);
            bytes[32..64].copy_from_slice(&id.0);
            bytes[64..].copy_from_slice(&sig.0);
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

#[cfg(test)]
mod tests {
    use zeolite_proto::{EventId, PubKey, Signature};

    use super::*;

    fn take(items: &[Item]) -> Vec<i128> {
        let mut coefficients = Coefficients::of(items);
        (0..3).map(|_| coefficients.next()).collect()
    }

    /// Every bit of every part of every item changes them all.
    #[test]
    fn they_depend_on_the_whole_batch() {
        let items = [(PubKey([1; 32]), EventId([2; 32]), Signature([3; 64])); 2];
        let plain = take(&items);
        assert_eq!(plain[0], 1);
        assert_eq!(plain, take(&items));
        let differs = |changed: &[Item]| {
            let changed = take(changed);
            assert!(changed[0] == 1 && changed[1] != plain[1] && changed[2] != plain[2]);
        };
        for index in 0..2 {
            for bit in 0..512 {
                let mut changed = items;
                changed[index].2.0[bit / 8] ^= 1 << (bit % 8);
                differs(&changed);
                let mut changed = items;
                let part =
                    if bit < 256 { &mut changed[index].0.0 } else { &mut changed[index].1.0 };
                part[bit % 256 / 8] ^= 1 << (bit % 8);
                differs(&changed);
            }
        }
        differs(&items[..1]);
    }
}
