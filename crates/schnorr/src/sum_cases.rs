//! Sums that every back end must get right, with k256's answer.

use k256::{ProjectivePoint, Scalar};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::buckets::Term;
use crate::glv::{self, HALF_MAX, Half};
use crate::point::tests::{random, to_k256};
use crate::point::{Affine, Jacobian};

/// p, big-endian.
pub(crate) const MODULUS: [u8; 32] = {
    let mut modulus = [0xff; 32];
    (modulus[27], modulus[30], modulus[31]) = (0xfe, 0xfc, 0x2f);
    modulus
};

pub(crate) struct Case {
    name: String,
    pub(crate) terms: Vec<Term>,
    expected: ProjectivePoint,
    /// Whether equal or opposite points must have met.
    meets: bool,
}

impl Case {
    pub(crate) fn check(&self, sum: &Jacobian, set_aside: usize, how: &str) {
        assert_eq!(to_k256(sum), self.expected, "{}, {how}", self.name);
        if self.meets {
            assert!(set_aside > 0, "{}, {how}: no complete addition was needed", self.name);
        }
    }
}

type Pair = (Affine, ProjectivePoint);

fn case(name: String, pairs: &[Pair], halves: &[Half], meets: bool) -> Case {
    let terms = pairs
        .iter()
        .zip(halves)
        .map(|((point, _), scalar)| Term { point: *point, scalar: *scalar });
    let expected = pairs.iter().zip(halves).map(|((_, point), half)| {
        let product = *point * Scalar::from(half.magnitude);
        if half.negative { -product } else { product }
    });
    Case { name, terms: terms.collect(), expected: expected.sum(), meets }
}

/// Scalars with long runs of equal bits among plain ones.
fn half(rng: &mut ChaCha8Rng) -> Half {
    let magnitude = match rng.random_range(0..8) {
        0 => 0,
        1 => HALF_MAX,
        2 => 1 << rng.random_range(0..128),
        3 => (u128::MAX << rng.random_range(0..128)) % (HALF_MAX + 1),
        4 => u128::MAX >> rng.random_range(1..128),
        _ => rng.random::<u128>() >> 1,
    };
    Half { magnitude, negative: rng.random() }
}

fn small_multiples(count: u64) -> Vec<Pair> {
    (1..=count)
        .map(|k| {
            let point = ProjectivePoint::GENERATOR * Scalar::from(k);
            (Affine::from_k256(&point.to_affine()), point)
        })
        .collect()
}

fn negated((point, point_256): &Pair) -> Pair {
    (point.negate(), -*point_256)
}

pub(crate) fn all() -> Vec<Case> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut cases = Vec::new();
    let pool: Vec<Pair> = (0..400).map(|_| random(&mut rng)).collect();
    for count in [0, 1, 2, 3, 7, 8, 9, 40, 100, 400] {
        let halves: Vec<Half> = (0..count).map(|_| half(&mut rng)).collect();
        cases.push(case(format!("{count} points"), &pool[..count], &halves, false));
    }
    cases.extend(degenerate(&mut rng, &pool));
    cases
}

/// Points that meet themselves, their negatives, or a sum of others.
fn degenerate(rng: &mut ChaCha8Rng, pool: &[Pair]) -> Vec<Case> {
    let plain =
        |rng: &mut ChaCha8Rng| Half { magnitude: rng.random::<u128>() >> 1, negative: false };
    let mut cases = Vec::new();
    for count in [2, 5, 33] {
        let scalar = plain(rng);
        let equal = vec![pool[0]; count];
        cases.push(case(
            format!("{count} times the same term"),
            &equal,
            &vec![scalar; count],
            true,
        ));
        let halves: Vec<Half> = (0..count).map(|_| half(rng)).collect();
        cases.push(case(format!("{count} times the same point"), &equal, &halves, false));
        let mut opposite = equal.clone();
        opposite.iter_mut().step_by(2).for_each(|pair| *pair = negated(pair));
        cases.push(case(format!("{count} opposite points"), &opposite, &vec![scalar; count], true));
    }
    // Every term and its opposite: all that is summed vanishes.
    let both: Vec<Pair> = pool[..50].iter().flat_map(|pair| [*pair, negated(pair)]).collect();
    let halves: Vec<Half> = (0..50).map(|_| plain(rng)).flat_map(|half| [half, half]).collect();
    cases.push(case("a sum that vanishes".into(), &both, &halves, true));
    // 1 G, 2 G, 3 G, ...: sums of few meet points and sums of few others.
    let multiples = small_multiples(300);
    let halves: Vec<Half> = (0..300).map(|_| plain(rng)).collect();
    cases.push(case("small multiples of one point".into(), &multiples, &halves, false));
    cases.push(case("the same, one scalar".into(), &multiples, &vec![plain(rng); 300], false));
    // P, Q, P + Q in one bucket, which the sort turns round.
    let sum = pool[0].1 + pool[1].1;
    let third = (Affine::from_k256(&sum.to_affine()), sum);
    let [one, two] = [pool[0], pool[1]];
    let scalar = plain(rng);
    let pairs = [third, two, one];
    cases.push(case("a sum that meets its equal".into(), &pairs, &[scalar; 3], true));
    let pairs = [negated(&third), two, one];
    cases.push(case("a sum that meets its opposite".into(), &pairs, &[scalar; 3], true));
    // A point and its images under the endomorphism, as R and P can be forced to be.
    let beta = glv::beta();
    let images: Vec<Pair> = [one.0, one.0.endomorphism(&beta)]
        .map(|point| (point, to_k256(&Jacobian::from(point))))
        .into_iter()
        .cycle()
        .take(6)
        .collect();
    cases.push(case("images under the endomorphism".into(), &images, &[scalar; 6], true));
    cases
}

/// Field elements at the edges of carries, and random ones, as canonical bytes.
pub(crate) fn field_elements(rng: &mut ChaCha8Rng, random: usize) -> Vec<[u8; 32]> {
    let mut elements = vec![[0; 32]];
    for bit in 0..256 {
        let mut power = [0; 32];
        power[31 - bit / 8] = 1 << (bit % 8);
        elements.push(power);
        let value = crate::field::parse(&power).expect("powers of two are below p");
        elements.push(crate::field::bytes(&value.negate(1)));
        elements.push(crate::field::bytes(&(value.negate(1) + crate::field::Fe::ONE)));
    }
    for _ in 0..random {
        let mut bytes: [u8; 32] = rng.random();
        elements.push(bytes);
        // Runs of ones at the top, where carries are longest.
        let ones = rng.random_range(0..32);
        bytes[..ones].fill(0xff);
        rng.fill_bytes(&mut bytes[31..]);
        elements.push(bytes);
    }
    elements.retain(|bytes| crate::field::parse(bytes).is_some());
    elements
}
