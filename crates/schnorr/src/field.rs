//! The field of the curve's coordinates, as k256 implements it.
//!
//! k256 reduces lazily: each value has a *magnitude* that sums add up and products bring back to 1.
//! Values that are kept (in points) have magnitude 1; comments state what intermediate values
//! reach. In builds with debug assertions k256 checks every magnitude, so that tests do as well.

use k256::elliptic_curve::hazmat::FieldArithmetic;
use k256::{FieldBytes, Secp256k1};

use crate::inverse;

/// An element of the field of p = 2^256 - 2^32 - 977 elements.
pub(crate) type Fe = <Secp256k1 as FieldArithmetic>::FieldElement;

/// Reads a big-endian number below p.
pub(crate) fn parse(bytes: &[u8; 32]) -> Option<Fe> {
    Fe::from_bytes(&FieldBytes::from(*bytes)).into()
}

/// Big-endian, below p.
pub(crate) fn bytes(value: &Fe) -> [u8; 32] {
    value.to_bytes().into()
}

pub(crate) fn is_zero(value: &Fe) -> bool {
    value.normalizes_to_zero().into()
}

/// One over a value of magnitude at most 8; `None` for zero.
///
/// By [`inverse::invert`], in a quarter of the time of k256's own inversion and of the power of p - 2.
/// The product with the value shows that it is right; anything else is computed again by k256.
pub(crate) fn invert(value: &Fe) -> Option<Fe> {
    let candidate = inverse::invert(&bytes(&value.normalize())).and_then(|bytes| parse(&bytes));
    if let Some(candidate) = candidate
        && is_zero(&(candidate.mul(value) + Fe::ONE.negate(1)))
    {
        return Some(candidate);
    }
    value.normalize().invert().into()
}

/// The square root of each value that has one, and that of its negative for each that has none.
///
/// The power of (p + 1) / 4, in binary 223 ones, a zero, 22 ones, four zeros, two ones and two zeros.
/// One root waits for its last square most of the time: several side by side are faster.
pub(crate) fn roots<const N: usize>(values: &[Fe; N]) -> [Fe; N] {
    let [x2, x22, x223] = powers(values, square_and_mul);
    let power = square_and_mul(&x223, 23, &x22);
    let power = square_and_mul(&power, 6, &x2);
    power.map(|power| power.square().square())
}

/// x to the powers of 2, 22 and 223 ones in binary, of which the exponents here are made.
/// `square_and_mul` squares the first so many times and multiplies with the last.
pub(crate) fn powers<T>(x: &T, square_and_mul: impl Fn(&T, usize, &T) -> T) -> [T; 3] {
    let x2 = square_and_mul(x, 1, x);
    let x3 = square_and_mul(&x2, 1, x);
    let x6 = square_and_mul(&x3, 3, &x3);
    let x9 = square_and_mul(&x6, 3, &x3);
    let x11 = square_and_mul(&x9, 2, &x2);
    let x22 = square_and_mul(&x11, 11, &x11);
    let x44 = square_and_mul(&x22, 22, &x22);
    let x88 = square_and_mul(&x44, 44, &x44);
    let x176 = square_and_mul(&x88, 88, &x88);
    let x220 = square_and_mul(&x176, 44, &x44);
    let x223 = square_and_mul(&x220, 3, &x3);
    [x2, x22, x223]
}

fn square_and_mul<const N: usize>(base: &[Fe; N], squares: usize, factor: &[Fe; N]) -> [Fe; N] {
    let mut powers = *base;
    for _ in 0..squares {
        for power in &mut powers {
            *power = power.square();
        }
    }
    std::array::from_fn(|index| powers[index].mul(&factor[index]))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::sum_cases::field_elements;

    #[test]
    fn inverses_are_k256s() {
        for bytes in field_elements(&mut ChaCha8Rng::seed_from_u64(1), 200) {
            let value = parse(&bytes).expect("elements are below p");
            let expected: Option<Fe> = value.invert().into();
            let inverse = invert(&value).map(|inverse| super::bytes(&inverse));
            assert_eq!(inverse, expected.map(|inverse| super::bytes(&inverse)));
        }
    }
}
