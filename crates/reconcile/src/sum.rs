//! Sums of ids, and the fingerprints made of them.

use sha2::{Digest, Sha256};
use zeolite_proto::EventId;

use crate::varint;

/// A sum of ids, each read as a 256-bit little-endian number, modulo 2^256 (N-08). Sums form a
/// group, so that the sum of a range is the difference of two prefix sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum([u64; 4]);

impl Sum {
    /// The sum of nothing.
    pub const ZERO: Self = Self([0; 4]);

    /// This sum and one more id.
    #[must_use]
    pub fn with(self, id: &EventId) -> Self {
        self.merged(Self::from_bytes(&id.0))
    }

    /// This sum with one of its ids taken out.
    #[must_use]
    pub fn without(self, id: &EventId) -> Self {
        self.minus(Self::from_bytes(&id.0))
    }

    /// The sum of both.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        let mut carry = false;
        let mut limbs = self.0;
        for (limb, add) in limbs.iter_mut().zip(other.0) {
            (*limb, carry) = carrying_add(*limb, add, carry);
        }
        Self(limbs)
    }

    /// What is left of this sum without the other.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        let mut borrow = false;
        let mut limbs = self.0;
        for (limb, sub) in limbs.iter_mut().zip(other.0) {
            (*limb, borrow) = borrowing_sub(*limb, sub, borrow);
        }
        Self(limbs)
    }

    /// The sum as 32 little-endian bytes, as it is hashed and may be kept on disk.
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (chunk, limb) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.0) {
            *chunk = limb.to_le_bytes();
        }
        bytes
    }

    /// The sum from its 32 little-endian bytes.
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        let mut limbs = [0; 4];
        for (limb, chunk) in limbs.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *limb = u64::from_le_bytes(*chunk);
        }
        Self(limbs)
    }
}

fn carrying_add(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(u64::from(carry));
    (sum, first | second)
}

fn borrowing_sub(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (rest, first) = a.overflowing_sub(b);
    let (rest, second) = rest.overflowing_sub(u64::from(borrow));
    (rest, first | second)
}

/// What two peers compare instead of a range: 16 bytes of a hash of its sum and count (N-08).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    /// The fingerprint of `count` ids with this sum.
    pub fn new(sum: &Sum, count: usize) -> Self {
        let mut buffer = [0; 32 + varint::BYTES_MAX];
        buffer[..32].copy_from_slice(&sum.to_bytes());
        let (digits, len) = varint::encode(count as u64);
        buffer[32..32 + len].copy_from_slice(&digits[..len]);
        let hash = Sha256::digest(&buffer[..32 + len]);
        let mut first = [0; 16];
        first.copy_from_slice(&hash[..16]);
        Self(first)
    }
}
