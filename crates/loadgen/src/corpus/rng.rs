//! Randomness that depends on nothing but a seed and a name.
//!
//! SplitMix64: ten lines that will give the same numbers whatever becomes of any library. Every
//! event has a stream of its own, so that what one event draws never shifts another.

/// What a stream of numbers is for: streams of different purposes are unrelated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// The kinds of all events.
    Kinds = 1,
    /// The times of all events.
    Times = 2,
    /// What one event says; numbered by event.
    Event = 3,
    /// What one author is like; numbered by author.
    Author = 4,
    /// What sort one deletion is; numbered by event.
    Deletion = 5,
    /// Whose version of what one event is; numbered by event.
    Version = 6,
    /// Which events are followed by another version in the same second.
    Twins = 7,
}

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    state: u64,
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// The stream of this seed, purpose and number.
    pub(crate) fn new(seed: u64, purpose: Purpose, number: u64) -> Self {
        let named = mix(seed.wrapping_add((purpose as u64) << 56));
        Self { state: mix(named ^ mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15))) }
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number below `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        debug_assert!(end > 0, "nothing lies below 0");
        ((u64::from((self.bits() >> 32) as u32) * u64::from(end)) >> 32) as u32
    }

    /// True so many times in a thousand.
    pub(crate) fn per_mille(&mut self, share: u32) -> bool {
        self.below(1000) < share
    }

    /// One of the items, which are some.
    pub(crate) fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len() as u32) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers that are published for SplitMix64 with this start.
    #[test]
    fn the_numbers_are_those_of_split_mix() {
        let mut rng = Rng { state: 1_234_567 };
        let drawn = [rng.bits(), rng.bits(), rng.bits()];
        let published =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(drawn, published);
    }

    #[test]
    fn draws_are_even() {
        let mut rng = Rng::new(7, Purpose::Event, 0);
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[rng.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (9_600..10_400).contains(&count)), "{counts:?}");
    }
}
