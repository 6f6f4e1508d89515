//! One index entry, and the order of answers.

use zeolite_proto::{EventId, EventRef, Seq, Timestamp};

use crate::snapshot::TimelinePlace;

const TIME_BITS: u32 = 40;
const SEQ_BITS: u32 = 40;
const ID_BITS: u32 = 32;

/// Where an event stands: `created_at` (40 bits), the complement of the id's first four bytes
/// (32), and the seq (40), as one integer. It is the tail that every index key ends with.
///
/// The larger of two entries goes first in an answer: newest first, then lowest id. Entries of
/// one [group](Self::group) are equal in all that an index key knows of the order; only their full
/// ids decide between them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(u128);

impl Entry {
    /// Bytes of the tail of an index key.
    pub(crate) const BYTES: usize = 14;

    pub(crate) fn new(time: Timestamp, id: &EventId, seq: Seq) -> Self {
        let id4 = u32::from_be_bytes([id.0[0], id.0[1], id.0[2], id.0[3]]);
        Self::from_parts(time.0, !id4, seq.0)
    }

    pub(crate) fn of(event: EventRef<'_>, seq: Seq) -> Self {
        Self::new(event.created_at(), &event.id(), seq)
    }

    /// Before the entry of every event that was made at `time` or earlier.
    pub(crate) fn newest_at(time: Timestamp) -> Self {
        Self::from_parts(time.0.min((1 << TIME_BITS) - 1), u32::MAX, (1 << SEQ_BITS) - 1)
    }

    fn from_parts(time: u64, id4_complement: u32, seq: u64) -> Self {
        let head = u128::from(time) << ID_BITS | u128::from(id4_complement);
        Self(head << SEQ_BITS | u128::from(seq))
    }

    /// Reads the tail of an index key.
    pub(crate) fn from_tail(tail: &[u8; Self::BYTES]) -> Self {
        let mut bytes = [0; 16];
        bytes[2..].copy_from_slice(tail);
        Self(u128::from_be_bytes(bytes))
    }

    /// The tail of an index key.
    pub(crate) fn tail(self) -> [u8; Self::BYTES] {
        let mut tail = [0; Self::BYTES];
        tail.copy_from_slice(&self.0.to_be_bytes()[2..]);
        tail
    }

    pub(crate) fn time(self) -> Timestamp {
        Timestamp((self.0 >> (ID_BITS + SEQ_BITS)) as u64)
    }

    pub(crate) fn seq(self) -> Seq {
        Seq(self.0 as u64 & ((1 << SEQ_BITS) - 1))
    }

    /// After every entry of this entry's group, before all that follow.
    pub(crate) fn end_of_group(self) -> Self {
        Self(self.group() << SEQ_BITS)
    }

    /// The same place in the timeline.
    pub(crate) fn timeline_place(self) -> TimelinePlace {
        let mut id = [0xff; 32];
        id[..4].copy_from_slice(&(!(self.group() as u32)).to_be_bytes());
        let is_whole_second = self == Self::newest_at(self.time());
        TimelinePlace { time: self.time(), id: (!is_whole_second).then_some(EventId(id)) }
    }

    /// What two entries must share to need a look at their full ids.
    pub(crate) fn group(self) -> u128 {
        self.0 >> SEQ_BITS
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{:08x}/{}", self.time(), !(self.group() as u32), self.seq())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(time: u64, id4: u32, seq: u64) -> Entry {
        Entry::from_parts(time, !id4, seq)
    }

    /// R01-76: newest first, ties by lowest id.
    #[test]
    fn the_larger_entry_goes_first() {
        let max = (1 << 40) - 1;
        for (first, second) in [
            (entry(2, 9, 1), entry(1, 0, 2)),
            (entry(2, 1, 1), entry(2, 2, 9)),
            (entry(max, u32::MAX, 0), entry(max - 1, 0, max)),
        ] {
            assert!(first > second, "{first:?} before {second:?}");
        }
        assert_eq!(entry(5, 7, 1).group(), entry(5, 7, 2).group());
    }

    #[test]
    fn tails_keep_order_and_fields() {
        let one = entry(1_700_000_000, 0xdead_beef, 77);
        assert_eq!(Entry::from_tail(&one.tail()), one);
        assert_eq!((one.time(), one.seq()), (Timestamp(1_700_000_000), Seq(77)));
        let other = entry(1_700_000_000, 0xdead_beee, 3);
        assert_eq!(one.tail() < other.tail(), one < other);
        assert!(Entry::newest_at(one.time()) > other);
        assert!(one.end_of_group() < one && one.end_of_group().group() == one.group());
    }

    /// `until` may be anything up to 2^64-1; no event is later than 2^40-1.
    #[test]
    fn times_past_the_format_are_its_last_second() {
        assert_eq!(Entry::newest_at(Timestamp(u64::MAX)).time(), Timestamp((1 << 40) - 1));
    }
}
