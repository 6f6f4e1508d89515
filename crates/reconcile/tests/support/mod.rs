//! Sets of every shape, and sessions between peers of different make.

#![allow(dead_code, reason = "each test crate uses its part")]

pub(crate) mod peers;

use std::collections::BTreeSet;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use zeolite_proto::{EventId, Timestamp};
use zeolite_reconcile::Item;

use peers::{Initiates, Responds};

/// The items of two peers.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) ours: Vec<Item>,
    pub(crate) theirs: Vec<Item>,
}

/// Every shape of two sets: equal, apart, overlapping, empty, dense in time, one-sided tails.
pub(crate) fn pairs(seed: u64, items: usize) -> Vec<Pair> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let spread = random_items(&mut rng, items, 1_600_000_000, 7 * items as u64);
    let dense = random_items(&mut rng, items, 1_700_000_000, 1);
    let few_seconds = random_items(&mut rng, items, 0, 5);
    let from_start = random_items(&mut rng, 31, 0, 1);
    let apart = random_items(&mut rng, items, 1_600_000_000, 7 * items as u64);
    let mut pairs = vec![
        pair("equal", spread.clone(), spread.clone()),
        pair("we have none", Vec::new(), spread.clone()),
        pair("they have none", spread.clone(), Vec::new()),
        pair("both have none", Vec::new(), Vec::new()),
        pair("nothing in common", spread.clone(), apart),
        pair("few against many", from_start.clone(), spread.clone()),
        pair("many against few", spread.clone(), from_start),
        pair("all in one second, we have none", Vec::new(), dense.clone()),
        pair("all in one second, equal", dense.clone(), dense.clone()),
        pair("their newest half is missing", spread[..items / 2].to_vec(), spread.clone()),
        pair("our newest half is missing", spread.clone(), spread[..items / 2].to_vec()),
    ];
    for (name, all) in [
        ("a fifth missing on each side", &spread),
        ("a fifth missing, all in one second", &dense),
        ("a fifth missing, in five seconds", &few_seconds),
    ] {
        pairs.push(pair(name, thinned(&mut rng, all, 20), thinned(&mut rng, all, 20)));
    }
    pairs.push(pair("few differences", thinned(&mut rng, &spread, 1), spread.clone()));
    let mut slice_less = spread;
    slice_less.drain(items / 3..items / 2);
    let whole = pairs[0].ours.clone();
    pairs.push(pair("a slice is missing", slice_less, whole));
    pairs
}

fn pair(name: &'static str, ours: Vec<Item>, theirs: Vec<Item>) -> Pair {
    Pair { name, ours, theirs }
}

/// `count` items with times from `start` on, within `span` seconds, sorted.
pub(crate) fn random_items(rng: &mut impl Rng, count: usize, start: u64, span: u64) -> Vec<Item> {
    let items = (0..count).map(|_| {
        let mut id = [0; 32];
        rng.fill_bytes(&mut id);
        Item { time: Timestamp(start + rng.random_range(0..span)), id: EventId(id) }
    });
    let mut items: Vec<Item> = items.collect();
    items.sort_unstable();
    items
}

/// The items without a random `percent` of them.
pub(crate) fn thinned(rng: &mut impl Rng, items: &[Item], percent: u32) -> Vec<Item> {
    items.iter().filter(|_| rng.random_range(0..100) >= percent).copied().collect()
}

/// An item whose id is a number, little-endian.
pub(crate) fn numbered(time: u64, number: u64) -> Item {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&number.to_le_bytes());
    Item { time: Timestamp(time), id: EventId(id) }
}

/// What a session told the initiator, and what went over the wire.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) have: BTreeSet<EventId>,
    pub(crate) need: BTreeSet<EventId>,
    /// Messages in the order in which they were sent, the initiator's first.
    pub(crate) messages: Vec<Vec<u8>>,
}

impl Outcome {
    pub(crate) fn rounds(&self) -> usize {
        self.messages.len() / 2
    }

    pub(crate) fn bytes(&self) -> usize {
        self.messages.iter().map(Vec::len).sum()
    }
}

/// Lets two peers speak until the initiator is done.
pub(crate) fn session(initiator: &mut dyn Initiates, responder: &dyn Responds) -> Outcome {
    let mut outcome = Outcome::default();
    let mut next = Some(initiator.start());
    while let Some(message) = next {
        let answer = responder.respond(&message);
        let (following, have, need) = initiator.step(&answer);
        assert_eq!(BTreeSet::from_iter(&have).len(), have.len(), "each id once in a step");
        assert_eq!(BTreeSet::from_iter(&need).len(), need.len(), "each id once in a step");
        outcome.have.extend(have);
        outcome.need.extend(need);
        outcome.messages.extend([message, answer]);
        assert!(outcome.messages.len() < 5_000, "no end");
        next = following;
    }
    outcome
}

/// The ids in `left` that `right` lacks.
pub(crate) fn difference(left: &[Item], right: &[Item]) -> BTreeSet<EventId> {
    let right: BTreeSet<EventId> = right.iter().map(|item| item.id).collect();
    left.iter().map(|item| item.id).filter(|id| !right.contains(id)).collect()
}

/// Panics unless the initiator, who holds `ours`, learnt exactly the difference.
pub(crate) fn assert_exact(outcome: &Outcome, ours: &[Item], theirs: &[Item], case: &str) {
    let (have, need) = (difference(ours, theirs), difference(theirs, ours));
    assert!(outcome.have == have, "{case}: have {} of {}", outcome.have.len(), have.len());
    assert!(outcome.need == need, "{case}: need {} of {}", outcome.need.len(), need.len());
}
