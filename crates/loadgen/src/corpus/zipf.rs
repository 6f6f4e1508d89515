//! Who is popular: the k-th of many with a frequency of one k-th to some power.

use crate::corpus::fixed::{Exp2, log2};
use crate::corpus::rng::Rng;

/// Draws of numbers below a count, low ones most often.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    /// For each number, the weight of all up to it.
    sums: Vec<u64>,
    /// For each part of the whole weight, the first number whose sum reaches it.
    guide: Vec<u32>,
}

/// Binary logarithm of the weight of number 0: ten million weights fit into 62 bits.
const TOP_LOG: i64 = 38;
/// Binary logarithm of the parts in the guide, which spares most of the search.
const GUIDE_LOG: u32 = 12;

impl Zipf {
    /// `exponent` in hundredths; `count` is not 0.
    pub(crate) fn new(exp2: &Exp2, count: u32, exponent: i64) -> Self {
        let mut sum = 0;
        let sums: Vec<u64> = (1..=u64::from(count))
            .map(|rank| {
                sum += exp2.whole((TOP_LOG << 32) - log2(rank) / 100 * exponent).max(1);
                sum
            })
            .collect();
        let guide = (0..1u64 << GUIDE_LOG)
            .map(|part| {
                let least = (u128::from(part) * u128::from(sum)) >> GUIDE_LOG;
                sums.partition_point(|&sum| u128::from(sum) <= least) as u32
            })
            .collect();
        Self { sums, guide }
    }

    /// How many numbers there are.
    pub(crate) fn count(&self) -> u32 {
        self.sums.len() as u32
    }

    /// A number below the count.
    pub(crate) fn draw(&self, rng: &mut Rng) -> u32 {
        let bits = rng.bits();
        let total = self.sums.last().copied().unwrap_or(1);
        let wanted = ((u128::from(bits) * u128::from(total)) >> 64) as u64;
        let part = (bits >> (64 - GUIDE_LOG)) as usize;
        let first = self.guide[part] as usize;
        let end = self.guide.get(part + 1).map_or(self.sums.len(), |&end| end as usize + 1);
        let end = end.min(self.sums.len());
        (first + self.sums[first..end].partition_point(|&sum| sum <= wanted)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::rng::Purpose;

    /// The draws follow the weights, and the guide changes nothing.
    #[test]
    fn draws_follow_the_law() {
        for count in [1u32, 2, 500, 70_000] {
            let zipf = Zipf::new(&Exp2::new(), count, 90);
            let mut rng = Rng::new(3, Purpose::Event, u64::from(count));
            let mut counts = vec![0u32; count as usize];
            for _ in 0..200_000 {
                let mut same = rng.clone();
                let drawn = zipf.draw(&mut rng);
                let total = u128::from(*zipf.sums.last().expect("some"));
                let wanted = ((u128::from(same.bits()) * total) >> 64) as u64;
                assert_eq!(drawn as usize, zipf.sums.partition_point(|&sum| sum <= wanted));
                counts[drawn as usize] += 1;
            }
            let total: f64 = (1..=count).map(|rank| f64::from(rank).powf(-0.9)).sum();
            for rank in 1..=count.min(5) {
                let expected = 200_000.0 * f64::from(rank).powf(-0.9) / total;
                let found = f64::from(counts[rank as usize - 1]);
                assert!(
                    (found - expected).abs() < 5.0 * expected.sqrt() + 1.0,
                    "{rank} of {count}"
                );
            }
        }
    }
}
