//! Eight field elements at once.
//!
//! ```text
//! element = limb 0 + 2^52 limb 1 + 2^104 limb 2 + 2^156 limb 3 + 2^208 limb 4   (modulo p)
//! ```
//!
//! *Carried* elements ([`Fe8`]) have limbs 0 to 3 below 2^52 and limb 4 below 2^48 + 2^12. Their value
//! is below 2^256 + 2^220, so zero has just two representations, 0 and p. Sums and differences are of
//! carried elements.
//!
//! The multiply-add instructions read 52 bits of each limb, whatever is above. So *factors*
//! ([`Factor8`]) may keep there what has been carried on as well; it is a third of the work to leave
//! it. Carried elements are factors.

mod products;

use std::arch::x86_64::*;

pub(super) use self::products::{Product8, Sum8};
use crate::field::{self, Fe};

/// One element's limbs.
pub(super) type Limbs = [u64; 5];

/// Register i holds limb i of each lane.
type Registers = [__m512i; 5];

/// Eight carried elements.
#[derive(Clone, Copy)]
pub(super) struct Fe8(Factor8);

/// Eight factors: bits 0 to 51 of limbs 0 to 3 are the limb, and limb 4 is below 2^51.
#[derive(Clone, Copy)]
pub(super) struct Factor8(Registers);

impl std::ops::Deref for Fe8 {
    type Target = Factor8;

    fn deref(&self) -> &Factor8 {
        &self.0
    }
}

const MASK_52: u64 = (1 << 52) - 1;
const MASK_48: u64 = (1 << 48) - 1;
/// The modulus.
const P: Limbs = [0xf_fffe_ffff_fc2f, MASK_52, MASK_52, MASK_52, MASK_48];
/// 2^256 modulo p.
const FOLD_256: u64 = 0x1_0000_03d1;
/// 2^260 modulo p.
const FOLD_260: u64 = FOLD_256 << 4;

/// The 64-bit words of a number below 2^256, least first.
pub(super) type Words = [u64; 4];

/// Words of an element of magnitude 1, below p.
pub(super) fn words_of(value: &Fe) -> Words {
    let bytes = field::bytes(value);
    std::array::from_fn(|index| {
        u64::from_be_bytes(bytes[24 - 8 * index..32 - 8 * index].try_into().expect("eight bytes"))
    })
}

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
        let [l0, l1, l2, l3, l4] = *limbs;
        Self(Factor8([splat(l0), splat(l1), splat(l2), splat(l3), splat(l4)]))
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
        Self(Factor8(limbs))
    }

    /// Lane k of each of two gets what is in `rows[k]`, numbers below p.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn load_words(rows: &[&[Words; 2]; 8]) -> [Self; 2] {
        let mut words = [splat(0); 8];
        for (word, row) in words.iter_mut().zip(rows) {
            // JUSTIFICATION: no safe function moves a register from or to memory.
            // SAFETY: a row is 64 readable bytes; the load asks for no alignment.
            *word = unsafe { _mm512_loadu_si512(row.as_ptr().cast()) };
        }
        let [x0, x1, x2, x3, y0, y1, y2, y3] = transpose(words);
        [from_words([x0, x1, x2, x3]), from_words([y0, y1, y2, y3])]
    }

    /// p less the element in the lanes of `mask`, for elements below p.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn opposite(&self, mask: u8) -> Self {
        let mut limbs = self.0.0;
        for (limb, p) in limbs.iter_mut().zip(P) {
            *limb = _mm512_mask_sub_epi64(*limb, mask, splat(p), *limb);
        }
        for index in 0..4 {
            // -1 when the limb is below zero.
            let borrow = _mm512_srai_epi64::<52>(limbs[index]);
            limbs[index] = _mm512_and_si512(limbs[index], splat(MASK_52));
            limbs[index + 1] = _mm512_add_epi64(limbs[index + 1], borrow);
        }
        Self(Factor8(limbs))
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
        Self(Factor8(limbs))
    }

    /// The inverse of [`Fe8::load`].
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn store(&self) -> [Limbs; 8] {
        let mut elements = [[0; 5]; 8];
        for (index, limb) in self.0.0.iter().enumerate() {
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
        Self(self.0.blend(&other.0, mask))
    }

    /// A bit for each lane that is zero.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn zeros(&self) -> u8 {
        let (mut is_zero, mut is_p) = (0xff, 0xff);
        for (limb, p) in self.0.0.iter().zip(P) {
            is_zero &= _mm512_cmpeq_epi64_mask(*limb, splat(0));
            is_p &= _mm512_cmpeq_epi64_mask(*limb, splat(p));
        }
        is_zero | is_p
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn plus(&self, other: &Self) -> Sum8 {
        let mut limbs = self.0.0;
        for (limb, other) in limbs.iter_mut().zip(&other.0.0) {
            *limb = _mm512_add_epi64(*limb, *other);
        }
        Sum8(limbs)
    }

    /// The difference, plus 2p so that no limb goes below zero.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn minus(&self, other: &Self) -> Sum8 {
        let mut limbs = self.0.0;
        for ((limb, other), p) in limbs.iter_mut().zip(&other.0.0).zip(P) {
            *limb = _mm512_sub_epi64(_mm512_add_epi64(*limb, splat(2 * p)), *other);
        }
        Sum8(limbs)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn negate(&self) -> Sum8 {
        let mut limbs = self.0.0;
        for (limb, p) in limbs.iter_mut().zip(P) {
            *limb = _mm512_sub_epi64(splat(2 * p), *limb);
        }
        Sum8(limbs)
    }

    /// 21 times the element.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn times_21(&self) -> Self {
        Product8::from(*self).times_21().carried()
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn times_3(&self) -> Sum8 {
        let mut limbs = self.0.0;
        for limb in &mut limbs {
            *limb = _mm512_add_epi64(*limb, _mm512_add_epi64(*limb, *limb));
        }
        Sum8(limbs)
    }
}

impl Factor8 {
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
}

/// Register i gets lane i of each.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn transpose(rows: [__m512i; 8]) -> [__m512i; 8] {
    let mut columns = rows;
    // Lanes i and i + 1 of two rows side by side.
    for pair in 0..4 {
        let [first, second] = [rows[2 * pair], rows[2 * pair + 1]];
        columns[pair] = _mm512_unpacklo_epi64(first, second);
        columns[pair + 4] = _mm512_unpackhi_epi64(first, second);
    }
    // Quarters 0 and 2, or 1 and 3, of two of those; then the same of two of these.
    let mut result = rows;
    for odd in 0..2 {
        let [a, b, c, d] = [0, 1, 2, 3].map(|pair| columns[4 * odd + pair]);
        let even = [_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0x88>(c, d)];
        let other = [_mm512_shuffle_i64x2::<0xdd>(a, b), _mm512_shuffle_i64x2::<0xdd>(c, d)];
        result[odd] = _mm512_shuffle_i64x2::<0x88>(even[0], even[1]);
        result[odd + 2] = _mm512_shuffle_i64x2::<0x88>(other[0], other[1]);
        result[odd + 4] = _mm512_shuffle_i64x2::<0xdd>(even[0], even[1]);
        result[odd + 6] = _mm512_shuffle_i64x2::<0xdd>(other[0], other[1]);
    }
    result
}

/// Cuts words into limbs.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn from_words([w0, w1, w2, w3]: [__m512i; 4]) -> Fe8 {
    let mask = splat(MASK_52);
    let l1 = _mm512_or_si512(_mm512_srli_epi64::<52>(w0), _mm512_slli_epi64::<12>(w1));
    let l2 = _mm512_or_si512(_mm512_srli_epi64::<40>(w1), _mm512_slli_epi64::<24>(w2));
    let l3 = _mm512_or_si512(_mm512_srli_epi64::<28>(w2), _mm512_slli_epi64::<36>(w3));
    Fe8(Factor8([
        _mm512_and_si512(w0, mask),
        _mm512_and_si512(l1, mask),
        _mm512_and_si512(l2, mask),
        _mm512_and_si512(l3, mask),
        _mm512_srli_epi64::<16>(w3),
    ]))
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
