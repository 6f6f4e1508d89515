//! Products, and the carries after products and sums.
//!
//! A processor with two vector units does two of these instructions in a cycle, whichever they are:
//! additions and shifts cost as much as multiplications. So halves of products are accumulated where they
//! belong without sums apart, subtrahends are what accumulation starts with, and sums of products are
//! reduced once.

use std::arch::x86_64::*;

use super::{FOLD_256, FOLD_260, Factor8, Fe8, MASK_48, MASK_52, P, Registers, splat};

/// Products that are not carried: limbs below 2^63, so that carrying adds less than 2^11 to a limb.
#[derive(Clone, Copy)]
pub(in crate::ifma) struct Product8(Registers);

/// Sums and differences that are not carried: limbs below 2^54, limb 4 below 2^51 - 4.
#[derive(Clone, Copy)]
pub(in crate::ifma) struct Sum8(pub(super) Registers);

/// Limb products by weight, the k-th times 2^(52 k).
type Columns = [__m512i; 10];

impl Factor8 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(in crate::ifma) fn mul(&self, other: &Self) -> Product8 {
        reduce(multiply(zeros(), self, other))
    }

    /// `self` times `other`, less `subtrahend`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(in crate::ifma) fn mul_sub(&self, other: &Self, subtrahend: &Fe8) -> Product8 {
        reduce(multiply(columns(&subtrahend.negate()), self, other))
    }

    /// `self` times `other`, less the sum of two values.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(in crate::ifma) fn mul_sub_both(
        &self,
        other: &Self,
        first: &Fe8,
        second: &Fe8,
    ) -> Product8 {
        reduce(multiply(columns(&less_both(first, second)), self, other))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(in crate::ifma) fn square(&self) -> Product8 {
        reduce(squares(doubled_crosses(self), self))
    }

    /// The square, less the sum of two values.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(in crate::ifma) fn square_sub_both(&self, first: &Fe8, second: &Fe8) -> Product8 {
        let mut columns = doubled_crosses(self);
        for (column, start) in columns.iter_mut().zip(less_both(first, second).0) {
            *column = _mm512_add_epi64(*column, start);
        }
        reduce(squares(columns, self))
    }

    /// The sum of the product with `other` and the product of two more.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(in crate::ifma) fn mul_add(&self, other: &Self, third: &Self, fourth: &Self) -> Product8 {
        reduce(multiply(multiply(zeros(), self, other), third, fourth))
    }
}

impl Product8 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(in crate::ifma) fn factor(self) -> Factor8 {
        carry_on(fold_top(self.0))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(in crate::ifma) fn carried(self) -> Fe8 {
        mask(self.factor())
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(in crate::ifma) fn plus(mut self, other: &Fe8) -> Self {
        for (limb, other) in self.0.iter_mut().zip(other.0.0) {
            *limb = _mm512_add_epi64(*limb, other);
        }
        self
    }

    /// 21 times the product, of limbs below 2^63.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(in crate::ifma) fn times_21(mut self) -> Self {
        for limb in &mut self.0 {
            let five = _mm512_add_epi64(*limb, _mm512_slli_epi64::<2>(*limb));
            *limb = _mm512_add_epi64(five, _mm512_slli_epi64::<4>(*limb));
        }
        self
    }
}

impl From<Fe8> for Product8 {
    fn from(element: Fe8) -> Self {
        Self(element.0.0)
    }
}

impl Sum8 {
    /// Limb 4 needs no fold: it has room.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(in crate::ifma) fn factor(self) -> Factor8 {
        carry_on(self.0)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(in crate::ifma) fn carried(self) -> Fe8 {
        mask(carry_on(fold_top(self.0)))
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn zeros() -> Columns {
    [splat(0); 10]
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn columns(sum: &Sum8) -> Columns {
    let mut columns = zeros();
    columns[..5].copy_from_slice(&sum.0);
    columns
}

/// 4p less both values: no limb goes below zero.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn less_both(first: &Fe8, second: &Fe8) -> Sum8 {
    let mut limbs = [splat(0); 5];
    for (index, limb) in limbs.iter_mut().enumerate() {
        let rest = _mm512_sub_epi64(splat(4 * P[index]), first.0.0[index]);
        *limb = _mm512_sub_epi64(rest, second.0.0[index]);
    }
    Sum8(limbs)
}

/// Adds a product to `columns`. A column gets at most ten halves of 52 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn multiply(mut columns: Columns, a: &Factor8, b: &Factor8) -> Columns {
    for i in 0..5 {
        for j in 0..5 {
            columns[i + j] = _mm512_madd52lo_epu64(columns[i + j], a.0[i], b.0[j]);
            columns[i + j + 1] = _mm512_madd52hi_epu64(columns[i + j + 1], a.0[i], b.0[j]);
        }
    }
    columns
}

/// Twice the products of different limbs.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn doubled_crosses(a: &Factor8) -> Columns {
    let mut columns = zeros();
    for i in 0..5 {
        for j in i + 1..5 {
            columns[i + j] = _mm512_madd52lo_epu64(columns[i + j], a.0[i], a.0[j]);
            columns[i + j + 1] = _mm512_madd52hi_epu64(columns[i + j + 1], a.0[i], a.0[j]);
        }
    }
    for column in &mut columns[1..9] {
        *column = _mm512_add_epi64(*column, *column);
    }
    columns
}

/// Adds the squares of the limbs.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn squares(mut columns: Columns, a: &Factor8) -> Columns {
    for (index, limb) in a.0.iter().enumerate() {
        columns[2 * index] = _mm512_madd52lo_epu64(columns[2 * index], *limb, *limb);
        columns[2 * index + 1] = _mm512_madd52hi_epu64(columns[2 * index + 1], *limb, *limb);
    }
    columns
}

/// Folds columns 5 to 9 into the others. Columns are sums of at most 20 halves of products and a
/// [`Sum8`], below 2^57; column 9 has the high halves of two products of limbs 4, below 2^51.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn reduce(mut columns: Columns) -> Product8 {
    let fold = splat(FOLD_260);
    // What is carried on stays in place as well: the multiplications read 52 bits.
    for index in 5..9 {
        let over = _mm512_srli_epi64::<52>(columns[index]);
        columns[index + 1] = _mm512_add_epi64(columns[index + 1], over);
    }
    let mut limbs = [columns[0], columns[1], columns[2], columns[3], columns[4]];
    // The high half of the last stands for 2^260 times less than 2^37: once more, into limbs 0 and 1.
    let high = _mm512_madd52hi_epu64(splat(0), columns[9], fold);
    for index in 0..5 {
        limbs[index] = _mm512_madd52lo_epu64(limbs[index], columns[index + 5], fold);
    }
    for index in 0..4 {
        limbs[index + 1] = _mm512_madd52hi_epu64(limbs[index + 1], columns[index + 5], fold);
    }
    limbs[0] = _mm512_madd52lo_epu64(limbs[0], high, fold);
    limbs[1] = _mm512_madd52hi_epu64(limbs[1], high, fold);
    Product8(limbs)
}

/// Folds what is above 2^256.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn fold_top(mut limbs: Registers) -> Registers {
    let top = _mm512_srli_epi64::<48>(limbs[4]);
    limbs[4] = _mm512_and_si512(limbs[4], splat(MASK_48));
    limbs[0] = _mm512_madd52lo_epu64(limbs[0], top, splat(FOLD_256));
    limbs
}

/// Carries, and leaves what is carried in place as well.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn carry_on(mut limbs: Registers) -> Factor8 {
    for index in 0..4 {
        let over = _mm512_srli_epi64::<52>(limbs[index]);
        limbs[index + 1] = _mm512_add_epi64(limbs[index + 1], over);
    }
    Factor8(limbs)
}

/// Clears what has been carried on. For what was folded.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn mask(Factor8(mut limbs): Factor8) -> Fe8 {
    for limb in &mut limbs[..4] {
        *limb = _mm512_and_si512(*limb, splat(MASK_52));
    }
    Fe8(Factor8(limbs))
}
