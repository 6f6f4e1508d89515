//! Eight field elements at once.
//!
//! ```text
//! element = limb 0 + 2^52 limb 1 + 2^104 limb 2 + 2^156 limb 3 + 2^208 limb 4   (modulo p)
//! ```
//!
//! *Carried* elements have limbs 0 to 3 below 2^52 and limb 4 below 2^48 + 2^12; every function takes
//! and gives carried elements. Their value is below 2^256 + 2^220, so zero has just two
//! representations, 0 and p. The multiply-add instructions read 52 bits of each limb.

use std::arch::x86_64::*;

use crate::field::{self, Fe};

/// One element's limbs.
pub(super) type Limbs = [u64; 5];

/// Eight elements: register i holds limb i of each.
#[derive(Clone, Copy)]
pub(super) struct Fe8([__m512i; 5]);

const MASK_52: u64 = (1 << 52) - 1;
const MASK_48: u64 = (1 << 48) - 1;
/// The modulus.
const P: Limbs = [0xf_fffe_ffff_fc2f, MASK_52, MASK_52, MASK_52, MASK_48];
/// 2^256 modulo p.
const FOLD_256: u64 = 0x1_0000_03d1;
/// 2^260 modulo p.
const FOLD_260: u64 = FOLD_256 << 4;

/// Limbs of a number below 2^256.
pub(super) fn limbs(bytes: &[u8; 32]) -> Limbs {
    let word = |index: usize| {
        u64::from_be_bytes(bytes[24 - 8 * index..32 - 8 * index].try_into().expect("eight bytes"))
    };
    let [w0, w1, w2, w3] = [word(0), word(1), word(2), word(3)];
    [
        w0 & MASK_52,
        (w0 >> 52 | w1 << 12) & MASK_52,
        (w1 >> 40 | w2 << 24) & MASK_52,
        (w2 >> 28 | w3 << 36) & MASK_52,
        w3 >> 16,
    ]
}

/// Limbs of an element of magnitude 1.
pub(super) fn limbs_of(value: &Fe) -> Limbs {
    limbs(&field::bytes(value))
}

/// k256's form of a carried element.
pub(super) fn to_fe(limbs: &Limbs) -> Fe {
    field::parse(&bytes(limbs)).expect("bytes of an element are below p")
}

/// The bytes of a carried element, below p.
fn bytes(limbs: &Limbs) -> [u8; 32] {
    let mut limbs = *limbs;
    // One fold leaves less than 2^256: where there is something above it, the rest of limb 4 is below
    // 2^12.
    let mut carry = (limbs[4] >> 48) * FOLD_256;
    limbs[4] &= MASK_48;
    for limb in &mut limbs[..4] {
        let sum = *limb + carry;
        *limb = sum & MASK_52;
        carry = sum >> 52;
    }
    limbs[4] += carry;
    if limbs[1..] == P[1..] && limbs[0] >= P[0] {
        limbs = [limbs[0] - P[0], 0, 0, 0, 0];
    }
    let words = [
        limbs[0] | limbs[1] << 52,
        limbs[1] >> 12 | limbs[2] << 40,
        limbs[2] >> 24 | limbs[3] << 28,
        limbs[3] >> 36 | limbs[4] << 16,
    ];
    let mut bytes = [0; 32];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words.iter().rev()) {
        chunk.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn splat(value: u64) -> __m512i {
    _mm512_set1_epi64(value.cast_signed())
}

impl Fe8 {
    /// The same element in all lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn splat(limbs: &Limbs) -> Self {
        Self([splat(limbs[0]), splat(limbs[1]), splat(limbs[2]), splat(limbs[3]), splat(limbs[4])])
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn small(value: u64) -> Self {
        Self::splat(&[value, 0, 0, 0, 0])
    }

    /// Lane k gets `elements[k]`.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn load(elements: &[Limbs; 8]) -> Self {
        let mut limbs = [splat(0); 5];
        for (index, limb) in limbs.iter_mut().enumerate() {
            let lanes: [u64; 8] = std::array::from_fn(|lane| elements[lane][index]);
            // JUSTIFICATION: no safe function moves a register from or to memory.
            // SAFETY: `lanes` is 64 readable bytes; the load asks for no alignment.
            *limb = unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
        }
        Self(limbs)
    }

    /// Lane k gets the limbs at `offset` in row `rows[k]` of `table`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn gather(table: &[[u64; 10]], rows: &[u32; 8], offset: usize) -> Self {
        let last = rows.iter().max().expect("there are eight");
        assert!((*last as usize) < table.len() && offset <= 5);
        let places: [u64; 8] = rows.map(|row| u64::from(row) * 10);
        // JUSTIFICATION: no safe function moves a register from or to memory.
        // SAFETY: `places` is 64 readable bytes; the load asks for no alignment.
        let places = unsafe { _mm512_loadu_si512(places.as_ptr().cast()) };
        let mut limbs = [splat(0); 5];
        for (index, limb) in limbs.iter_mut().enumerate() {
            let base = table.as_ptr().cast::<i64>().wrapping_add(offset + index);
            // JUSTIFICATION: without gathering, eight rows would be transposed on the stack.
            // SAFETY: each lane reads the u64 at `10 row + offset + index` of `table`, and that is in
            // bounds: `row` is below the table's length and `offset + index` below 10.
            *limb = unsafe { _mm512_i64gather_epi64::<8>(places, base) };
        }
        Self(limbs)
    }

    /// The inverse of [`Fe8::load`].
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn store(&self) -> [Limbs; 8] {
        let mut elements = [[0; 5]; 8];
        for (index, limb) in self.0.iter().enumerate() {
            let mut lanes = [0u64; 8];
            // JUSTIFICATION: no safe function moves a register from or to memory.
            // SAFETY: `lanes` is 64 writable bytes; the store asks for no alignment.
            unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), *limb) };
            for (element, lane) in elements.iter_mut().zip(lanes) {
                element[index] = lane;
            }
        }
        elements
    }

    /// Lane k is `other`'s where bit k of `mask` is set.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn blend(&self, other: &Self, mask: u8) -> Self {
        let mut limbs = self.0;
        for (limb, other) in limbs.iter_mut().zip(&other.0) {
            *limb = _mm512_mask_blend_epi64(mask, *limb, *other);
        }
        Self(limbs)
    }

    /// A bit for each lane that is zero.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn zeros(&self) -> u8 {
        let (mut is_zero, mut is_p) = (0xff, 0xff);
        for (limb, p) in self.0.iter().zip(P) {
            is_zero &= _mm512_cmpeq_epi64_mask(*limb, splat(0));
            is_p &= _mm512_cmpeq_epi64_mask(*limb, splat(p));
        }
        is_zero | is_p
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn add(&self, other: &Self) -> Self {
        let mut limbs = self.0;
        for (limb, other) in limbs.iter_mut().zip(&other.0) {
            *limb = _mm512_add_epi64(*limb, *other);
        }
        carry(limbs)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn sub(&self, other: &Self) -> Self {
        carry(minus(self.0, other))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn negate(&self) -> Self {
        Self([splat(0); 5]).sub(self)
    }

    /// 21 times the element, limbs up to 2^57.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn times_21(&self) -> Self {
        let mut limbs = self.0;
        for limb in &mut limbs {
            let five = _mm512_add_epi64(*limb, _mm512_slli_epi64::<2>(*limb));
            *limb = _mm512_add_epi64(five, _mm512_slli_epi64::<4>(*limb));
        }
        carry(limbs)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn mul(&self, other: &Self) -> Self {
        carry(self.product(other))
    }

    /// `self` times `other`, less `subtrahend`: one carry for both.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn mul_sub(&self, other: &Self, subtrahend: &Self) -> Self {
        carry(minus(self.product(other), subtrahend))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn square(&self) -> Self {
        carry(self.squared())
    }

    /// The square, less two values: one carry for all.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn square_sub(&self, first: &Self, second: &Self) -> Self {
        carry(minus(minus(self.squared(), first), second))
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn product(&self, other: &Self) -> [__m512i; 5] {
        let mut low = [splat(0); 10];
        let mut high = low;
        for i in 0..5 {
            for j in 0..5 {
                low[i + j] = _mm512_madd52lo_epu64(low[i + j], self.0[i], other.0[j]);
                high[i + j + 1] = _mm512_madd52hi_epu64(high[i + j + 1], self.0[i], other.0[j]);
            }
        }
        for index in 1..10 {
            low[index] = _mm512_add_epi64(low[index], high[index]);
        }
        reduce(low)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn squared(&self) -> [__m512i; 5] {
        let mut low = [splat(0); 10];
        let mut high = low;
        for i in 0..5 {
            for j in i + 1..5 {
                low[i + j] = _mm512_madd52lo_epu64(low[i + j], self.0[i], self.0[j]);
                high[i + j + 1] = _mm512_madd52hi_epu64(high[i + j + 1], self.0[i], self.0[j]);
            }
        }
        for index in 1..10 {
            let sum = _mm512_add_epi64(low[index], high[index]);
            low[index] = _mm512_add_epi64(sum, sum);
        }
        for (index, limb) in self.0.iter().enumerate() {
            low[2 * index] = _mm512_madd52lo_epu64(low[2 * index], *limb, *limb);
            low[2 * index + 1] = _mm512_madd52hi_epu64(low[2 * index + 1], *limb, *limb);
        }
        reduce(low)
    }
}

/// Folds a product into limbs below 2^57. Its limbs are sums of at most ten halves of products, below
/// 2^56; limb 9 is below 2^46, being the high half of the product of two top limbs.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn reduce(mut product: [__m512i; 10]) -> [__m512i; 5] {
    let fold = splat(FOLD_260);
    // What is carried on stays in place as well: the multiplications read 52 bits.
    for index in 5..9 {
        let over = _mm512_srli_epi64::<52>(product[index]);
        product[index + 1] = _mm512_add_epi64(product[index + 1], over);
    }
    let mut limbs = [product[0], product[1], product[2], product[3], product[4]];
    let mut high = [splat(0); 6];
    for index in 0..5 {
        limbs[index] = _mm512_madd52lo_epu64(limbs[index], product[index + 5], fold);
        high[index + 1] = _mm512_madd52hi_epu64(splat(0), product[index + 5], fold);
    }
    // High half 5 stands for 2^260 times less than 2^31: once more, into limbs 0 and 1.
    limbs[0] = _mm512_madd52lo_epu64(limbs[0], high[5], fold);
    high[1] = _mm512_madd52hi_epu64(high[1], high[5], fold);
    for index in 1..5 {
        limbs[index] = _mm512_add_epi64(limbs[index], high[index]);
    }
    limbs
}

/// Subtracts, adding 4p so that no limb goes below zero.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn minus(mut limbs: [__m512i; 5], subtrahend: &Fe8) -> [__m512i; 5] {
    for ((limb, subtrahend), p) in limbs.iter_mut().zip(&subtrahend.0).zip(P) {
        *limb = _mm512_sub_epi64(_mm512_add_epi64(*limb, splat(4 * p)), *subtrahend);
    }
    limbs
}

/// Carries limbs that are below 2^60: what is above 2^256 (less than 2^12 times) is folded, and limb 4
/// keeps the carry from limb 3.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn carry(mut limbs: [__m512i; 5]) -> Fe8 {
    let mask = splat(MASK_52);
    let top = _mm512_srli_epi64::<48>(limbs[4]);
    limbs[4] = _mm512_and_si512(limbs[4], splat(MASK_48));
    limbs[0] = _mm512_madd52lo_epu64(limbs[0], top, splat(FOLD_256));
    for index in 0..4 {
        let over = _mm512_srli_epi64::<52>(limbs[index]);
        limbs[index] = _mm512_and_si512(limbs[index], mask);
        limbs[index + 1] = _mm512_add_epi64(limbs[index + 1], over);
    }
    Fe8(limbs)
}

/// One over each lane. All lanes share one inversion in k256's field; `None` when one is zero.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn invert(elements: &Fe8) -> Option<Fe8> {
    let values = elements.store().map(|limbs| to_fe(&limbs));
    let mut before = [Fe::ONE; 8];
    let mut product = values[0];
    for lane in 1..8 {
        before[lane] = product;
        product = product.mul(&values[lane]);
    }
    let mut inverse = field::invert(&product)?;
    let mut inverses = [[0; 5]; 8];
    for lane in (0..8).rev() {
        inverses[lane] = limbs_of(&inverse.mul(&before[lane]));
        inverse = inverse.mul(&values[lane]);
    }
    Some(Fe8::load(&inverses))
}

#[cfg(test)]
mod tests;
