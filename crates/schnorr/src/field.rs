//! The field of the curve's coordinates, as k256 implements it.
//!
//! k256 reduces lazily: each value has a *magnitude* that sums add up and products bring back to 1.
//! Values that are kept (in points) have magnitude 1; comments state what intermediate values
//! reach. In builds with debug assertions k256 checks every magnitude, so that tests do as well.

use k256::elliptic_curve::hazmat::FieldArithmetic;
use k256::{FieldBytes, Secp256k1};

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
/// The power of p - 2 (Fermat): 255 squares and 15 products, a third of the time of k256's own
/// inversion. The exponent in binary is 223 ones, a zero, 22 ones, four zeros and 101101.
pub(crate) fn invert(value: &Fe) -> Option<Fe> {
    let x = value;
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
    let power = square_and_mul(&x223, 23, &x22);
    let power = square_and_mul(&power, 5, x);
    let power = square_and_mul(&power, 3, &x2);
    let inverse = square_and_mul(&power, 2, x);
    (!is_zero(&inverse)).then_some(inverse)
}

/// `base` squared so many times, times `factor`.
fn square_and_mul(base: &Fe, squares: usize, factor: &Fe) -> Fe {
    let mut power = *base;
    for _ in 0..squares {
        power = power.square();
    }
    power.mul(factor)
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
