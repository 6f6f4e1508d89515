//! Scalars as signed digits.
//!
//! A scalar k below 2^128 is cut into windows of `bits` bits with digits from -2^(bits-1) to
//! 2^(bits-1) - 1. Adding 2^(bits-1) in every window first turns signed digits into plain ones:
//!
//! ```text
//! biased = k + sum over windows w of 2^(bits-1) 2^(bits w)
//! digit w = (bits w.. of biased) - 2^(bits-1)
//! ```

use crate::glv::Half;
use crate::point::Jacobian;

/// How scalars are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    bits: u32,
}

/// A scalar ready to be cut, least word first.
#[derive(Clone, Copy)]
pub(crate) struct Recoded {
    words: [u64; 3],
    negative: bool,
}

/// Room that the sum in [`Windows::recode`] needs: 2^128 + 2^129 (1 + a little) is below 2^130.
const RECODED_BITS: u32 = 130;

impl Windows {
    /// The narrowest and the widest window: 33 windows of 8 buckets, 10 windows of 4,096.
    #[cfg(test)]
    pub(crate) const BITS: std::ops::RangeInclusive<u32> = 4..=13;

    pub(crate) const fn new(bits: u32) -> Self {
        assert!(bits >= 4 && bits <= 13);
        Self { bits }
    }

    pub(crate) fn count(self) -> usize {
        RECODED_BITS.div_ceil(self.bits) as usize
    }

    /// Distinct absolute values of digits, zero apart.
    pub(crate) fn digits(self) -> usize {
        1 << (self.bits - 1)
    }

    pub(crate) fn recode(self, scalar: Half) -> Recoded {
        let mut words = [scalar.magnitude as u64, (scalar.magnitude >> 64) as u64, 0];
        for window in 0..self.count() as u32 {
            let bit = window * self.bits + self.bits - 1;
            let mut carry = 1u64 << (bit % 64);
            for word in &mut words[bit as usize / 64..] {
                let (sum, over) = word.overflowing_add(carry);
                *word = sum;
                carry = u64::from(over);
            }
        }
        Recoded { words, negative: scalar.negative }
    }

    /// The digit of a window, with the scalar's sign.
    pub(crate) fn digit(self, scalar: &Recoded, window: usize) -> i32 {
        let bit = window * self.bits as usize;
        let (word, shift) = (bit / 64, bit % 64);
        let low = scalar.words[word] >> shift;
        // Shifted twice: a shift by 64 has no meaning.
        let high = scalar.words.get(word + 1).map_or(0, |next| next << 1 << (63 - shift));
        let plain = ((low | high) & ((1 << self.bits) - 1)) as i32;
        let digit = plain - (1 << (self.bits - 1));
        if scalar.negative { -digit } else { digit }
    }

    /// The sum of 2^(bits w) times the sum of window w.
    pub(crate) fn combine(self, sums: &[Jacobian]) -> Jacobian {
        let mut total = Jacobian::IDENTITY;
        for sum in sums.iter().rev() {
            for _ in 0..self.bits {
                total = total.double();
            }
            total = total.add(sum);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn digits_make_the_scalar() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let edges = [0, 1, u128::MAX, u128::MAX - 1, 1 << 127, (1 << 127) - 1];
        let random: Vec<u128> =
            (0..2000).map(|_| rng.random::<u128>() >> rng.random_range(0..128)).collect();
        for bits in Windows::BITS {
            let windows = Windows::new(bits);
            let half = windows.digits() as i32;
            for &magnitude in edges.iter().chain(&random) {
                let scalar = windows.recode(Half { magnitude, negative: false });
                let opposite = windows.recode(Half { magnitude, negative: true });
                // Modulo 2^128, which is enough: the sum is below 2^130 in absolute value, and the
                // top windows are small.
                let mut sum = 0u128;
                for window in (0..windows.count()).rev() {
                    let digit = windows.digit(&scalar, window);
                    assert!((-half..half).contains(&digit));
                    assert_eq!(windows.digit(&opposite, window), -digit);
                    sum = (sum << bits).wrapping_add_signed(i128::from(digit));
                }
                assert_eq!(sum, magnitude, "{bits} bits");
                let top = windows.digit(&scalar, windows.count() - 1);
                assert!((0..=half).contains(&top), "nothing is lost at the top: {top}");
            }
        }
    }
}
