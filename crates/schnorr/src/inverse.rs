//! Inverses modulo p by division steps (Bernstein, Yang, "Fast constant-time gcd computation and modular
//! inversion", 2019), in variable time.
//!
//! A division step halves g, after adding f or swapping, such that the greatest common divisor stays:
//!
//! ```text
//! f odd;  delta > 0 and g odd:  (delta, f, g) -> (1 - delta, g, (g - f) / 2)
//!         else:                 (delta, f, g) -> (1 + delta, f, (g + (g mod 2) f) / 2)
//! ```
//!
//! Which way 62 steps go is decided by the lowest 62 bits of f and g alone. So they are done on machine
//! words, and their effect is a matrix that is applied to the long numbers at once. The same matrix on
//! (d, e), modulo p, keeps f = d x and g = e x: when g is zero, f is 1 or -1, and d or -d the inverse.

/// Limbs of 62 bits, least first, the last one signed.
type Long = [i64; 5];

/// The effect of 62 steps, times 2^62: rows for f and for g.
type Matrix = [[i64; 2]; 2];

const MASK_62: u64 = u64::MAX >> 2;

/// What is subtracted from 2^256 in p.
const P_GAP: i64 = 0x1_0000_03d1;

/// p, with a signed lowest limb.
const P: Long = [-P_GAP, 0, 0, 0, 1 << 8];

/// One over p modulo 2^62.
const P_INVERSE: u64 = {
    let p = (-P_GAP).cast_unsigned();
    // Each step doubles the bits that are right; p is its own inverse modulo 8.
    let mut inverse = p;
    let mut bits = 3;
    while bits < 62 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(p.wrapping_mul(inverse)));
        bits *= 2;
    }
    inverse & MASK_62
};

/// Rounds of 62 steps that are enough: numbers of b bits take at most (49 b + 57) / 17 steps (theorem
/// 11.2), which is 741.
const ROUNDS_MAX: usize = 12;

/// The inverse modulo p of a big-endian number from 1 to p - 1. `None` if the steps do not end, which
/// does not happen; callers check what they get anyway, for it costs one product.
pub(crate) fn invert(bytes: &[u8; 32]) -> Option<[u8; 32]> {
    let (mut f, mut g) = (P, from_bytes(bytes));
    let (mut d, mut e) = ([0; 5], [1, 0, 0, 0, 0]);
    let mut delta = 1;
    for _ in 0..ROUNDS_MAX {
        let matrix = steps(&mut delta, f[0].cast_unsigned(), g[0].cast_unsigned());
        (d, e) = apply_modulo(&matrix, &d, &e);
        (f, g) = apply(&matrix, &f, &g);
        if g.iter().all(|limb| *limb == 0) {
            return Some(to_bytes(&reduce(&d, f[4] < 0)));
        }
    }
    None
}

/// 62 steps on the lowest bits.
fn steps(delta: &mut i64, mut f: u64, mut g: u64) -> Matrix {
    let (mut top, mut bottom) = ([1u64, 0], [0u64, 1]);
    let mut left = 62;
    loop {
        // Steps with an even g only halve it. Rows keep their common power of two.
        let zeros = (g | u64::MAX << left).trailing_zeros();
        g >>= zeros;
        top = top.map(|it| it << zeros);
        *delta += i64::from(zeros);
        left -= zeros;
        if left == 0 {
            return [top, bottom].map(|row| row.map(u64::cast_signed));
        }
        if *delta > 0 {
            *delta = -*delta;
            (f, g) = (g, f.wrapping_neg());
            (top, bottom) = (bottom, top.map(u64::wrapping_neg));
        }
        // While delta stays at most zero, up to 6 steps at a time: the multiple of f that clears as many
        // bits of g. f (2 - f^2) is one over f modulo 64.
        let count = (1 - *delta).min(i64::from(left)).min(6) as u32;
        let multiple = g.wrapping_mul(f).wrapping_mul(f.wrapping_mul(f).wrapping_sub(2))
            & (u64::MAX >> (64 - count));
        g = g.wrapping_add(f.wrapping_mul(multiple));
        for (bottom, top) in bottom.iter_mut().zip(top) {
            *bottom = bottom.wrapping_add(top.wrapping_mul(multiple));
        }
    }
}

/// The matrix times (f, g), over 2^62; that divides evenly.
fn apply(matrix: &Matrix, f: &Long, g: &Long) -> (Long, Long) {
    let row = |[a, b]: [i64; 2]| {
        let mut result = [0; 5];
        let mut sum = product(a, f[0]) + product(b, g[0]);
        for limb in 1..5 {
            sum = (sum >> 62) + product(a, f[limb]) + product(b, g[limb]);
            result[limb - 1] = low(sum);
        }
        result[4] = (sum >> 62) as i64;
        result
    };
    (row(matrix[0]), row(matrix[1]))
}

/// The matrix times (d, e), over 2^62 modulo p. Keeps both between -2p and p.
fn apply_modulo(matrix: &Matrix, d: &Long, e: &Long) -> (Long, Long) {
    let row = |[a, b]: [i64; 2]| {
        let mut sum = product(a, d[0]) + product(b, e[0]);
        // The multiple of p that makes the lowest limb zero, and as many more as keep the result small.
        let wanted = if d[4] < 0 { a } else { 0 } + if e[4] < 0 { b } else { 0 };
        let rest = P_INVERSE.wrapping_mul(sum as u64).wrapping_add(wanted.cast_unsigned());
        let multiple = wanted - (rest & MASK_62).cast_signed();
        sum += product(multiple, P[0]);
        let mut result = [0; 5];
        for limb in 1..5 {
            sum = (sum >> 62) + product(a, d[limb]) + product(b, e[limb]);
            if limb == 4 {
                sum += product(multiple, P[4]);
            }
            result[limb - 1] = low(sum);
        }
        result[4] = (sum >> 62) as i64;
        result
    };
    (row(matrix[0]), row(matrix[1]))
}

/// `number`, or its negative, between 0 and p - 1.
fn reduce(number: &Long, negative: bool) -> Long {
    let sign = if negative { -1 } else { 1 };
    let mut number = normalized(number.map(|limb| sign * limb));
    // It is between -2p and 2p.
    for _ in 0..2 {
        if number[4] < 0 {
            number = normalized(std::array::from_fn(|limb| number[limb] + P[limb]));
        }
    }
    let less = normalized(std::array::from_fn(|limb| number[limb] - P[limb]));
    if less[4] < 0 { number } else { less }
}

/// Carries, so that only the last limb is signed.
fn normalized(mut number: Long) -> Long {
    for limb in 0..4 {
        number[limb + 1] += number[limb] >> 62;
        number[limb] &= MASK_62.cast_signed();
    }
    number
}

fn product(a: i64, b: i64) -> i128 {
    i128::from(a) * i128::from(b)
}

fn low(sum: i128) -> i64 {
    (sum as u64 & MASK_62).cast_signed()
}

fn from_bytes(bytes: &[u8; 32]) -> Long {
    let word = |index: usize| {
        u64::from_be_bytes(bytes[24 - 8 * index..32 - 8 * index].try_into().expect("eight bytes"))
    };
    let [w0, w1, w2, w3] = [word(0), word(1), word(2), word(3)];
    let limbs = [w0, w0 >> 62 | w1 << 2, w1 >> 60 | w2 << 4, w2 >> 58 | w3 << 6, w3 >> 56];
    limbs.map(|limb| (limb & MASK_62).cast_signed())
}

/// Of a number between 0 and 2^256 - 1.
fn to_bytes(number: &Long) -> [u8; 32] {
    let [l0, l1, l2, l3, l4] = number.map(i64::cast_unsigned);
    let words = [l0 | l1 << 62, l1 >> 2 | l2 << 60, l2 >> 4 | l3 << 58, l3 >> 6 | l4 << 56];
    let mut bytes = [0; 32];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words.iter().rev()) {
        chunk.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::field::{self, Fe};
    use crate::sum_cases::field_elements;

    #[test]
    fn inverses_are_k256s() {
        for bytes in field_elements(&mut ChaCha8Rng::seed_from_u64(1), 20_000) {
            let value = field::parse(&bytes).expect("elements are below p");
            let expected: Option<Fe> = value.invert().into();
            if let Some(expected) = expected {
                assert_eq!(invert(&bytes), Some(field::bytes(&expected)), "{bytes:02x?}");
            }
        }
    }

    #[test]
    fn bytes_stay() {
        for bytes in field_elements(&mut ChaCha8Rng::seed_from_u64(2), 200) {
            assert_eq!(to_bytes(&from_bytes(&bytes)), bytes);
        }
    }
}
