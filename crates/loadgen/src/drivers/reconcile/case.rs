//! How the client's set differs from the relay's.

use clap::ValueEnum;
use zeolite_proto::{EventId, Timestamp};

use crate::drivers::rng::Rng;

/// How the client's set differs from the relay's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Case {
    /// Not at all.
    Identical,
    /// 60 % of all events are in both, 20 % only here, 20 % only there; cut by time.
    Overlap60,
    /// The client lacks 1 %, all of one stretch of time.
    MissingSlice,
    /// The client lacks 1 %, one here and one there.
    MissingRandom,
    /// The client has nothing.
    Empty,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.to_possible_value().expect("no case is hidden from the command line");
        f.write_str(value.get_name())
    }
}

type Item = (Timestamp, EventId);

/// What the client holds, and what the reconciliation must find.
pub(super) struct Sets {
    /// In order.
    pub(super) client: Vec<Item>,
    /// Only the relay has them.
    pub(super) need: Vec<EventId>,
    /// Only the client has them.
    pub(super) have: Vec<EventId>,
}

impl Case {
    /// The client's set against a relay's, which is in order.
    pub(super) fn sets(self, relay: &[Item]) -> Sets {
        let length = relay.len();
        let keep = |lacks: &dyn Fn(usize) -> bool| {
            let (mut client, mut need) = (Vec::with_capacity(length), Vec::new());
            for (place, item) in relay.iter().enumerate() {
                if lacks(place) {
                    need.push(item.1);
                } else {
                    client.push(*item);
                }
            }
            Sets { client, need, have: Vec::new() }
        };
        match self {
            Self::Identical => keep(&|_| false),
            Self::Empty => keep(&|_| true),
            Self::MissingSlice => {
                let (from, count) = (length / 2, (length / 100).max(1));
                keep(&|place| (from..from + count).contains(&place))
            }
            Self::MissingRandom => {
                let mut rng = Rng::new(0x7265_636f);
                let lacks: Vec<_> = (0..length).map(|_| rng.below(100) == 0).collect();
                keep(&|place| lacks[place])
            }
            Self::Overlap60 => {
                // The relay has 80 % of the union: its newest quarter is what the client lacks, and
                // a quarter more, older than everything, is what only the client has.
                let mut sets = keep(&|place| place >= length - length / 4);
                let oldest = relay.first().map_or(0, |(time, _)| time.0);
                let mut own = made_up(length / 4, oldest);
                sets.have = own.iter().map(|(_, id)| *id).collect();
                own.append(&mut sets.client);
                sets.client = own;
                sets
            }
        }
    }
}

/// Items that nobody has, a second apart, up to `before`; in order.
fn made_up(count: usize, before: u64) -> Vec<Item> {
    let mut rng = Rng::new(0x6f76_6572);
    let oldest = before.saturating_sub(count as u64);
    (0..count).map(|place| (Timestamp(oldest + place as u64), EventId(rng.bytes()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// need and have are exactly the differences, and their shares are those of the name.
    #[test]
    fn sets_differ_as_they_say() {
        let mut rng = Rng::new(1);
        let relay: Vec<_> =
            (0..10_000).map(|n| (Timestamp(1_000_000 + n), EventId(rng.bytes()))).collect();
        for (case, need, have) in [
            (Case::Identical, 0..=0, 0),
            (Case::Overlap60, 2_500..=2_500, 2_500),
            (Case::MissingSlice, 100..=100, 0),
            (Case::MissingRandom, 70..=130, 0),
            (Case::Empty, 10_000..=10_000, 0),
        ] {
            let sets = case.sets(&relay);
            assert!(need.contains(&sets.need.len()), "{case}: {}", sets.need.len());
            assert_eq!(sets.have.len(), have, "{case}");
            assert_eq!(sets.client.len(), relay.len() - sets.need.len() + have, "{case}");
            assert!(sets.client.is_sorted(), "{case}");
        }
    }
}
