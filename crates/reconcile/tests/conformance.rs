//! N-17: against the negentropy crate, in both roles, over sets of every shape.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use support::peers::{Ours, Theirs};
use support::{Pair, assert_exact, difference, pairs, session};

/// 0 is no limit; 4096 the least one; the others what relays use.
const FRAME_LIMITS: [usize; 4] = [0, 4_096, 60_000, 500_000];

fn for_every_limit(check: impl Fn(&Pair, usize, usize, &str)) {
    for (seed, items) in [(1, 100), (2, 1_000), (3, 4_000)] {
        for pair in pairs(seed, items) {
            for (at, ours) in FRAME_LIMITS.into_iter().enumerate() {
                let theirs = FRAME_LIMITS[(at + seed as usize) % FRAME_LIMITS.len()];
                for theirs in [theirs, ours] {
                    let case = format!("{}, {items} items, limits {ours} and {theirs}", pair.name);
                    check(&pair, ours, theirs, &case);
                }
            }
        }
    }
}

#[test]
fn we_initiate() {
    for_every_limit(|pair, ours, theirs, case| {
        let mut we = Ours::new(&pair.ours, ours);
        let outcome = session(&mut we, &Theirs::new(&pair.theirs, theirs));
        assert_exact(&outcome, &pair.ours, &pair.theirs, case);
    });
}

#[test]
fn we_respond() {
    for_every_limit(|pair, ours, theirs, case| {
        let mut they = Theirs::new(&pair.theirs, theirs);
        let outcome = session(&mut they, &Ours::new(&pair.ours, ours));
        assert_exact(&outcome, &pair.theirs, &pair.ours, case);
    });
}

#[test]
fn we_speak_with_ourselves() {
    for_every_limit(|pair, ours, theirs, case| {
        let mut we = Ours::new(&pair.ours, ours);
        let outcome = session(&mut we, &Ours::new(&pair.theirs, theirs));
        assert_exact(&outcome, &pair.ours, &pair.theirs, case);
    });
}

/// Without limits every choice is the reference's, so that every message has its bytes.
#[test]
fn every_message_is_the_same_without_limits() {
    for (seed, items) in [(4, 31), (5, 32), (6, 33), (7, 500), (8, 3_000)] {
        for pair in pairs(seed, items) {
            let messages = |ours_first: bool, ours_answer: bool| {
                let (mut we, mut they) = (Ours::new(&pair.ours, 0), Theirs::new(&pair.ours, 0));
                let (we_too, they_too) = (Ours::new(&pair.theirs, 0), Theirs::new(&pair.theirs, 0));
                match (ours_first, ours_answer) {
                    (true, true) => session(&mut we, &we_too),
                    (true, false) => session(&mut we, &they_too),
                    (false, true) => session(&mut they, &we_too),
                    (false, false) => session(&mut they, &they_too),
                }
                .messages
            };
            let reference = messages(false, false);
            for (first, answer) in [(true, true), (true, false), (false, true)] {
                assert!(messages(first, answer) == reference, "{}, {items} items", pair.name);
            }
        }
    }
}

/// With limits a responder's messages are the reference's too, but for ends of frames after which
/// one side has nothing: there we list nothing instead of sending the fingerprint of nothing. An
/// initiator of ours keeps what did not fit where the reference's finds it again from the top.
#[test]
fn answers_are_the_same_in_frames_with_a_rest() {
    let pair = pairs(9, 4_000).into_iter().find(|pair| pair.name == "a fifth missing on each side");
    let pair = pair.expect("there is one");
    for limit in [4_096, 60_000] {
        let (mut they, they_too) =
            (Theirs::new(&pair.ours, limit), Theirs::new(&pair.theirs, limit));
        let reference = session(&mut they, &they_too);
        let answered = session(&mut they, &Ours::new(&pair.theirs, limit));
        assert!(answered.messages == reference.messages, "frames of {limit} bytes");
        let ours = session(&mut Ours::new(&pair.ours, limit), &they_too);
        assert_exact(&ours, &pair.ours, &pair.theirs, "with what is kept");
        assert!(ours.rounds() < reference.rounds(), "frames of {limit} bytes");
        assert!(ours.bytes() < reference.bytes() * 11 / 10, "frames of {limit} bytes");
    }
}

/// Case 71: contiguous differences in time stay few messages, and equal sets are one round.
#[test]
fn rounds_are_few() {
    for pair in pairs(10, 4_000) {
        let outcome = session(&mut Ours::new(&pair.ours, 0), &Ours::new(&pair.theirs, 0));
        let differs = !difference(&pair.ours, &pair.theirs).is_empty()
            || !difference(&pair.theirs, &pair.ours).is_empty();
        let rounds_max = if differs { 4 } else { 1 };
        assert!(outcome.rounds() <= rounds_max, "{}: {} rounds", pair.name, outcome.rounds());
    }
}
