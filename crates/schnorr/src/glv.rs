//! Splitting a scalar in two of half the length.
//!
//! The curve has an endomorphism that costs one multiplication: (x, y) -> (beta x, y) is lambda
//! times (x, y), with beta^3 = 1 in the field and lambda^3 = 1 modulo the group's order n. So k P is
//! k1 P + k2 (lambda P) for any k1 + k2 lambda = k. The short vectors (a1, b1) and (a2, b2) of
//! the lattice of pairs for zero (Gallant, Lambert, Vanstone, 2001; the basis is in every text
//! on secp256k1) give a pair with both halves below 2^127.4.

use k256::Scalar;

use crate::field::{self, Fe};

/// A half of a scalar, with its sign apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Half {
    pub(crate) magnitude: u128,
    pub(crate) negative: bool,
}

/// No half is greater: (a1 + a2) / 2 for the first and (-b1 + b2) / 2 for the second are the
/// farthest that rounding to the nearest pair can leave, and here is a little more than both.
pub(crate) const HALF_MAX: u128 = 0xa3 << 120;

/// A cube root of one in the field.
const BETA: [u8; 32] = [
    0x7a, 0xe9, 0x6a, 0x2b, 0x65, 0x7c, 0x07, 0x10, 0x6e, 0x64, 0x47, 0x9e, 0xac, 0x34, 0x34, 0xe9,
    0x9c, 0xf0, 0x49, 0x75, 0x12, 0xf5, 0x89, 0x95, 0xc1, 0x39, 0x6c, 0x28, 0x71, 0x95, 0x01, 0xee,
];

/// 192-bit numbers modulo 2^192, least word first: the halves are small, so nothing above matters.
type Words3 = [u64; 3];

const A1: Words3 = [0xe86c_90e4_9284_eb15, 0x3086_d221_a7d4_6bcd, 0]; // also b2
const MINUS_B1: Words3 = [0x6f54_7fa9_0abf_e4c3, 0xe443_7ed6_010e_8828, 0];
const A2: Words3 = [0x57c1_108d_9d44_cfd8, 0x14ca_50f7_a8e2_f3f6, 1];

/// round(2^384 b2 / n) and round(2^384 -b1 / n).
const G1: [u64; 4] =
    [0xe893_209a_45db_b031, 0x3daa_8a14_71e8_ca7f, 0xe86c_90e4_9284_eb15, 0x3086_d221_a7d4_6bcd];
const G2: [u64; 4] =
    [0x1571_b4ae_8ac4_7f71, 0x2212_08ac_9df5_06c6, 0x6f54_7fa9_0abf_e4c4, 0xe443_7ed6_010e_8828];

/// See [`crate::point::Affine::endomorphism`].
pub(crate) fn beta() -> Fe {
    field::parse(&BETA).expect("beta is below p")
}

/// The two halves: the first for the point, the second for its image under the endomorphism.
pub(crate) fn split(scalar: &Scalar) -> [Half; 2] {
    let words = words(scalar);
    let c1 = times_over_2_384(&words, &G1);
    let c2 = times_over_2_384(&words, &G2);
    let low = [words[0], words[1], words[2]];
    let first = sub(&sub(&low, &mul(&c1, &A1)), &mul(&c2, &A2));
    let second = sub(&mul(&c1, &MINUS_B1), &mul(&c2, &A1));
    [signed(first), signed(second)]
}

fn words(scalar: &Scalar) -> [u64; 4] {
    let bytes = scalar.to_bytes();
    let mut words = [0; 4];
    for (word, chunk) in words.iter_mut().rev().zip(bytes.chunks_exact(8)) {
        *word = u64::from_be_bytes(chunk.try_into().expect("chunks of eight"));
    }
    words
}

/// round(a b / 2^384).
fn times_over_2_384(a: &[u64; 4], b: &[u64; 4]) -> Words3 {
    let mut product = [0; 8];
    for i in 0..4 {
        let mut carry = 0;
        for j in 0..4 {
            let sum = u128::from(a[i]) * u128::from(b[j]) + u128::from(product[i + j]) + carry;
            product[i + j] = sum as u64;
            carry = sum >> 64;
        }
        product[i + 4] = carry as u64;
    }
    let (low, carry) = product[6].overflowing_add(product[5] >> 63);
    [low, product[7] + u64::from(carry), 0]
}

fn mul(a: &Words3, b: &Words3) -> Words3 {
    let mut product = [0; 3];
    for i in 0..3 {
        let mut carry = 0;
        for j in 0..3 - i {
            let sum = u128::from(a[i]) * u128::from(b[j]) + u128::from(product[i + j]) + carry;
            product[i + j] = sum as u64;
            carry = sum >> 64;
        }
    }
    product
}

fn sub(a: &Words3, b: &Words3) -> Words3 {
    let mut difference = [0; 3];
    let mut borrow = false;
    for i in 0..3 {
        let (partial, under) = a[i].overflowing_sub(b[i]);
        let (word, under_again) = partial.overflowing_sub(u64::from(borrow));
        difference[i] = word;
        borrow = under | under_again;
    }
    difference
}

/// Reads two's complement.
fn signed(words: Words3) -> Half {
    let negative = words[2] >> 63 == 1;
    let absolute = if negative { sub(&[0; 3], &words) } else { words };
    debug_assert_eq!(absolute[2], 0, "halves are below 2^128");
    Half { magnitude: u128::from(absolute[1]) << 64 | u128::from(absolute[0]), negative }
}

#[cfg(test)]
mod tests {
    use k256::elliptic_curve::ops::Reduce;
    use k256::{FieldBytes, ProjectivePoint};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::point::tests::to_k256;
    use crate::point::{Affine, Jacobian};

    fn scalar(half: Half) -> Scalar {
        let magnitude = Scalar::from(half.magnitude);
        if half.negative { -magnitude } else { magnitude }
    }

    /// Lambda, read off the endomorphism: the cube root of one with lambda G = (beta x, y).
    fn lambda() -> Scalar {
        let image = Affine::generator().endomorphism(&beta());
        let half = split(&-Scalar::ONE);
        // -1 = k1 + k2 lambda gives lambda = (-1 - k1) / k2, whatever the halves are; the
        // comparison with the image of G shows that they are right.
        let [k1, k2] = half.map(scalar);
        let lambda = if bool::from(k2.is_zero()) {
            let [k1, k2] = split(&(Scalar::from(u128::MAX) * Scalar::from(u128::MAX))).map(scalar);
            (Scalar::from(u128::MAX) * Scalar::from(u128::MAX) - k1)
                * k2.invert_vartime().expect("not zero")
        } else {
            (-Scalar::ONE - k1) * k2.invert_vartime().expect("not zero")
        };
        let expected = to_k256(&Jacobian::from(image));
        assert_eq!(ProjectivePoint::GENERATOR * lambda, expected);
        lambda
    }

    #[test]
    fn halves_make_the_whole() {
        let lambda = lambda();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let edges = [0, 1, 2, u128::MAX, 1 << 127, 1 << 64].map(Scalar::from);
        let edges = edges.into_iter().flat_map(|k| [k, -k, k * lambda, -(k * lambda)]);
        let random = (0..20_000).map(|_| {
            let bytes: [u8; 32] = rng.random();
            <Scalar as Reduce<FieldBytes>>::reduce(&bytes.into())
        });
        for k in edges.chain(random) {
            let [k1, k2] = split(&k).map(scalar);
            assert_eq!(k1 + k2 * lambda, k);
        }
    }
}
