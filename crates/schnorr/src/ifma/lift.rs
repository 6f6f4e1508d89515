//! Square roots, up to 24 at once.

use super::field::{Factor8, Fe8, limbs, to_fe};
use crate::field;
use crate::point::Affine;

/// Registers side by side: a chain of squares waits for itself, three chains leave no gaps.
const REGISTERS: usize = 3;

/// Lanes of all of them.
pub(super) const LANES: usize = 8 * REGISTERS;

/// Appends `lift_x` of up to [`LANES`] x coordinates.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn lift(xs: &[[u8; 32]], points: &mut Vec<Option<Affine>>) {
    match xs.len() {
        0..=8 => lift_in::<1>(xs, points),
        9..=16 => lift_in::<2>(xs, points),
        _ => lift_in::<REGISTERS>(xs, points),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn lift_in<const N: usize>(xs: &[[u8; 32]], points: &mut Vec<Option<Affine>>) {
    let mut lanes = [[[0; 5]; 8]; N];
    for (lane, x) in lanes.as_flattened_mut().iter_mut().zip(xs) {
        *lane = limbs(x);
    }
    let seven = Fe8::small(7);
    let cubes = lanes.map(|lanes| {
        let x = Fe8::load(&lanes);
        x.square().factor().mul(&x).carried().plus(&seven).factor()
    });
    let candidates = roots(&cubes).map(|roots| roots.store());
    let candidates = candidates.as_flattened();
    points.extend(xs.iter().zip(candidates).map(|(x, y)| Affine::with_root(x, &to_fe(y))));
}

/// [`field::roots`], of each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn roots<const N: usize>(x: &[Factor8; N]) -> [Fe8; N] {
    let [x2, x22, x223] =
        field::powers(x, |base, squares, factor| square_and_mul(base, squares, factor));
    let power = square_and_mul(&x223, 23, &x22);
    let power = square_and_mul(&power, 6, &x2);
    power.map(|power| power.square().factor().square().carried())
}

/// `base` squared so many times, times `factor`.
#[target_feature(enable = "avx512f,avx512ifma")]
fn square_and_mul<const N: usize>(
    base: &[Factor8; N],
    squares: usize,
    factor: &[Factor8; N],
) -> [Factor8; N] {
    let mut powers = *base;
    for _ in 0..squares {
        for power in &mut powers {
            *power = power.square().factor();
        }
    }
    for (power, factor) in powers.iter_mut().zip(factor) {
        *power = power.mul(factor).factor();
    }
    powers
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
        // One, two and three registers at the end.
        for chunk in [5, 61, 47].iter().flat_map(|len| xs.chunks(*len)) {
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
            let eights: [&[_; 8]; REGISTERS] = std::array::from_fn(|index| &eights[index]);
            // JUSTIFICATION: features that are found at run time.
            // SAFETY: `Ifma::new` has found the features.
            let roots =
                unsafe { roots(&eights.map(|lanes| *Fe8::load(lanes))).map(|it| it.store()) };
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
