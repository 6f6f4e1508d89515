//! N-15, E-64, case 17: what is malformed is refused, costs no memory, and tells nothing.
#![allow(missing_docs, reason = "a test crate has no callers")]
#![allow(unsafe_code, reason = "an allocator cannot be written otherwise")]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use support::peers::limit;
use support::random_items;
use zeolite_reconcile::{Initiator, MessageError, Ranges, Set, SortedSet, respond};

struct Counting;

thread_local! {
    static ALLOCATED_BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED_BYTES.with(|bytes| bytes.set(bytes.get() + layout.size()));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn bytes(hex: &str) -> Vec<u8> {
    let mut bytes = vec![0; hex.len() / 2];
    faster_hex::hex_decode(hex.as_bytes(), &mut bytes).expect("hex");
    bytes
}

fn set() -> SortedSet {
    random_items(&mut ChaCha8Rng::seed_from_u64(1), 5_000, 1_000, 9_000).into_iter().collect()
}

#[test]
fn malformed_messages_are_refused_without_memory() {
    let set = set();
    // A list before the fault, which would be answered and compared if it were believed.
    let list = format!("610a000201{}", "ab".repeat(32));
    for (message, error) in [
        ("", MessageError::Empty),
        ("59", MessageError::NotThisProtocol(0x59)),
        ("5f00", MessageError::NotThisProtocol(0x5F)),
        ("70", MessageError::NotThisProtocol(0x70)),
        ("00", MessageError::NotThisProtocol(0)),
        ("6100", MessageError::Truncated),
        ("610000", MessageError::Truncated),
        ("61000003", MessageError::UnknownMode(3)),
        ("610000ff7f", MessageError::UnknownMode(16_383)),
        ("61000001aabb", MessageError::Truncated),
        ("6101210000", MessageError::PrefixTooLong(33)),
        ("610181ffffffffffffffff7f", MessageError::PrefixTooLong(u64::MAX)),
        ("61012000", MessageError::Truncated),
        ("61000002", MessageError::Truncated),
        ("6100000201", MessageError::ListTooLong(1)),
        ("61000002908080808080808000", MessageError::ListTooLong(1 << 60)),
        ("6100000281ffffffffffffffff7f", MessageError::ListTooLong(u64::MAX)),
        // Two to the 64th, eleven digits, and digits without an end.
        ("6182808080808080808000", MessageError::NumberTooLarge),
        ("618080808080808080808001", MessageError::NumberTooLarge),
        ("61ffffffffffffffffffffffff", MessageError::NumberTooLarge),
        ("61ff", MessageError::Truncated),
    ] {
        let message = bytes(message);
        check(&set, &message, error);
        if message.len() > 1 && message[0] == 0x61 {
            let late = [&bytes(&list), &message[1..]].concat();
            check(&set, &late, error);
        }
    }
}

fn check(set: &SortedSet, message: &[u8], error: MessageError) {
    let before = ALLOCATED_BYTES.get();
    assert_eq!(Ranges::new(message).err(), Some(error), "{message:02x?}");
    let refused = respond(set, message, limit(4_096));
    let mut initiator = Initiator::new(limit(4_096));
    let step = initiator.step(set, message);
    assert_eq!(ALLOCATED_BYTES.get() - before, 0, "{message:02x?}");
    let expected = error.to_string();
    assert_eq!(refused.expect_err("refused").to_string(), expected);
    assert_eq!(step.expect_err("refused").to_string(), expected);
    assert_eq!(initiator.rounds(), 0);
}

/// N-01: the initiator stops at another version; the responder offers its own.
#[test]
fn another_version_ends_the_initiator() {
    let step = Initiator::new(limit(4_096)).step(&set(), &[0x62]);
    let error = step.expect_err("another version").to_string();
    assert_eq!(error, "message has version byte 0x62 instead of 0x61");
}

/// Wrong bytes anywhere in a real message, and every length of it: an error or an answer within the
/// frame, never a panic, and memory in proportion to message and frame.
#[test]
fn damaged_messages_are_answered_or_refused() {
    let set = set();
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let first = Initiator::new(limit(4_096)).start(&set).expect("memory can be read");
    let other: SortedSet = set.items()[..4_000].iter().copied().collect();
    let answer = respond(&other, &first, limit(4_096)).expect("a good message");
    for message in [&first, &answer] {
        for len in 0..message.len() {
            survive(&set, &message[..len]);
        }
        for _ in 0..20_000 {
            let mut damaged = message.clone();
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(0..damaged.len());
                damaged[at] = rng.random();
            }
            survive(&set, &damaged);
        }
    }
}

fn survive(set: &SortedSet, message: &[u8]) {
    let before = ALLOCATED_BYTES.get();
    let answer = respond(set, message, limit(4_096));
    // The answer's buffer grows by doubling, and a list that is cut is copied once.
    let allowed = 32 * 4_096 + 4 * message.len();
    assert!(ALLOCATED_BYTES.get() - before <= allowed, "{message:02x?}");
    if let Ok(answer) = answer {
        assert!(answer.len() <= 4_096);
        Ranges::new(&answer).expect("we write what we read");
    }
    let step = Initiator::new(limit(4_096)).step(set, message);
    if let Ok(step) = step {
        assert!(step.have.len() <= set.len());
        assert!(step.need.len() <= message.len() / 32);
    }
}
