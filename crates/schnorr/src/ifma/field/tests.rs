//! The vector field against k256's.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::ifma::Ifma;
use crate::sum_cases;

/// Each operation on operands that are results themselves, so that limbs are as large as they get.
#[test]
fn operations_are_k256s() {
    if Ifma::new().is_none() {
        return;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let elements = sum_cases::field_elements(&mut rng, 1000);
    for _ in 0..20_000 {
        let [a, b]: [[[u8; 32]; 8]; 2] = std::array::from_fn(|_| {
            std::array::from_fn(|_| elements[rng.random_range(0..elements.len())])
        });
        // JUSTIFICATION: features that are found at run time.
        // SAFETY: `Ifma::new` has found the features.
        let results = unsafe { all_operations(&a.map(|a| limbs(&a)), &b.map(|b| limbs(&b))) };
        for lane in 0..8 {
            let [a, b] = [&a[lane], &b[lane]]
                .map(|bytes| field::parse(bytes).expect("elements are below p"));
            let expected = expected(a, b);
            for (index, (result, expected)) in results.iter().zip(expected).enumerate() {
                let limbs = &result[lane];
                assert!(limbs[..4].iter().all(|limb| *limb <= MASK_52), "{limbs:x?}");
                assert!(limbs[4] < (1 << 48) + (1 << 12), "{limbs:x?}");
                assert_eq!(bytes(limbs), field::bytes(&expected), "operation {index}");
            }
        }
    }
}

const OPERATIONS: usize = 15;

#[target_feature(enable = "avx512f,avx512ifma")]
fn all_operations(a: &[Limbs; 8], b: &[Limbs; 8]) -> [[Limbs; 8]; OPERATIONS] {
    let [a, b] = [Fe8::load(a), Fe8::load(b)];
    let [sum, difference] = [a.plus(&b).carried(), a.minus(&b).carried()];
    // The largest limbs that factors have.
    let [sum_factor, difference_factor] = [a.plus(&b).factor(), a.minus(&b).factor()];
    let negative = difference.negate().factor();
    let results = [
        sum,
        difference,
        difference.negate().carried(),
        sum_factor.mul(&difference_factor).carried(),
        difference_factor.square().carried(),
        difference.times_21(),
        difference.minus(&sum.times_21()).carried(),
        b.minus(&b).carried(),
        sum.blend(&difference, 0).square().factor().mul(&difference.square().factor()).carried(),
        sum_factor.mul_sub(&difference_factor, &difference.times_21()).carried(),
        sum_factor.square_sub_both(&difference.times_21(), &difference).carried(),
        sum_factor.mul_sub_both(&difference_factor, &difference, &sum).carried(),
        sum_factor.mul_add(&difference_factor, &negative, &difference_factor).carried(),
        difference_factor.mul(&negative).plus(&sum).times_21().carried(),
        sum.times_3().factor().blend(&sum_factor, 0).mul(&Fe8::small(1)).carried(),
    ];
    results.map(|result| result.store())
}

fn expected(a: Fe, b: Fe) -> [Fe; OPERATIONS] {
    let [sum, difference] = [(a + b).normalize_weak(), (a + b.negate(1)).normalize_weak()];
    [
        sum,
        difference,
        difference.negate(1),
        sum.mul(&difference),
        difference.square(),
        difference.mul_single(21),
        difference + sum.mul_single(21).negate(21),
        Fe::ZERO,
        sum.square().mul(&difference.square()),
        sum.mul(&difference) + difference.mul_single(21).negate(21),
        sum.square() + difference.mul_single(22).negate(22),
        sum.mul(&difference) + (sum + difference).negate(2),
        sum.mul(&difference) + difference.square().negate(1),
        (difference.square().negate(1) + sum).mul(&Fe::from_u64(21)),
        sum.mul(&Fe::from_u64(3)),
    ]
}

/// Values from p to 2^256 and beyond, which no carried result of the test above may have hit.
#[test]
fn bytes_are_below_the_modulus() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let base = Fe::from_u64(1 << 52);
    for round in 0..20_000 {
        let mut carried: Limbs = std::array::from_fn(|_| rng.random::<u64>() & MASK_52);
        carried[4] &= MASK_48;
        if round % 2 == 0 {
            carried[1..].copy_from_slice(&P[1..]);
            carried[0] = P[0] - 3 + rng.random_range(0..(MASK_52 - P[0] + 3));
        }
        if round % 3 == 0 {
            carried[4] += rng.random_range(0..1 << 12);
        }
        let expected = carried
            .iter()
            .rev()
            .fold(Fe::ZERO, |value, limb| value.mul(&base) + Fe::from_u64(*limb));
        assert_eq!(bytes(&carried), field::bytes(&expected), "{carried:x?}");
    }
}

#[test]
fn zeros_and_inverses_are_found() {
    if Ifma::new().is_none() {
        return;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for mask in 0..=255u8 {
        let mut lanes: [Limbs; 8] = std::array::from_fn(|_| {
            limbs(&{
                let mut bytes: [u8; 32] = rng.random();
                bytes[0] = 0;
                bytes
            })
        });
        for (lane, limbs) in lanes.iter_mut().enumerate().filter(|(lane, _)| mask >> lane & 1 == 1)
        {
            *limbs = if lane % 2 == 0 { [0; 5] } else { P };
        }
        // JUSTIFICATION: features that are found at run time.
        // SAFETY: `Ifma::new` has found the features.
        unsafe { check_zeros(&lanes, mask) };
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn check_zeros(lanes: &[Limbs; 8], mask: u8) {
    let elements = Fe8::load(lanes);
    assert_eq!(elements.zeros(), mask);
    assert_eq!(elements.minus(&elements).carried().zeros(), 0xff);
    let inverses = invert(&elements);
    assert_eq!(inverses.is_some(), mask == 0);
    if let Some(inverses) = inverses {
        let ones = inverses.mul(&elements).carried();
        assert_eq!(ones.minus(&Fe8::small(1)).carried().zeros(), 0xff);
    }
}

#[test]
fn gathering_reads_the_named_rows() {
    if Ifma::new().is_none() {
        return;
    }
    let table: Vec<[u64; 10]> =
        (0..20).map(|row| std::array::from_fn(|i| row * 10 + i as u64)).collect();
    let rows = [19, 0, 7, 7, 3, 18, 1, 2];
    for offset in [0, 5] {
        // JUSTIFICATION: features that are found at run time.
        // SAFETY: `Ifma::new` has found the features.
        let lanes = unsafe { Fe8::gather(&table, &rows, offset).store() };
        for (lane, row) in lanes.iter().zip(rows) {
            assert_eq!(lane[..], table[row as usize][offset..offset + 5]);
        }
    }
}
