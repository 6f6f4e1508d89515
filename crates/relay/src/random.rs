//! Bytes that nobody outside can foretell.

use std::hash::{BuildHasher, Hasher, RandomState};

/// `N` of them, a multiple of 8: `RandomState` is seeded by the system.
pub(crate) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    for part in bytes.chunks_exact_mut(8) {
        part.copy_from_slice(&RandomState::new().build_hasher().finish().to_ne_bytes());
    }
    bytes
}
