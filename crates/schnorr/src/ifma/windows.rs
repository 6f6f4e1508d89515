//! Sums of d times bucket d, eight windows at a time.
//!
//! Lanes cannot branch, so these additions are the complete ones of Renes, Costello and Batina
//! ("Complete addition formulas for prime order elliptic curves", 2015, algorithms 7 and 8), in
//! coordinates (X : Y : Z) meaning (X / Z, Y / Z): right for equal points, opposite points and the
//! identity (0 : 1 : 0).

use super::field::{Factor8, Fe8, Product8, to_fe};
use super::sums::Sums;
use crate::point::Jacobian;
use crate::windows::Windows;

#[derive(Clone, Copy)]
struct Projective8 {
    x: Fe8,
    y: Fe8,
    z: Fe8,
}

/// Appends the sum of each window.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn sum_windows(sums: &Sums, windows: Windows, window_sums: &mut Vec<Jacobian>) {
    for first in (0..windows.count()).step_by(8) {
        let lanes = (windows.count() - first).min(8);
        let total = sum_eight(sums, windows, first, lanes);
        let [xs, ys, zs] = [total.x, total.y, total.z].map(|value| value.store());
        for lane in 0..lanes {
            let [x, y, z] = [&xs[lane], &ys[lane], &zs[lane]].map(to_fe);
            window_sums.push(Jacobian::from_homogeneous(&x, &y, &z));
        }
    }
}

/// From the highest digit down: the running sum of the buckets is added once for each digit.
#[target_feature(enable = "avx512f,avx512ifma")]
fn sum_eight(sums: &Sums, windows: Windows, first: usize, lanes: usize) -> Projective8 {
    let digits = windows.digits();
    let mut running = identity();
    let mut total = identity();
    let buckets = &sums.filled[first * digits..(first + lanes) * digits];
    let highest =
        buckets.chunks(digits).filter_map(|window| window.iter().rposition(|it| *it)).max();
    for digit in (0..highest.map_or(0, |highest| highest + 1)).rev() {
        let (mut rows, mut filled) = ([0; 8], 0);
        for (lane, row) in rows.iter_mut().enumerate().take(lanes) {
            let bucket = (first + lane) * digits + digit;
            *row = bucket as u32;
            filled |= u8::from(sums.filled[bucket]) << lane;
        }
        if filled != 0 {
            let x = Fe8::gather(&sums.table, &rows, 0);
            let y = Fe8::gather(&sums.table, &rows, 5);
            running = running.blend(&running.add_affine(&x, &y), filled);
        }
        total = total.add(&running);
    }
    total
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn identity() -> Projective8 {
    let [zero, one] = [Fe8::small(0), Fe8::small(1)];
    Projective8 { x: zero, y: one, z: zero }
}

impl Projective8 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn blend(&self, other: &Self, mask: u8) -> Self {
        Self {
            x: self.x.blend(&other.x, mask),
            y: self.y.blend(&other.y, mask),
            z: self.z.blend(&other.z, mask),
        }
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add(&self, other: &Self) -> Self {
        let xx = self.x.mul(&other.x).carried();
        let yy = self.y.mul(&other.y).carried();
        let zz = self.z.mul(&other.z).carried();
        let xy = cross(&self.x, &self.y, &other.x, &other.y, &xx, &yy).factor();
        let yz = cross(&self.y, &self.z, &other.y, &other.z, &yy, &zz).carried();
        let xz21 = cross(&self.x, &self.z, &other.x, &other.z, &xx, &zz).times_21().factor();
        finish(&xx, &yy, &zz, &xy, &yz, &xz21)
    }

    /// The sum with points that have coordinates.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add_affine(&self, x: &Fe8, y: &Fe8) -> Self {
        let xx = self.x.mul(x).carried();
        let yy = self.y.mul(y).carried();
        let xy = cross(&self.x, &self.y, x, y, &xx, &yy).factor();
        let yz = y.mul(&self.z).plus(&self.y).carried();
        let xz21 = x.mul(&self.z).plus(&self.x).times_21().factor();
        finish(&xx, &yy, &self.z, &xy, &yz, &xz21)
    }
}

/// a1 b2 + a2 b1, given a1 a2 and b1 b2.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn cross(a1: &Fe8, b1: &Fe8, a2: &Fe8, b2: &Fe8, aa: &Fe8, bb: &Fe8) -> Product8 {
    a1.plus(b1).factor().mul_sub_both(&a2.plus(b2).factor(), aa, bb)
}

/// The sum from the products and mixed products of two points' coordinates. 21 is three times the 7
/// of the curve's equation.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn finish(xx: &Fe8, yy: &Fe8, zz: &Fe8, xy: &Factor8, yz: &Fe8, xz21: &Factor8) -> Projective8 {
    let xx3 = xx.times_3().factor();
    let zz21 = zz.times_21();
    let [plus, minus] = [yy.plus(&zz21).factor(), yy.minus(&zz21).factor()];
    Projective8 {
        x: xy.mul_add(&minus, &yz.negate().factor(), xz21).carried(),
        y: plus.mul_add(&minus, &xx3, xz21).carried(),
        z: yz.mul_add(&plus, &xx3, xy).carried(),
    }
}
