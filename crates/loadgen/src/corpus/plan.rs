//! What is settled about all events before the first is composed: what they are, and when.

use crate::corpus::rng::Rng;

/// The earliest time of every generated corpus: 2025-01-01 00:00:00 UTC.
pub(crate) const BASE_TIME: u64 = 1_735_689_600;
/// Seconds that a generated corpus spans: 30 days.
const SPAN_S: u32 = 30 * 24 * 3600;

/// Seconds that a corpus of so many events spans: at least one for each event.
pub(crate) fn span_s(events: u32) -> u32 {
    SPAN_S.max(events)
}

/// Divides `total` in the ratio of the weights, without remainder: the largest fractions are rounded
/// up.
pub(crate) fn shares(total: u32, weights: &[u32]) -> Vec<u32> {
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    let part = |weight: u32| u64::from(total) * u64::from(weight);
    let mut shares: Vec<_> = weights.iter().map(|&weight| (part(weight) / sum) as u32).collect();
    let mut by_fraction: Vec<_> = (0..weights.len()).collect();
    by_fraction.sort_by_key(|&at| (std::cmp::Reverse(part(weights[at]) % sum), at));
    let missing = total - shares.iter().sum::<u32>();
    for &at in by_fraction.iter().take(missing as usize) {
        shares[at] += 1;
    }
    shares
}

/// Each role as often as its share says, in random order.
pub(crate) fn deal<R: Copy>(roles: &[R], shares: &[u32], rng: &mut Rng) -> Vec<R> {
    let mut deck: Vec<R> = Vec::new();
    for (&role, &share) in roles.iter().zip(shares) {
        deck.resize(deck.len() + share as usize, role);
    }
    for at in (1..deck.len()).rev() {
        deck.swap(at, rng.below(at as u32 + 1) as usize);
    }
    deck
}

/// A time for each event, in seconds after the base, spread evenly over the span. `follows` says of
/// each event but the first whether it falls into the second of the one before; others do not, as
/// long as there is a second for each.
pub(crate) fn times(
    events: u32,
    span_s: u32,
    rng: &mut Rng,
    mut follows: impl FnMut(&mut Rng) -> bool,
) -> Vec<u32> {
    let mut slot = 0;
    let mut times: Vec<u32> = (0..events)
        .map(|number| {
            slot += u32::from(number > 0 && !follows(rng));
            slot
        })
        .collect();
    let count = u64::from(slot) + 1;
    let start = |slot: u32| (u64::from(slot) * u64::from(span_s) / count) as u32;
    let mut last = (u32::MAX, 0);
    for time in &mut times {
        let slot = *time;
        if last.0 != slot {
            let room = start(slot + 1) - start(slot);
            last = (slot, start(slot) + rng.below(room.max(1)));
        }
        *time = last.1;
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::rng::Purpose;

    #[test]
    fn shares_add_up() {
        assert_eq!(shares(9000, &[4942, 702, 2711, 645]), [4942, 702, 2711, 645]);
        assert_eq!(shares(10, &[1, 1, 1]), [4, 3, 3]);
        assert_eq!(shares(0, &[5, 1]), [0, 0]);
        assert_eq!(shares(4_000_000_000, &[1, 0]), [4_000_000_000, 0]);
    }

    #[test]
    fn times_are_in_order_and_within_the_span() {
        let mut rng = Rng::new(1, Purpose::Times, 0);
        let distinct = times(10_000, 20_000, &mut rng, |_| false);
        assert!(distinct.windows(2).all(|pair| pair[0] < pair[1]) && distinct[9_999] < 20_000);
        let tied = times(10_000, 20_000, &mut rng, |rng| rng.per_mille(250));
        let ties = tied.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!(
            tied.is_sorted() && tied[9_999] < 20_000 && (2_300..2_700).contains(&ties),
            "{ties}"
        );
    }
}
