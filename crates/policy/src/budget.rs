//! What a client may spend: a bucket that fills at a steady rate.

use std::time::Duration;

/// A bucket of tokens. It starts full, and fills by `per_second` up to `burst`.
///
/// One number is kept: the time at which it will be full again, if nothing more is taken. So an
/// idle bucket needs no timer, and one that was never used is the same as a full one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    full_at: Duration,
}

impl Budget {
    /// Takes `cost` tokens if they are there. Otherwise nothing is taken and the answer says how
    /// long it takes until they would be; a cost above `burst` is never there.
    ///
    /// `now` is a clock that does not go back; `per_second` and `burst` are above zero.
    pub fn take(
        &mut self,
        now: Duration,
        cost: u64,
        per_second: u64,
        burst: u64,
    ) -> Result<(), Duration> {
        let before = *self;
        let wait = self.charge(now, cost, per_second, burst);
        if wait.is_zero() {
            Ok(())
        } else {
            *self = before;
            Err(wait)
        }
    }

    /// Takes `cost` tokens whether they are there or not, and says how long it takes until nothing
    /// is owed: for what cannot be refused any more, like bytes that were read.
    pub fn charge(&mut self, now: Duration, cost: u64, per_second: u64, burst: u64) -> Duration {
        let fill = |tokens: u64| nanos(u128::from(tokens) * 1_000_000_000 / u128::from(per_second));
        self.full_at = self.full_at.max(now).saturating_add(fill(cost));
        let latest = now.saturating_add(fill(burst));
        self.full_at.saturating_sub(latest)
    }

    /// True if nothing is missing: the bucket can be forgotten.
    pub fn is_full(&self, now: Duration) -> bool {
        self.full_at <= now
    }
}

fn nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// At ten a second with a burst of five: five at once, then one every 100 ms; nothing is saved
    /// beyond the burst.
    #[test]
    fn a_bucket_fills_steadily() {
        let mut budget = Budget::default();
        for (at_ms, cost, expected) in [
            (0, 3, Ok(())),
            (0, 2, Ok(())),
            (0, 1, Err(ms(100))),
            (60, 1, Err(ms(40))),
            (100, 1, Ok(())),
            (100, 1, Err(ms(100))),
            (10_000, 5, Ok(())),
            (10_000, 1, Err(ms(100))),
            (10_300, 3, Ok(())),
        ] {
            assert_eq!(budget.take(ms(at_ms), cost, 10, 5), expected, "{cost} at {at_ms} ms");
        }
        assert!(!budget.is_full(ms(10_799)) && budget.is_full(ms(10_800)));
    }

    /// What was taken anyway is owed, and whoever comes next waits for it too: two that share a
    /// bucket together get no more than one.
    #[test]
    fn debts_are_paid_off_in_turn() {
        let mut budget = Budget::default();
        for (at_ms, cost, wait_ms) in
            [(0, 5, 0), (0, 1, 100), (0, 1, 200), (150, 1, 150), (1_000, 5, 0), (1_000, 20, 2_000)]
        {
            assert_eq!(budget.charge(ms(at_ms), cost, 10, 5), ms(wait_ms), "{cost} at {at_ms} ms");
        }
        assert_eq!(budget.take(ms(2_000), 1, 10, 5), Err(ms(1_100)));
        assert_eq!(budget.take(ms(3_100), 1, 10, 5), Ok(()));
    }

    /// What costs more than a full bucket holds never gets through, and takes nothing.
    #[test]
    fn too_much_is_never_there() {
        let mut budget = Budget::default();
        assert!(budget.take(ms(0), 6, 10, 5).is_err());
        assert!(budget.take(ms(0), u64::MAX, 1, 5).is_err());
        assert_eq!(budget.take(ms(0), 5, 10, 5), Ok(()));
    }
}
