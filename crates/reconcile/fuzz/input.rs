//! What bytes mean to the two roles, and what must hold of their answers.
//!
//! ```text
//! data  = shape 1 | message
//! shape = which set it meets, and in bit 7 whether frames are limited
//! ```
//!
//! The sets are small and lie where a fuzzer's small numbers lead: times below 64, ids that begin
//! with small numbers.

use zeolite_proto::{EventId, Timestamp};
use zeolite_reconcile::{FrameLimit, Initiator, Item, Ranges, Set, SortedSet, respond};

/// Panics when an answer breaks a promise. Returns whether the message was well formed.
pub(crate) fn check(data: &[u8]) -> bool {
    let Some((&shape, message)) = data.split_first() else { return false };
    let bytes_max = if shape & 0x80 == 0 { 0 } else { 4_096 };
    let frame = FrameLimit::new(bytes_max).expect("an allowed limit");
    let set = set(shape & 0x7F);
    let answer = respond(&set, message, frame);
    let mut initiator = Initiator::new(frame);
    let step = initiator.step(&set, message);
    let well_formed = Ranges::new(message).is_ok();
    if let Ok(answer) = &answer {
        assert!(bytes_max == 0 || answer.len() <= bytes_max);
        Ranges::new(answer).expect("we write what we read");
    }
    assert_eq!(step.is_ok(), well_formed);
    let Ok(mut step) = step else { return false };
    assert!(answer.is_ok());
    // The same again is an answer to whatever was asked meanwhile, and meets what was kept.
    for _ in 0..3 {
        assert!(step.have.len() <= set.len());
        assert!(step.need.len() <= message.len() / 32);
        assert!(step.have.iter().all(|id| set.items().iter().any(|item| item.id == *id)));
        let Some(next) = &step.next else { break };
        assert!(bytes_max == 0 || next.len() <= bytes_max);
        Ranges::new(next).expect("we write what we read");
        step = initiator.step(&set, message).expect("it was well formed before");
    }
    true
}

/// Up to 508 items, 4 for each step of the shape.
fn set(shape: u8) -> SortedSet {
    let items = (0..4 * u64::from(shape)).map(|number| {
        let mut id = [0; 32];
        id[0] = (number % 7) as u8;
        id[1..9].copy_from_slice(&number.to_be_bytes());
        Item { time: Timestamp(number % 64), id: EventId(id) }
    });
    items.collect()
}
