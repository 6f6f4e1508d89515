//! Waits that double, with jitter.

use std::time::Duration;

/// A wait that doubles from one failure to the next.
#[derive(Clone, Debug)]
pub(super) struct Backoff {
    min: Duration,
    max: Duration,
    failures: u32,
    random: u64,
}

impl Backoff {
    /// Waits from `min` to `max`; equal seeds give equal waits.
    pub(super) fn new(min: Duration, max: Duration, seed: u64) -> Self {
        Self { min, max, failures: 0, random: seed }
    }

    /// The wait after one more failure: between half and all of what doubling gives.
    pub(super) fn next(&mut self) -> Duration {
        let whole = self.min.saturating_mul(1 << self.failures.min(20)).min(self.max);
        self.failures += 1;
        let half = whole / 2;
        half + half.mul_f64(self.share())
    }

    /// Failures in a row.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// The next failure is a first one.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// A number from 0 to 1 (a step of splitmix64).
    fn share(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case 26: waits grow up to their maximum, are never nothing, and start over after success.
    #[test]
    fn waits_double_with_jitter() {
        let (min, max) = (Duration::from_secs(1), Duration::from_secs(60));
        let mut backoff = Backoff::new(min, max, 3);
        for failure in 0..40 {
            let whole = (min * (1 << failure.min(10))).min(max);
            let wait = backoff.next();
            assert!(whole / 2 <= wait && wait <= whole, "{failure}: {wait:?}");
        }
        backoff.reset();
        assert!(backoff.next() <= min);
    }
}
