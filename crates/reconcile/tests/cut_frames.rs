//! N-16: frames that end within a split. What is said of the rest must start where the last range
//! that was written ends; a fault of older peers loses items there, and a repetition finds them.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use std::collections::BTreeSet;

use support::peers::{CutShort, Initiates, Ours, Responds, Theirs};
use support::{assert_exact, difference, numbered, pairs, session};
use zeolite_reconcile::{Item, SortedSet};

/// Twelve groups of 32 items that differ, then 40 items which only the first set has. The frame of
/// 4,096 bytes is full before all groups are split.
fn groups_and_a_tail() -> (Vec<Item>, Vec<Item>) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for group in 0..12 {
        for place in 0..32 {
            let time = 1_000 + 100 * group + place;
            let number = 1_000 * (group + 1) + place;
            let shared = numbered(time, number);
            first.push(if place % 2 == 0 { numbered(time, number + 500) } else { shared });
            second.push(shared);
        }
    }
    first.extend((0..40).map(|place| numbered(5_000 + place, 50_000 + place)));
    (first, second)
}

/// The sets of the scenario in which the reference lost items (nostrdevkit/negentropy issue 15):
/// both sides' frames are cut where one of them has nothing.
fn both_cut() -> (Vec<Item>, Vec<Item>) {
    let mut numbers = 1..;
    let mut item = |time| numbered(time, numbers.next().expect("endless"));
    let (mut client, mut server) = (Vec::new(), Vec::new());
    let shared: Vec<Item> = (0..1_500).map(|place| item(1_000 + place * 10)).collect();
    server.extend((0..15).map(|place| item(1_005 + place * 1_000)));
    for group in 0..2 {
        client.extend((0..35).map(|place| item(1_201 + group * 1_000 + place % 8)));
    }
    let late: Vec<Item> = (0..40).map(|place| item(15_900 + place * 2)).collect();
    server.push(item(15_999));
    client.extend((0..110).map(|place| item(50_000 + place * 10)));
    for side in [&mut client, &mut server] {
        side.extend(shared.iter().chain(&late));
        side.sort_unstable();
    }
    (client, server)
}

fn scenarios() -> Vec<(String, Vec<Item>, Vec<Item>)> {
    let mut scenarios = Vec::new();
    for (name, (first, second)) in
        [("groups and a tail", groups_and_a_tail()), ("both cut", both_cut())]
    {
        scenarios.push((name.to_owned(), first.clone(), second.clone()));
        scenarios.push((format!("{name}, turned round"), second, first));
    }
    for seed in 20..24 {
        let pairs = pairs(seed, 1_500).into_iter();
        scenarios.extend(pairs.map(|pair| (pair.name.to_owned(), pair.ours, pair.theirs)));
    }
    scenarios
}

#[test]
fn nothing_is_lost_between_peers_without_the_fault() {
    for (name, first, second) in scenarios() {
        for (ours, theirs) in [(4_096, 4_096), (4_096, 4_767), (4_096, 0), (0, 4_096)] {
            let outcome = session(&mut Ours::new(&first, ours), &Ours::new(&second, theirs));
            assert_exact(&outcome, &first, &second, &name);
            let outcome = session(&mut Ours::new(&first, ours), &Theirs::new(&second, theirs));
            assert_exact(&outcome, &first, &second, &name);
            let outcome = session(&mut Theirs::new(&first, ours), &Ours::new(&second, theirs));
            assert_exact(&outcome, &first, &second, &name);
        }
    }
}

/// The fault is there, or the next test shows nothing.
#[test]
fn a_peer_with_the_fault_loses_items() {
    let (first, second) = both_cut();
    let outcome = session(&mut CutShort::new(&first, 4_096), &CutShort::new(&second, 4_767));
    assert_ne!(outcome.have, difference(&first, &second));
}

/// Repeats sessions, carrying over what was found, until one finds nothing. Returns their number.
fn repeat(
    mut first: BTreeSet<Item>,
    mut second: BTreeSet<Item>,
    initiator: &dyn Fn(&[Item]) -> Box<dyn Initiates>,
    responder: &dyn Fn(&[Item]) -> Box<dyn Responds>,
    name: &str,
) -> usize {
    for sessions in 1..20 {
        let items = |set: &BTreeSet<Item>| set.iter().copied().collect::<Vec<Item>>();
        let outcome = session(&mut *initiator(&items(&first)), &*responder(&items(&second)));
        let carry = |from: &BTreeSet<Item>, ids: &BTreeSet<_>| {
            from.iter().filter(|item| ids.contains(&item.id)).copied().collect::<Vec<Item>>()
        };
        let (up, down) = (carry(&first, &outcome.have), carry(&second, &outcome.need));
        if up.is_empty() && down.is_empty() {
            assert!(first == second, "{name}: the last session finds nothing, yet sets differ");
            return sessions;
        }
        second.extend(up);
        first.extend(down);
    }
    panic!("{name}: no end");
}

#[test]
fn repetition_converges_with_a_peer_that_has_the_fault() {
    for (name, first, second) in scenarios() {
        let (first, second) = (BTreeSet::from_iter(first), BTreeSet::from_iter(second));
        let sessions = repeat(
            first.clone(),
            second.clone(),
            &|items| Box::new(Ours::new(items, 4_096)),
            &|items| Box::new(CutShort::new(items, 4_767)),
            &name,
        );
        assert!(sessions <= 4, "{name}: {sessions} sessions as initiator");
        let sessions = repeat(
            first,
            second,
            &|items| Box::new(CutShort::new(items, 4_096)),
            &|items| Box::new(Ours::new(items, 4_767)),
            &name,
        );
        assert!(sessions <= 4, "{name}: {sessions} sessions as responder");
    }
}

/// N-11: the rest of a full frame is never stood for by the fingerprint of nothing, which a peer
/// with the fault would take for agreement.
#[test]
fn an_empty_rest_is_listed() {
    let (first, second) = groups_and_a_tail();
    let first: SortedSet = first.into_iter().collect();
    let mut initiator = zeolite_reconcile::Initiator::new(support::peers::limit(4_096));
    let mut message = initiator.start(&first).expect("memory can be read");
    let responder = Ours::new(&second, 4_096);
    loop {
        let answer = responder.respond(&message);
        for part in [&message, &answer] {
            for range in zeolite_reconcile::Ranges::new(part).expect("a good message") {
                let nothing = zeolite_reconcile::Fingerprint::new(&zeolite_reconcile::Sum::ZERO, 0);
                assert_ne!(range.body, zeolite_reconcile::Body::Fingerprint(nothing));
            }
        }
        let step = initiator.step(&first, &answer).expect("a good answer");
        let Some(next) = step.next else { break };
        message = next;
    }
}
