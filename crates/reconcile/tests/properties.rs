//! What must hold of any sets, messages and peers.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use std::collections::BTreeSet;
use std::convert::Infallible;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use support::peers::{Ours, limit};
use support::{assert_exact, session};
use zeolite_proto::{EventId, Timestamp};
use zeolite_reconcile::{
    Body, Bound, Edge, Fingerprint, FrameLimit, Initiator, Item, Ranges, Set, SortedSet, StepError,
    Sum, Writer, respond,
};

/// Items that meet: few seconds, ids that share prefixes.
fn item() -> impl Strategy<Value = Item> {
    let id = prop_oneof![
        any::<[u8; 32]>(),
        (0u8..3, 0usize..33, any::<u8>()).prop_map(|(fill, at, other)| {
            let mut id = [fill; 32];
            if let Some(byte) = id.get_mut(at) {
                *byte = other;
            }
            id
        }),
    ];
    let time = prop_oneof![0u64..4, 1_000u64..1_003, Just((1 << 40) - 1)];
    (time, id).prop_map(|(time, id)| Item { time: Timestamp(time), id: EventId(id) })
}

fn bound() -> impl Strategy<Value = Bound> {
    prop_oneof![
        item().prop_map(|item| Bound::at_item(&item)),
        item().prop_map(|item| Bound::at_time(item.time)),
        (item(), item()).prop_filter_map("two items", |(one, two)| {
            (one != two).then(|| Bound::between(&one.min(two), &one.max(two)))
        }),
        Just(Bound::ZERO),
        Just(Bound::INFINITY),
    ]
}

fn sum(items: &[Item]) -> Sum {
    items.iter().fold(Sum::ZERO, |sum, item| sum.with(&item.id))
}

/// The same set, never split by a walk.
struct ByEdges {
    set: SortedSet,
    /// Split where its places happen to be cheap: as far off as is allowed, to either side.
    leans: bool,
}

impl Set for ByEdges {
    type Error = Infallible;
    const WALK_ITEMS_MAX: usize = 0;

    fn len(&self) -> usize {
        self.set.len()
    }

    fn seek(&self, from: &Edge, bound: &Bound) -> Result<Edge, Infallible> {
        self.set.seek(from, bound)
    }

    fn edge_at(&self, at: usize) -> Result<Edge, Infallible> {
        self.set.edge_at(at)
    }

    fn edge_near(&self, at: usize, slack: usize) -> Result<Edge, Infallible> {
        let index = match self.set.items()[at].id.0[0] % 3 {
            _ if !self.leans => return self.edge_at(at),
            0 => at - slack,
            1 => at + slack,
            _ => at,
        };
        let place = Bound::at_place(&self.set.items()[index]);
        self.set.seek(&Edge::START, &place)
    }

    fn for_each(
        &self,
        from: &Edge,
        count: usize,
        visit: &mut dyn FnMut(&Item),
    ) -> Result<(), Infallible> {
        self.set.for_each(from, count, visit)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// N-06: the bound is between, and no shorter one is.
    #[test]
    fn bounds_are_between_and_short(items in btree_set(item(), 2..20)) {
        let items: Vec<Item> = items.into_iter().collect();
        for pair in items.windows(2) {
            let bound = Bound::between(&pair[0], &pair[1]);
            prop_assert!(bound.is_above(&pair[0]) && !bound.is_above(&pair[1]));
            prop_assert_eq!(bound.time(), pair[1].time);
            if pair[0].time == pair[1].time {
                let common = pair[0].id.0.iter().zip(pair[1].id.0);
                let common = common.take_while(|(one, two)| **one == *two).count();
                prop_assert_eq!(&bound.id().0[..=common], &pair[1].id.0[..=common]);
                prop_assert!(bound.id().0[common + 1..].iter().all(|byte| *byte == 0));
            } else {
                prop_assert_eq!(bound.id(), EventId([0; 32]));
            }
        }
    }

    #[test]
    fn sums_are_a_group(ids in vec(any::<[u8; 32]>(), 0..9), more in vec(any::<[u8; 32]>(), 0..9)) {
        let fold = |ids: &[[u8; 32]]| {
            ids.iter().fold(Sum::ZERO, |sum, id| sum.with(&EventId(*id)))
        };
        let (one, two) = (fold(&ids), fold(&more));
        prop_assert_eq!(one.merged(two), two.merged(one));
        prop_assert_eq!(one.merged(two).minus(two), one);
        prop_assert_eq!(more.iter().fold(two, |sum, id| sum.without(&EventId(*id))), Sum::ZERO);
        prop_assert_eq!(Sum::from_bytes(&one.to_bytes()), one);
        // Byte by byte, with a carry: the sum as it is taught in school.
        let mut school = [0u8; 32];
        for id in &ids {
            let mut carry = 0u16;
            for (digit, add) in school.iter_mut().zip(id) {
                let column = u16::from(*digit) + u16::from(*add) + carry;
                *digit = column.to_le_bytes()[0];
                carry = column >> 8;
            }
        }
        prop_assert_eq!(one.to_bytes(), school);
    }

    /// A sorted set answers as a search from the start does, in any order of items, from any edge.
    #[test]
    fn a_sorted_set_is_its_items(
        mut items in vec(item(), 0..300),
        from in bound(),
        to in bound(),
    ) {
        let set = SortedSet::new(items.clone());
        items.sort();
        items.dedup();
        prop_assert_eq!(set.items(), &items[..]);
        prop_assert!(set.memory_bytes() >= 40 * items.len());
        let naive = |bound: Bound| {
            let index = items.iter().filter(|item| bound.is_above(item)).count();
            Edge { bound, index, sum: sum(&items[..index]) }
        };
        let (from, to) = (from.min(to), from.max(to));
        prop_assert_eq!(set.seek(&naive(from), &to), Ok(naive(to)));
        prop_assert_eq!(set.seek(&Edge::START, &to), Ok(naive(to)));
        for at in 1..items.len() {
            let bound = Bound::between(&items[at - 1], &items[at]);
            prop_assert_eq!(set.edge_at(at), Ok(naive(bound)));
        }
        let mut seen = Vec::new();
        let count = naive(from).count_to(&naive(to));
        set.for_each(&naive(from), count, &mut |item| seen.push(*item)).expect("memory");
        prop_assert_eq!(&seen[..], &items[naive(from).index..naive(to).index]);
    }

    /// What is written is read: the same bounds and bodies, skips merged.
    #[test]
    fn messages_round_trip(
        parts in vec((bound(), 0..3, vec(any::<[u8; 32]>(), 0..3), any::<[u8; 16]>()), 0..9),
    ) {
        let mut parts = parts;
        parts.sort_by_key(|part| part.0);
        let mut writer = Writer::new();
        let mut expected = Vec::new();
        for (bound, mode, ids, print) in &parts {
            let body = match mode {
                0 => Body::Skip,
                1 => Body::Fingerprint(Fingerprint(*print)),
                _ => Body::Ids(ids),
            };
            writer.push(bound, &body);
            if matches!(expected.last(), Some((_, Body::Skip))) && body == Body::Skip {
                expected.pop();
            }
            expected.push((*bound, body));
        }
        if matches!(expected.last(), Some((_, Body::Skip))) {
            expected.pop();
        }
        let message = writer.finish();
        let ranges = Ranges::new(&message).expect("a good message");
        prop_assert_eq!(ranges.map(|range| (range.bound, range.body)).collect::<Vec<_>>(), expected);
    }

    /// Any two sets, any limits: exactly the difference, whichever way ranges are split.
    #[test]
    fn sessions_find_the_difference(
        shared in btree_set(item(), 0..400),
        ours in btree_set(item(), 0..100),
        theirs in btree_set(item(), 0..100),
        our_limit in prop_oneof![Just(0usize), 4_096usize..9_000],
        their_limit in prop_oneof![Just(0usize), 4_096usize..9_000],
    ) {
        let all = |own: &BTreeSet<Item>| {
            // An id belongs to one time.
            let mut ids = BTreeSet::new();
            let items = shared.iter().chain(own).filter(|item| ids.insert(item.id)).copied();
            let mut items: Vec<Item> = items.collect();
            items.sort();
            items
        };
        let ours = all(&ours);
        let time_of: std::collections::BTreeMap<_, _> =
            ours.iter().map(|item| (item.id, item.time)).collect();
        let mut theirs = all(&theirs);
        theirs.retain(|item| time_of.get(&item.id).is_none_or(|time| *time == item.time));
        let outcome = session(&mut Ours::new(&ours, our_limit), &Ours::new(&theirs, their_limit));
        assert_exact(&outcome, &ours, &theirs, "random sets");
        let leaning = |items: &[Item]| ByEdges { set: items.iter().copied().collect(), leans: true };
        let outcome = session(
            &mut Ours::over(leaning(&ours), our_limit),
            &Ours::over(leaning(&theirs), their_limit),
        );
        assert_exact(&outcome, &ours, &theirs, "random sets that lean");
    }

    /// Places that need not be items: the same place, no byte more than it takes.
    #[test]
    fn a_place_is_as_short_as_it_can_be(place in item(), other in item()) {
        let bound = Bound::at_place(&place);
        prop_assert_eq!(bound, Bound::at_item(&place));
        prop_assert_eq!(bound.is_above(&other), other < place);
        let mut writer = Writer::new();
        writer.push(&bound, &Body::Ids(&[]));
        let zeros = place.id.0.iter().rev().take_while(|byte| **byte == 0).count();
        let mut longest = Writer::new();
        longest.push(&Bound::at_item(&place), &Body::Ids(&[]));
        prop_assert_eq!(writer.finish().len() + zeros, longest.finish().len());
    }

    /// A walk and 15 places give the same split.
    #[test]
    fn walks_and_edges_split_alike(items in btree_set(item(), 0..400), bound in bound()) {
        let walked: SortedSet = items.into_iter().collect();
        let by_edges = ByEdges { set: walked.clone(), leans: false };
        let mut writer = Writer::new();
        writer.push(&bound, &Body::Fingerprint(Fingerprint([1; 16])));
        writer.push(&Bound::INFINITY, &Body::Fingerprint(Fingerprint([2; 16])));
        let message = writer.finish();
        for frame in [FrameLimit::NONE, limit(4_096)] {
            let one = respond(&walked, &message, frame).expect("a good message");
            let two = respond(&by_edges, &message, frame).expect("a good message");
            prop_assert_eq!(one, two);
        }
    }

    /// Any bytes as a peer: refused or answered; a session ends whatever comes.
    #[test]
    fn any_bytes_are_survived(
        items in btree_set(item(), 0..100),
        tails in vec(vec(any::<u8>(), 0..200), 1..5),
    ) {
        let set: SortedSet = items.into_iter().collect();
        let mut initiator = Initiator::new(limit(4_096));
        for tail in tails {
            let message = [&[0x61][..], &tail].concat();
            let answer = respond(&set, &message, limit(4_096));
            prop_assert!(answer.is_ok_and(|answer| answer.len() <= 4_096)
                || Ranges::new(&message).is_err());
            let _ = initiator.step(&set, &message);
        }
    }
}

/// A peer that differs for ever and lists nothing ends the session, not the initiator.
#[test]
fn an_endless_peer_is_left() {
    let set = SortedSet::default();
    let mut initiator = Initiator::new(limit(4_096));
    let mut endless = Writer::new();
    endless.push(&Bound::INFINITY, &Body::Fingerprint(Fingerprint([1; 16])));
    let endless = endless.finish();
    let error = loop {
        match initiator.step(&set, &endless) {
            Ok(step) => assert_eq!(step.next.as_deref(), Some(&[0x61, 0, 0, 2, 0][..])),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StepError::Endless(64)), "{error}");
}

/// A set that changes between the rounds does not keep a session from ending, and what did not
/// change is told exactly.
#[test]
fn a_set_may_change_between_rounds() {
    use rand::{RngExt, SeedableRng};
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(3);
    let ours = support::random_items(&mut rng, 3_000, 1_000, 50_000);
    let stable = support::random_items(&mut rng, 3_000, 1_000, 50_000);
    let mut changing = stable.clone();
    let set: SortedSet = ours.iter().copied().collect();
    let mut initiator = Initiator::new(limit(4_096));
    let mut message = initiator.start(&set).expect("memory can be read");
    let (mut have, mut need) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let time = rng.random_range(1_000..60_000);
        changing.extend(support::random_items(&mut rng, 5, time, 10));
        let other: SortedSet = changing.iter().copied().collect();
        let answer = respond(&other, &message, limit(4_096)).expect("a good message");
        let step = initiator.step(&set, &answer).expect("an end");
        have.extend(step.have);
        need.extend(step.need);
        let Some(next) = step.next else { break };
        message = next;
    }
    assert!(ours.iter().all(|item| have.contains(&item.id)));
    assert!(stable.iter().all(|item| need.contains(&item.id)));
}
