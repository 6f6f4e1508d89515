//! Logarithms, powers and bell curves in integers: the same on every machine.
//!
//! Numbers are fixed-point with 32 bits behind the point, unless they are whole.

use crate::corpus::rng::Rng;

/// The binary logarithm of a whole number above 0.
pub(crate) fn log2(value: u64) -> i64 {
    let whole = value.ilog2();
    // The mantissa, from 1 to 2, with 63 bits behind the point.
    let mut mantissa = u128::from(value) << (63 - whole);
    let mut log = i64::from(whole) << 32;
    for bit in (0..32).rev() {
        mantissa = (mantissa * mantissa) >> 63;
        if mantissa >= 1 << 64 {
            mantissa >>= 1;
            log |= 1 << bit;
        }
    }
    log
}

/// Powers of two with fractions as exponents.
#[derive(Clone, Debug)]
pub(crate) struct Exp2 {
    /// 2^(2^-1), 2^(2^-2), ... with 62 bits behind the point.
    roots: [u64; 32],
}

impl Exp2 {
    pub(crate) fn new() -> Self {
        let mut root = 2u128 << 62;
        let roots = std::array::from_fn(|_| {
            root = (root << 62).isqrt();
            root as u64
        });
        Self { roots }
    }

    /// 2 to this power, rounded down; 0 below 2^0 and 2^62 at most.
    pub(crate) fn whole(&self, exponent: i64) -> u64 {
        if exponent < 0 {
            return 0;
        }
        let whole = (exponent >> 32).min(61) as u32;
        let mut power = 1u64 << 62;
        for (bit, root) in (0..32).rev().zip(&self.roots) {
            if exponent >> bit & 1 == 1 {
                power = ((u128::from(power) * u128::from(*root)) >> 62) as u64;
            }
        }
        power >> (62 - whole)
    }
}

/// A draw from a bell curve of mean 0 and deviation 1: the sum of twelve even draws.
pub(crate) fn bell(rng: &mut Rng) -> i64 {
    let mut sum = 0;
    for _ in 0..3 {
        let bits = rng.bits();
        sum += (0..4).map(|part| (bits >> (16 * part) & 0xffff) as i64).sum::<i64>();
    }
    // Twelve draws of 16 bits around their middle, which is half a step below the half.
    ((sum - 6 * 0xffff) << 16) + (1 << 15)
}

/// Sizes whose logarithms follow a bell curve, as the sizes of texts do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// Half of all sizes lie below.
    pub(crate) median: u32,
    /// Deviation of the binary logarithm, in hundredths: 100 doubles or halves.
    pub(crate) deviation: u32,
    /// No size lies above.
    pub(crate) max: u32,
}

impl Spread {
    pub(crate) fn draw(&self, exp2: &Exp2, rng: &mut Rng) -> usize {
        let deviation = bell(rng) * i64::from(self.deviation) / 100;
        let size = exp2.whole(log2(self.median.into()) + deviation);
        size.min(self.max.into()) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::rng::Purpose;

    /// Within a millionth of what floating point gives.
    #[test]
    fn logarithms_and_powers_are_right() {
        let exp2 = Exp2::new();
        for value in [1u64, 2, 3, 10, 999, 50_000, 1 << 40, (1 << 50) - 7] {
            let log = log2(value);
            let expected = (value as f64).log2();
            assert!((log as f64 / 2f64.powi(32) - expected).abs() < 1e-6, "{value}");
            let back = exp2.whole(log) as f64;
            assert!((back - value as f64).abs() <= 1.0 + value as f64 * 1e-6, "{value}: {back}");
        }
        assert_eq!((exp2.whole(-1), exp2.whole(0), exp2.whole(10 << 32)), (0, 1, 1024));
    }

    #[test]
    fn spreads_have_their_median_and_deviation() {
        let (exp2, mut rng) = (Exp2::new(), Rng::new(1, Purpose::Event, 1));
        let spread = Spread { median: 1000, deviation: 100, max: 100_000 };
        let mut sizes: Vec<_> = (0..100_000).map(|_| spread.draw(&exp2, &mut rng)).collect();
        sizes.sort_unstable();
        let at = |per_cent: usize| sizes[per_cent * 1000];
        assert!((980..1020).contains(&at(50)), "{}", at(50));
        // One deviation up and down: 84.1 and 15.9 of a hundred.
        assert!((1950..2050).contains(&sizes[84_134]) && (490..510).contains(&sizes[15_866]));
    }
}
