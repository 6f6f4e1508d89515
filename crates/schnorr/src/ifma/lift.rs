//! Sixteen square roots at once.

use super::field::{Factor8, Fe8, limbs, to_fe};
use crate::field;
use crate::point::Affine;

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
        x.square().factor().mul(&x).carried().plus(&seven).factor()
    });
    let [first, second] = roots(&cubes).map(|roots| roots.store());
    let candidates = first.iter().chain(&second);
    points.extend(xs.iter().zip(candidates).map(|(x, y)| Affine::with_root(x, &to_fe(y))));
}

/// [`field::roots`], of each lane.
#[target_feature(enable = "avx512f,avx512ifma")]
fn roots(x: &[Factor8; 2]) -> [Fe8; 2] {
    let [x2, x22, x223] =
        field::powers(x, |base, squares, factor| square_and_mul(base, squares, factor));
    let power = square_and_mul(&x223, 23, &x22);
    let power = square_and_mul(&power, 6, &x2);
    power.map(|power| power.square().factor().square().carried())
}

/// `base` squared so many times, times `factor`.
#[target_feature(enable = "avx512f,avx512ifma")]
fn square_and_mul(base: &[Factor8; 2], squares: usize, factor: &[Factor8; 2]) -> [Factor8; 2] {
    let [mut first, mut second] = *base;
    for _ in 0..squares {
        first = first.square().factor();
        second = second.square().factor();
    }
    [first.mul(&factor[0]).factor(), second.mul(&factor[1]).factor()]
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::arithmetic::Arithmetic;
    use crate::ifma::Ifma;
    use crate::point::tests::same;
    use crate::sum_cases;

    #[test]
    fn lifts_as_k256_does() {
        let Some(mut ifma) = Ifma::new() else { return };
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut xs = sum_cases::field_elements(&mut rng, 400);
        xs.extend([[0xff; 32], sum_cases::MODULUS]);
        let mut points = Vec::new();
        for chunk in xs.chunks(61) {
            ifma.lift(chunk, &mut points);
            assert_eq!(points.len(), chunk.len());
            for (x, point) in chunk.iter().zip(&points) {
                assert!(same(point, &Affine::lift(x)), "{x:02x?}");
            }
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
            // JUSTIFICATION: features that are found at run time.
            // SAFETY: `Ifma::new` has found the features.
            let roots = unsafe {
                roots(&[*Fe8::load(&eights[0]), *Fe8::load(&eights[1])]).map(|roots| roots.store())
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
