//! Sixteen square roots at once.

use super::field::{Fe8, Limbs, limbs, to_fe};
use crate::field;
use crate::point::{Affine, curve};

/// Two registers' worth: a chain of squares waits for itself, two chains fill the gaps.
pub(super) const LANES: usize = 16;

/// Appends `lift_x` of up to [`LANES`] x coordinates.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn lift(xs: &[[u8; 32]], points: &mut Vec<Option<Affine>>) {
    let mut lanes = [[0; 5]; LANES];
    for (lane, x) in lanes.iter_mut().zip(xs) {
        *lane = limbs(x);
    }
    let (low, _) = lanes.as_chunks::<8>();
    let seven = Fe8::small(7);
    let cubes = [&low[0], &low[1]].map(|lanes| {
        let x = Fe8::load(lanes);
        x.square().mul(&x).add(&seven)
    });
    let [first, second] = roots(&cubes).map(|roots| roots.store());
    let candidates = first.iter().chain(&second);
    points.extend(xs.iter().zip(candidates).map(|(x, y)| checked(x, y)));
}

/// The point at x, given c^((p + 1) / 4) for c = x^3 + 7.
///
/// The square of that is c or -c, and -1 has no root in this field: c is the proof that the root is
/// right, -c the proof that there is none. Anything else would be a wrong computation; k256 does it again
/// then, so that no error of this module can change an answer.
fn checked(x_bytes: &[u8; 32], y: &Limbs) -> Option<Affine> {
    let x = field::parse(x_bytes)?;
    let y = to_fe(y);
    let (square, c) = (y.square(), curve(&x));
    if field::is_zero(&(c + square.negate(1))) {
        return Some(Affine::with_even(x, y));
    }
    if field::is_zero(&(c + square)) {
        return None;
    }
    Affine::lift(x_bytes)
}

/// Each lane to the power of (p + 1) / 4: in binary 223 ones, a zero, 22 ones, four zeros, two ones, two
/// zeros. `x22` is the power of 22 ones.
#[target_feature(enable = "avx512f,avx512ifma")]
fn roots(x: &[Fe8; 2]) -> [Fe8; 2] {
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
    let root = square_and_mul(&x223, 23, &x22);
    let root = square_and_mul(&root, 6, &x2);
    root.map(|root| root.square().square())
}

/// `base` squared so many times, times `factor`.
#[target_feature(enable = "avx512f,avx512ifma")]
fn square_and_mul(base: &[Fe8; 2], squares: usize, factor: &[Fe8; 2]) -> [Fe8; 2] {
    let [mut first, mut second] = *base;
    for _ in 0..squares {
        first = first.square();
        second = second.square();
    }
    [first.mul(&factor[0]), second.mul(&factor[1])]
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::arithmetic::Arithmetic;
    use crate::ifma::Ifma;
    use crate::sum_cases;

    fn same(left: &Option<Affine>, right: &Option<Affine>) -> bool {
        let coordinates = |point: &Affine| (field::bytes(&point.x), field::bytes(&point.y));
        left.as_ref().map(coordinates) == right.as_ref().map(coordinates)
    }

    #[test]
    fn lifts_as_k256_does() {
        let Some(mut ifma) = Ifma::new() else { return };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut xs = sum_cases::field_elements(&mut rng, 400);
        xs.extend([[0xff; 32], {
            let mut p = [0xff; 32];
            (p[27], p[30], p[31]) = (0xfe, 0xfc, 0x2f);
            p
        }]);
        let mut points = Vec::new();
        for chunk in xs.chunks(61) {
            ifma.lift(chunk, &mut points);
            assert_eq!(points.len(), chunk.len());
            for (x, point) in chunk.iter().zip(&points) {
                assert!(same(point, &Affine::lift(x)), "{x:02x?}");
            }
        }
    }

    /// A wrong root changes nothing but the time.
    #[test]
    fn wrong_roots_change_no_answer() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        for _ in 0..50 {
            let x: [u8; 32] = rng.random();
            let wrong = limbs(&{
                let mut bytes: [u8; 32] = rng.random();
                bytes[0] = 1;
                bytes
            });
            assert!(same(&checked(&x, &wrong), &Affine::lift(&x)));
        }
    }

    /// The vector road itself finds the roots; the certificate hides nothing.
    #[test]
    fn roots_are_certified() {
        if Ifma::new().is_none() {
            return;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let elements = sum_cases::field_elements(&mut rng, 200);
        for chunk in elements.as_chunks::<LANES>().0 {
            let lanes = chunk.map(|bytes| limbs(&bytes));
            let (eights, _) = lanes.as_chunks::<8>();
            // SAFETY: `Ifma::new` has found the features.
            let roots = unsafe {
                roots(&[Fe8::load(&eights[0]), Fe8::load(&eights[1])]).map(|roots| roots.store())
            };
            for (bytes, root) in chunk.iter().zip(roots.as_flattened()) {
                let value = field::parse(bytes).expect("elements are below p");
                let square = to_fe(root).square();
                let is_root = field::is_zero(&(square + value.negate(1)));
                let is_none = field::is_zero(&(square + value));
                assert!(is_root || is_none, "{bytes:02x?}");
                let expected = Option::<field::Fe>::from(value.sqrt());
                assert_eq!(is_root, expected.is_some());
            }
        }
    }
}
