//! Two responders of the `negentropy` crate, and nobody who holds a set between them.

#![allow(missing_docs, reason = "a test crate has no callers")]

use std::collections::BTreeSet;

use negentropy::{Id, Negentropy, NegentropyStorageVector};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use zeolite_reconcile::{Cross, CrossError, FrameLimit};

type Items = BTreeSet<(u64, [u8; 32])>;

fn responder(items: &Items, frame_bytes_max: u64) -> Negentropy<'static, NegentropyStorageVector> {
    let mut storage = NegentropyStorageVector::new();
    for (time, id) in items {
        storage.insert(*time, Id::from_byte_array(*id)).expect("the storage is open");
    }
    storage.seal().expect("the storage is open");
    Negentropy::owned(storage, frame_bytes_max).expect("a legal limit")
}

struct Outcome {
    first_only: BTreeSet<[u8; 32]>,
    second_only: BTreeSet<[u8; 32]>,
    turns: usize,
}

/// Runs until all is said. Every message fits the limit of the side it goes to.
fn cross(
    first: &Items,
    second: &Items,
    answers_max: [u64; 2],
    questions: [FrameLimit; 2],
) -> Outcome {
    let mut sides = [responder(first, answers_max[0]), responder(second, answers_max[1])];
    let mut cross = Cross::new();
    let mut only = [BTreeSet::new(), BTreeSet::new()];
    let (mut at, mut turns) = (0, 0);
    loop {
        let answer = sides[at].reconcile(cross.question()).expect("a good question");
        turns += 1;
        let turn = cross.turn(&answer, questions[1 - at]).expect("a good answer");
        only[at].extend(turn.answering_only.iter().map(|id| id.0));
        only[1 - at].extend(turn.asking_only.iter().map(|id| id.0));
        at = 1 - at;
        if turn.next.is_none() {
            let [first_only, second_only] = only;
            return Outcome { first_only, second_only, turns };
        }
    }
}

fn draw(rng: &mut ChaCha8Rng, count: usize, seconds: u64) -> Items {
    (0..count)
        .map(|_| {
            let mut id = [0; 32];
            rng.fill_bytes(&mut id);
            (1_700_000_000 + rng.random_range(0..seconds), id)
        })
        .collect()
}

fn ids<'s>(items: impl Iterator<Item = &'s (u64, [u8; 32])>) -> BTreeSet<[u8; 32]> {
    items.map(|(_, id)| *id).collect()
}

/// N-09, N-13, N-14: exactly the difference is found, with every mix of frame limits.
#[test]
fn the_difference_of_two_responders_is_found() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let small = FrameLimit::LEAST;
    let limits = [
        ([0, 0], [FrameLimit::NONE; 2]),
        ([4096, 0], [FrameLimit::NONE; 2]),
        ([4096, 4096], [small; 2]),
        ([0, 0], [small; 2]),
        ([60_000, 4096], [small, FrameLimit::NONE]),
    ];
    for (common, first, second, seconds) in [
        (0, 0, 0, 1),
        (100, 0, 0, 1000),
        (0, 3000, 0, 1_000_000),
        (0, 0, 3000, 1_000_000),
        (0, 500, 500, 10),
        (3000, 10, 10, 1_000_000),
        (3000, 1000, 1, 1000),
        (1000, 40, 700, 3),
    ] {
        let shared = draw(&mut rng, common, seconds);
        let one: Items = shared.union(&draw(&mut rng, first, seconds)).copied().collect();
        let other: Items = shared.union(&draw(&mut rng, second, seconds)).copied().collect();
        for (answers_max, questions) in limits {
            let found = cross(&one, &other, answers_max, questions);
            let case = format!("{common} {first} {second} {answers_max:?}");
            assert_eq!(found.first_only, ids(one.difference(&other)), "{case}");
            assert_eq!(found.second_only, ids(other.difference(&one)), "{case}");
            assert!(found.turns <= 64 + (first + second) / 4, "{case}: {} turns", found.turns);
        }
    }
}

/// Issue 5: two equal sets cost one question for each side.
#[test]
fn equal_sets_are_told_at_once() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let items = draw(&mut rng, 5000, 100_000);
    let found = cross(&items, &items, [0, 0], [FrameLimit::NONE; 2]);
    assert_eq!(found.turns, 2);
}

/// N-15: an answer that is no message ends it, and one that goes in circles does not go on for ever.
#[test]
fn bad_answers_end() {
    let frame = FrameLimit::NONE;
    assert!(matches!(Cross::new().turn(b"", frame), Err(CrossError::Message(_))));
    assert!(matches!(Cross::new().turn(&[0x61, 0], frame), Err(CrossError::Message(_))));
    let mut cross = Cross::new();
    let echo = cross.question().to_vec();
    let mut turns = 0;
    while cross.turn(&echo, frame).is_ok() {
        turns += 1;
        assert!(turns < 1000, "an echo goes on");
    }
}
