//! The vectors of the protocol: numbers, fingerprints, first messages, and what a responder answers.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use support::peers::limit;
use zeolite_proto::{EventId, Timestamp};
use zeolite_reconcile::{
    Body, Bound, Fingerprint, FrameLimit, FrameLimitError, Initiator, Item, Ranges, SortedSet, Sum,
    Writer, respond,
};

fn hex(bytes: &[u8]) -> String {
    faster_hex::hex_string(bytes)
}

fn bytes(hex: &str) -> Vec<u8> {
    let mut bytes = vec![0; hex.len() / 2];
    faster_hex::hex_decode(hex.as_bytes(), &mut bytes).expect("hex");
    bytes
}

/// A message with one fingerprint up to this time: `61`, the time, no prefix, mode 1.
fn up_to(time: u64) -> String {
    let mut writer = Writer::new();
    writer.push(&Bound::at_time(Timestamp(time)), &Body::Fingerprint(Fingerprint([0; 16])));
    hex(&writer.finish())
}

/// N-02, N-05: numbers have the fewest digits; a time is written plus one.
#[test]
fn numbers() {
    for (number, digits) in [
        (1, "01"),
        (127, "7f"),
        (128, "8100"),
        (300, "822c"),
        (16_383, "ff7f"),
        (16_384, "818000"),
        (1_677_970_534, "86a08f9866"),
    ] {
        assert_eq!(up_to(number - 1), format!("61{digits}0001{}", "00".repeat(16)), "{number}");
    }
    // The largest number, as a time behind the last but one second: infinity, by saturation.
    let largest = bytes("6181ffffffffffffffff7f0000");
    let bound = Ranges::new(&largest).expect("a good message").next().expect("a range").bound;
    assert_eq!(bound, Bound::at_time(Timestamp(u64::MAX - 1)));
    let twice = bytes("6181ffffffffffffffff7f000081ffffffffffffffff7f0000");
    let bound = Ranges::new(&twice).expect("a good message").nth(1).expect("a range").bound;
    assert!(bound.is_infinity());
    // More digits than needed are understood.
    let padded = bytes("618080808080808080800100807f");
    assert!(Ranges::new(&padded).is_err(), "mode 127");
    let padded = bytes("6180808080808080808001008000");
    let range = Ranges::new(&padded).expect("a good message").next().expect("a range");
    assert_eq!((range.bound, range.body), (Bound::ZERO, Body::Skip));
}

/// N-08.
#[test]
fn fingerprints() {
    let mut one = [0; 32];
    one[0] = 1;
    for (ids, expected) in [
        (vec![], "7f9c9e31ac8256ca2f258583df262dbc"),
        (vec![[0xEE; 32]], "d5530eded759c1cb5749aacb9bc66bb2"),
        // The sum wraps to zero.
        (vec![[0xFF; 32], one], "58cc2f44d3a27866874701fbad573da9"),
    ] {
        let sum = ids.iter().fold(Sum::ZERO, |sum, id| sum.with(&EventId(*id)));
        assert_eq!(hex(&Fingerprint::new(&sum, ids.len()).0), expected);
    }
}

fn seconds_of_1000(count: u8) -> SortedSet {
    let item = |number| {
        let mut id = [0; 32];
        id[0] = number;
        Item { time: Timestamp(1_000), id: EventId(id) }
    };
    (1..=count).map(item).collect()
}

/// N-11, N-12: 32 items are split, 31 are listed, none are listed too.
#[test]
fn first_messages() {
    let start = |set: &SortedSet| {
        let message = Initiator::new(FrameLimit::NONE).start(set).expect("memory can be read");
        hex(&message)
    };
    let split = start(&seconds_of_1000(32));
    assert_eq!(split.len(), 2 * 321);
    assert!(split.starts_with("618769010301"), "{split}");
    let listed = start(&seconds_of_1000(31));
    assert!(listed.starts_with("610000021f01000000"), "{listed}");
    assert_eq!(start(&SortedSet::default()), "6100000200");
}

/// N-01, N-09, E-64.
#[test]
fn answers() {
    let ee = "ee".repeat(32);
    let set: SortedSet =
        [Item { time: Timestamp(12_345), id: EventId([0xEE; 32]) }].into_iter().collect();
    let listed = format!("6100000201{ee}");
    let agreed = "61000001d5530eded759c1cb5749aacb9bc66bb2".to_owned();
    let differs = format!("61000001{}", "00".repeat(16));
    for (message, answer) in [
        ("6100000200", &*listed),
        ("61", "61"),
        ("62aa", "61"),
        ("6f", "61"),
        ("60", "61"),
        // A skip is answered with one, and the last of them is left out (N-10).
        ("61000000", "61"),
        (&*agreed, "61"),
        (&*differs, &*listed),
        // An empty list up to the item's second, where we have nothing, then the rest.
        ("61e03a000200000000", "61e03a000200"),
        ("61e03a00020000000200", &*format!("61e03a00020000000201{ee}")),
    ] {
        let got = respond(&set, &bytes(message), limit(4_096)).expect("a good message");
        assert_eq!(hex(&got), answer, "{message}");
    }
    for message in ["", "59", "6100", "61000003", "70", "5f"] {
        respond(&set, &bytes(message), limit(4_096)).expect_err(message);
    }
}

/// N-10: neighbouring skips are one, and the last is left out.
#[test]
fn skips_merge() {
    let mut writer = Writer::new();
    for time in [10, 20, 30] {
        writer.push(&Bound::at_time(Timestamp(time)), &Body::Skip);
    }
    writer.push(&Bound::at_time(Timestamp(40)), &Body::Ids(&[]));
    writer.push(&Bound::INFINITY, &Body::Skip);
    assert_eq!(hex(&writer.finish()), "611f00000b000200");
}

/// N-13.
#[test]
fn frame_limits() {
    assert_eq!(FrameLimit::new(0), Ok(FrameLimit::NONE));
    assert_eq!(FrameLimit::new(4_095), Err(FrameLimitError));
    assert!(FrameLimit::new(4_096).is_ok());
}
