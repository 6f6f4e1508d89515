//! Scalars as signed digits.
//!
//! A scalar is cut into windows of about equal width. The digits of a window of b bits go from
//! -2^(b-1) to 2^(b-1) - 1; adding 2^(b-1) in every window but the highest turns them into plain ones:
//!
//! ```text
//! biased = k + sum over windows but the highest of 2^(b-1) 2^(offset)
//! digit  = (its bits of biased) - 2^(b-1)      the highest: what is left of biased
//! ```
//!
//! Widths differ by one at most, so that the highest window is as full as the others. A window of one or
//! two digits would hold half of all points in one bucket, where they cannot be added side by side.

use crate::glv::{HALF_MAX, Half};
use crate::point::Jacobian;

/// How scalars are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    count: usize,
    /// Bits of the narrower windows; `wider` windows at the low end have one more.
    bits: usize,
    wider: usize,
    bias: u128,
}

/// A scalar ready to be cut.
#[derive(Clone, Copy)]
pub(crate) struct Recoded {
    biased: u128,
    negative: bool,
}

/// Bits of the scalars.
const SCALAR_BITS: usize = 128;

impl Windows {
    /// From 16 windows of 8 bits, say, to 32 of 4.
    #[cfg(test)]
    pub(crate) const COUNTS: std::ops::RangeInclusive<usize> = 11..=42;

    /// Windows of 3 to 12 bits.
    pub(crate) const fn new(count: usize) -> Self {
        assert!(count >= 11 && count <= 42);
        let mut windows =
            Self { count, bits: SCALAR_BITS / count, wider: SCALAR_BITS % count, bias: 0 };
        let mut window = 0;
        while window < count - 1 {
            windows.bias += 1 << (windows.offset(window) + windows.width(window) - 1);
            window += 1;
        }
        windows
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    const fn width(&self, window: usize) -> usize {
        self.bits + (window < self.wider) as usize
    }

    const fn offset(&self, window: usize) -> usize {
        window * self.bits + if window < self.wider { window } else { self.wider }
    }

    /// Room for the absolute values of digits, zero apart.
    pub(crate) fn digits(&self) -> usize {
        let plain = 1 << (self.width(0) - 1);
        // One more for the carry from below.
        let highest = (HALF_MAX >> self.offset(self.count - 1)) as usize + 1;
        plain.max(highest)
    }

    pub(crate) fn recode(&self, scalar: Half) -> Recoded {
        // Digits outside their window's buckets would be lost in others.
        assert!(scalar.magnitude <= HALF_MAX, "halves are bounded");
        Recoded { biased: scalar.magnitude + self.bias, negative: scalar.negative }
    }

    /// The digit of a window, with the scalar's sign.
    pub(crate) fn digit(&self, scalar: &Recoded, window: usize) -> i32 {
        let shifted = (scalar.biased >> self.offset(window)) as i32;
        let digit = if window + 1 == self.count {
            shifted
        } else {
            let half = 1 << (self.width(window) - 1);
            (shifted & (2 * half - 1)) - half
        };
        if scalar.negative { -digit } else { digit }
    }

    /// The sum of the windows' sums, each times 2 to the power of its offset.
    pub(crate) fn combine(&self, sums: &[Jacobian]) -> Jacobian {
        let mut total = Jacobian::IDENTITY;
        for (window, sum) in sums.iter().enumerate().rev() {
            if !total.is_identity() {
                for _ in 0..self.width(window) {
                    total = total.double();
                }
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
        let edges = [0, 1, HALF_MAX, HALF_MAX - 1, 1 << 127, (1 << 127) - 1];
        let random = (0..2000).map(|_| rng.random::<u128>() >> rng.random_range(0..128));
        let magnitudes: Vec<u128> =
            edges.into_iter().chain(random.filter(|k| *k <= HALF_MAX)).collect();
        for count in Windows::COUNTS {
            let windows = Windows::new(count);
            let digits = windows.digits() as i32;
            for &magnitude in &magnitudes {
                let scalar = windows.recode(Half { magnitude, negative: false });
                let opposite = windows.recode(Half { magnitude, negative: true });
                let mut sum = 0u128;
                for window in (0..count).rev() {
                    let digit = windows.digit(&scalar, window);
                    assert!((-digits..=digits).contains(&digit));
                    assert_eq!(windows.digit(&opposite, window), -digit);
                    sum = (sum << windows.width(window)).wrapping_add_signed(digit.into());
                }
                assert_eq!(sum, magnitude, "{count} windows");
                assert!(windows.digit(&scalar, count - 1) >= 0, "nothing is lost at the top");
            }
        }
    }
}
