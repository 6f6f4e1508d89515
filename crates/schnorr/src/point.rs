//! Points of the curve y^2 = x^3 + 7.

use k256::AffinePoint;
use k256::elliptic_curve::point::AffineCoordinates;

use crate::field::{self, Fe};

/// A point by its coordinates, both of magnitude 1. Never the identity, which has none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affine {
    pub(crate) x: Fe,
    pub(crate) y: Fe,
}

/// A point as (X / Z^2, Y / Z^3), all of magnitude 1; the identity has Z = 0.
///
/// The sums here are complete: they are right for equal points, opposite points and the identity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jacobian {
    x: Fe,
    y: Fe,
    z: Fe,
    /// Spares normalising `z` to find out.
    identity: bool,
}

impl Affine {
    /// The generator of the group.
    pub(crate) fn generator() -> Self {
        Self::from_k256(&AffinePoint::GENERATOR)
    }

    /// The coordinates of a point that is not the identity.
    pub(crate) fn from_k256(point: &AffinePoint) -> Self {
        let [x, y] = [point.x(), point.y()]
            .map(|bytes| field::parse(&bytes.into()).expect("coordinates of a point are below p"));
        Self { x, y }
    }

    /// BIP-340's `lift_x`: the point with this x coordinate and an even y, if there is one.
    pub(crate) fn lift(x: &[u8; 32]) -> Option<Self> {
        let x = field::parse(x)?;
        let y = Option::from(curve(&x).sqrt())?;
        Some(Self::with_even(x, y))
    }

    /// [`Affine::lift`], given c^((p + 1) / 4) for c = x^3 + 7, of magnitude 1, by whatever means.
    ///
    /// The square of that is c or -c, and -1 has no root in this field: c is the proof that the root is
    /// right, -c the proof that there is none. Anything else would be a wrong computation; k256 does it
    /// again then, so that no error in finding roots can change an answer.
    pub(crate) fn with_root(x_bytes: &[u8; 32], root: &Fe) -> Option<Self> {
        let x = field::parse(x_bytes)?;
        let (square, c) = (root.square(), curve(&x));
        if field::is_zero(&(c + square.negate(1))) {
            return Some(Self::with_even(x, *root));
        }
        if field::is_zero(&(c + square)) {
            return None;
        }
        Self::lift(x_bytes)
    }

    /// The point with this x coordinate and the even one of `y` and `-y`, magnitude 1.
    fn with_even(x: Fe, y: Fe) -> Self {
        let y = y.normalize();
        let y = if y.is_odd().into() { y.negate(1).normalize() } else { y };
        Self { x, y }
    }

    pub(crate) fn negate(&self) -> Self {
        Self { x: self.x, y: self.y.negate(1).normalize_weak() }
    }

    /// Lambda times the point, for the lambda of [`crate::glv`]: one product instead of a ladder.
    pub(crate) fn endomorphism(&self, beta: &Fe) -> Self {
        Self { x: self.x.mul(beta), y: self.y }
    }

    /// The sum with `other`, given the inverse of `other.x - self.x`.
    pub(crate) fn add_with(&self, other: &Self, dx_inverse: &Fe) -> Self {
        // Magnitudes: the slope's factor 3; x before normalising 1 + 3; y before it 1 + 2.
        let slope = (other.y + self.y.negate(1)).mul(dx_inverse);
        let x = (slope.square() + (self.x + other.x).negate(2)).normalize_weak();
        let y = (slope.mul(&(self.x + x.negate(1))) + self.y.negate(1)).normalize_weak();
        Self { x, y }
    }
}

/// x^3 + 7 of magnitude 2, for an x of magnitude 1.
pub(crate) fn curve(x: &Fe) -> Fe {
    x.square().mul(x) + Fe::from_u64(7)
}

impl Jacobian {
    pub(crate) const IDENTITY: Self = Self { x: Fe::ONE, y: Fe::ONE, z: Fe::ZERO, identity: true };

    /// From (X : Y : Z), meaning (X / Z, Y / Z), all of magnitude 1; Z = 0 is the identity.
    pub(crate) fn from_homogeneous(x: &Fe, y: &Fe, z: &Fe) -> Self {
        if field::is_zero(z) {
            return Self::IDENTITY;
        }
        Self { x: x.mul(z), y: y.mul(&z.square()), z: *z, identity: false }
    }

    pub(crate) fn is_identity(&self) -> bool {
        self.identity
    }

    pub(crate) fn negate(&self) -> Self {
        Self { y: self.y.negate(1).normalize_weak(), ..*self }
    }

    /// Twice the point. No point of this curve has y = 0: the group's order is odd.
    pub(crate) fn double(&self) -> Self {
        if self.identity {
            return *self;
        }
        let xx = self.x.square();
        let yy = self.y.square();
        let yyyy = yy.square();
        // Magnitudes: s 4, m 3; x before normalising 1 + 9; y before it 1 + 16.
        let s = self.x.mul(&yy).double().double();
        let m = xx.double() + xx;
        let x = (m.square() + s.double().negate(8)).normalize_weak();
        let y = (m.mul(&(s + x.negate(1))) + yyyy.negate(1).mul_single(8)).normalize_weak();
        let z = self.y.mul(&self.z).double().normalize_weak();
        Self { x, y, z, identity: false }
    }

    pub(crate) fn add_affine(&self, other: &Affine) -> Self {
        if self.identity {
            return Self::from(*other);
        }
        let zz = self.z.square();
        let u = other.x.mul(&zz);
        let s = other.y.mul(&zz.mul(&self.z));
        self.finish_add([self.x, u], [self.y, s], &self.z)
    }

    pub(crate) fn add(&self, other: &Self) -> Self {
        if self.identity {
            return *other;
        }
        if other.identity {
            return *self;
        }
        let [zz1, zz2] = [self.z.square(), other.z.square()];
        let us = [self.x.mul(&zz2), other.x.mul(&zz1)];
        let ss = [self.y.mul(&zz2.mul(&other.z)), other.y.mul(&zz1.mul(&self.z))];
        self.finish_add(us, ss, &self.z.mul(&other.z))
    }

    /// `us` and `ss` are both points' X and Y over the common denominator `z`.
    fn finish_add(&self, us: [Fe; 2], ss: [Fe; 2], z: &Fe) -> Self {
        // Magnitudes: h and r 3; x before normalising 1 + 2 + 3; y before it 1 + 2.
        let h = us[1] + us[0].negate(1);
        let r = ss[1] + ss[0].negate(1);
        if field::is_zero(&h) {
            return if field::is_zero(&r) { self.double() } else { Self::IDENTITY };
        }
        let hh = h.square();
        let hhh = h.mul(&hh);
        let v = us[0].mul(&hh);
        let x = (r.square() + hhh.negate(1) + v.double().negate(2)).normalize_weak();
        let y = (r.mul(&(v + x.negate(1))) + ss[0].mul(&hhh).negate(1)).normalize_weak();
        Self { x, y, z: z.mul(&h), identity: false }
    }
}

impl From<Affine> for Jacobian {
    fn from(point: Affine) -> Self {
        Self { x: point.x, y: point.y, z: Fe::ONE, identity: false }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use k256::elliptic_curve::group::CurveAffine;
    use k256::{ProjectivePoint, Scalar};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::sum_cases::MODULUS;

    /// k256's form of a sum, for comparison.
    pub(crate) fn to_k256(sum: &Jacobian) -> ProjectivePoint {
        if sum.is_identity() {
            return ProjectivePoint::IDENTITY;
        }
        let inverse = field::invert(&sum.z).expect("the identity is flagged");
        let squared = inverse.square();
        let x = sum.x.mul(&squared);
        let y = sum.y.mul(&squared.mul(&inverse));
        let [x, y] = [x, y].map(|value| field::bytes(&value).into());
        ProjectivePoint::from(AffinePoint::from_coordinates(&x, &y).expect("a point"))
    }

    /// A random point in both forms.
    pub(crate) fn random(rng: &mut ChaCha8Rng) -> (Affine, ProjectivePoint) {
        let point = ProjectivePoint::GENERATOR * Scalar::from(rng.random::<u128>() | 1);
        (Affine::from_k256(&point.to_affine()), point)
    }

    #[test]
    fn sums_are_k256s_also_of_equal_opposite_and_no_points() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let (a, a_256) = random(&mut rng);
        let (b, b_256) = random(&mut rng);
        // 2a in a form whose Z is not 1.
        let doubled = Jacobian::from(a).double();
        let named = [
            (Jacobian::IDENTITY, ProjectivePoint::IDENTITY),
            (Jacobian::from(a), a_256),
            (Jacobian::from(a.negate()), -a_256),
            (Jacobian::from(b), b_256),
            (doubled, a_256.double()),
            (doubled.negate(), -a_256.double()),
            (doubled.add_affine(&a.negate()), a_256),
            (doubled.add_affine(&b), a_256.double() + b_256),
        ];
        for (left, left_256) in &named {
            assert_eq!(to_k256(left), *left_256);
            assert_eq!(to_k256(&left.double()), left_256.double());
            for (right, right_256) in &named {
                assert_eq!(to_k256(&left.add(right)), left_256 + right_256);
            }
            for (point, point_256) in [(a, a_256), (a.negate(), -a_256), (b, b_256)] {
                assert_eq!(to_k256(&left.add_affine(&point)), *left_256 + point_256);
            }
        }
    }

    /// Whether two liftings agree.
    pub(crate) fn same(left: &Option<Affine>, right: &Option<Affine>) -> bool {
        let coordinates = |point: &Affine| (field::bytes(&point.x), field::bytes(&point.y));
        left.as_ref().map(coordinates) == right.as_ref().map(coordinates)
    }

    /// A wrong root changes nothing but the time.
    #[test]
    fn wrong_roots_change_no_answer() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for wrong in 1..50 {
            let x: [u8; 32] = rng.random();
            let point = Affine::with_root(&x, &Fe::from_u64(wrong));
            assert!(same(&point, &Affine::lift(&x)));
        }
    }

    #[test]
    fn homogeneous_points_are_converted() {
        let (point, point_256) = random(&mut ChaCha8Rng::seed_from_u64(2));
        let z = Fe::from_u64(12_345);
        let converted = Jacobian::from_homogeneous(&point.x.mul(&z), &point.y.mul(&z), &z);
        assert_eq!(to_k256(&converted), point_256);
        let zero = z + z.negate(1);
        assert!(Jacobian::from_homogeneous(&z, &z, &zero).is_identity());
    }

    /// The bytes of the field's order and one more are no coordinates; of other numbers about half.
    #[test]
    fn lifting_agrees_with_k256() {
        use k256::elliptic_curve::point::DecompactPoint;
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut past = MODULUS;
        past[31] += 1;
        let random = (0..64).map(|_| rng.random::<[u8; 32]>());
        let mut lifted = 0;
        for x in random.collect::<Vec<_>>().into_iter().chain([[0; 32], MODULUS, past, [0xff; 32]])
        {
            let expected: Option<AffinePoint> = AffinePoint::decompact(&x.into()).into();
            let point = Affine::lift(&x);
            assert_eq!(point.is_some(), expected.is_some(), "{x:02x?}");
            if let Some(point) = point {
                let expected = expected.expect("both are");
                let expected = if expected.y_is_odd().into() { -expected } else { expected };
                assert_eq!(to_k256(&point.into()), expected.to_curve());
                lifted += 1;
            }
        }
        assert!((10..60).contains(&lifted));
    }
}
