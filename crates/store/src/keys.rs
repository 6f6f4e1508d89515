//! What the keys of the two secondary indexes are made of, byte by byte.
//!
//! ```text
//! index     0        1            6                 11            15              20
//!           | family | prefix     | time, 5 bytes   | !id[0..4]   | seq, 5 bytes  |
//!           | Id     | id[0..14]                                  | seq, 5 bytes  |
//!
//! timeline  0                     5                               37              42
//!           | created_at, 5 bytes | id, 32 bytes                  | seq, 5 bytes  |
//! ```
//!
//! Numbers are big-endian. `!` is the bitwise complement: a reverse walk over one prefix gives the
//! newest event first and, inside one second, the lowest id first, as far as four bytes of the id
//! can tell. In LMDB the whole index entry is the key; of a timeline entry the first 37 bytes are
//! the key and the seq is the value.

use siphasher::sip::SipHasher13;
use siphasher::sip128::SipHasher13 as SipHasher13Wide;
use zeolite_proto::{Address, EventId, EventRef, Kind, PubKey, Seq, TagStr, Timestamp};

/// Bytes of an index key.
pub(crate) const INDEX_KEY_BYTES: usize = 20;
/// Bytes of a timeline entry.
pub(crate) const TIMELINE_ENTRY_BYTES: usize = 42;
/// Bytes of the part of a timeline entry that is its key in LMDB.
pub(crate) const TIMELINE_KEY_BYTES: usize = 37;
/// Bytes of the family and the prefix.
pub(crate) const PREFIX_BYTES: usize = 6;

const TIME_AT: usize = PREFIX_BYTES;
const ID_AT: usize = 11;
const SEQ_AT: usize = 15;
const ID_PREFIX_BYTES: usize = 14;

/// The largest number that fits into the five bytes of a time or a seq.
pub(crate) const FIVE_BYTES_MAX: u64 = (1 << 40) - 1;

/// What an index key is about: its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Family {
    /// One entry per event.
    Id = 1,
    /// One entry per event.
    Author = 2,
    /// One entry per event.
    Kind = 3,
    /// One entry per event.
    AuthorKind = 4,
    /// One entry per distinct one-letter tag and value of an event.
    Tag = 5,
    /// One entry per replaceable or addressable event.
    Address = 6,
    /// One entry per event that expires; its time is the expiration.
    Expires = 7,
}

impl Family {
    /// The family of a key, `None` if the byte is none of ours.
    pub(crate) fn of(key: &IndexKey) -> Option<Self> {
        Some(match key.0[0] {
            1 => Self::Id,
            2 => Self::Author,
            3 => Self::Kind,
            4 => Self::AuthorKind,
            5 => Self::Tag,
            6 => Self::Address,
            7 => Self::Expires,
            _ => return None,
        })
    }

    /// Its name, as `docs/store-format.md` has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Author => "author",
            Self::Kind => "kind",
            Self::AuthorKind => "author and kind",
            Self::Tag => "tag",
            Self::Address => "address",
            Self::Expires => "expires",
        }
    }
}

/// Family and prefix: what all keys of one walk have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Prefix(pub(crate) [u8; PREFIX_BYTES]);

impl Prefix {
    fn new(family: Family, value: [u8; 5]) -> Self {
        let mut bytes = [0; PREFIX_BYTES];
        bytes[0] = family as u8;
        bytes[1..].copy_from_slice(&value);
        Self(bytes)
    }

    /// Greater than every key of this prefix whose time is at most `until`, and less than all
    /// others: where a walk from the newest down begins.
    pub(crate) fn above(self, until: Timestamp) -> IndexKey {
        let mut key = [0xff; INDEX_KEY_BYTES];
        key[..PREFIX_BYTES].copy_from_slice(&self.0);
        key[TIME_AT..ID_AT].copy_from_slice(&five_bytes(until.0));
        IndexKey(key)
    }

    /// At most as great as every key of this prefix whose time is at least `since`.
    pub(crate) fn bottom(self, since: Timestamp) -> IndexKey {
        let mut key = [0; INDEX_KEY_BYTES];
        key[..PREFIX_BYTES].copy_from_slice(&self.0);
        key[TIME_AT..ID_AT].copy_from_slice(&five_bytes(since.0));
        IndexKey(key)
    }
}

/// An entry of the secondary index. Its order is the order of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct IndexKey(pub(crate) [u8; INDEX_KEY_BYTES]);

impl Ord for IndexKey {
    /// Two integers at once: runs are sorted, merged and searched all the time, and a call of
    /// `memcmp` costs several times as much.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let parts = |key: &Self| (first_wide(&key.0), last_four(&key.0));
        parts(self).cmp(&parts(other))
    }
}

impl PartialOrd for IndexKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl IndexKey {
    pub(crate) fn new(prefix: Prefix, time: Timestamp, id: &EventId, seq: Seq) -> Self {
        let mut key = [0; INDEX_KEY_BYTES];
        key[..PREFIX_BYTES].copy_from_slice(&prefix.0);
        key[TIME_AT..ID_AT].copy_from_slice(&five_bytes(time.0));
        for (to, from) in key[ID_AT..SEQ_AT].iter_mut().zip(id.0) {
            *to = !from;
        }
        key[SEQ_AT..].copy_from_slice(&five_bytes(seq.0));
        Self(key)
    }

    pub(crate) fn of_id(id: &EventId, seq: Seq) -> Self {
        let mut key = [0; INDEX_KEY_BYTES];
        key[0] = Family::Id as u8;
        key[1..SEQ_AT].copy_from_slice(&id.0[..ID_PREFIX_BYTES]);
        key[SEQ_AT..].copy_from_slice(&five_bytes(seq.0));
        Self(key)
    }

    /// The lowest and the highest key that an entry of this id can have.
    pub(crate) fn range_of_id(id: &EventId) -> (Self, Self) {
        (Self::of_id(id, Seq::ZERO), Self::of_id(id, Seq(FIVE_BYTES_MAX)))
    }

    /// At most as great as every key of this family, and greater than those of the one before.
    pub(crate) fn first_of(family: Family) -> Self {
        let mut key = [0; INDEX_KEY_BYTES];
        key[0] = family as u8;
        Self(key)
    }

    /// The kind of the event; meaningless for keys of other families than [`Family::Kind`].
    pub(crate) fn kind(&self) -> Kind {
        Kind(u16::from_be_bytes([self.0[4], self.0[5]]))
    }

    /// The first eight bytes of the id in a key of [`Family::Id`].
    pub(crate) fn id_head(&self) -> [u8; 8] {
        *self.0[1..].first_chunk().expect("a key has 20 bytes")
    }

    /// Reads a key out of a table; `None` if it has another length.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Family and prefix; meaningless for keys of [`Family::Id`].
    pub(crate) fn prefix(&self) -> Prefix {
        let mut bytes = [0; PREFIX_BYTES];
        bytes.copy_from_slice(&self.0[..PREFIX_BYTES]);
        Prefix(bytes)
    }

    /// The event this entry leads to.
    pub(crate) fn seq(&self) -> Seq {
        Seq(from_five_bytes(&self.0[SEQ_AT..]))
    }
}

impl std::fmt::Debug for IndexKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:02x?} seq {}", Family::of(self), &self.0[1..SEQ_AT], self.seq())
    }
}

/// An entry of the timeline: one for each event. Its order is the order of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TimelineEntry(pub(crate) [u8; TIMELINE_ENTRY_BYTES]);

impl Ord for TimelineEntry {
    /// The first 16 bytes nearly always decide.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        first_wide(&self.0).cmp(&first_wide(&other.0)).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for TimelineEntry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl TimelineEntry {
    pub(crate) fn new(time: Timestamp, id: &EventId, seq: Seq) -> Self {
        let mut entry = [0; TIMELINE_ENTRY_BYTES];
        entry[..5].copy_from_slice(&five_bytes(time.0));
        entry[5..TIMELINE_KEY_BYTES].copy_from_slice(&id.0);
        entry[TIMELINE_KEY_BYTES..].copy_from_slice(&five_bytes(seq.0));
        Self(entry)
    }

    /// Puts key and value of the table together; `None` if they have other lengths.
    pub(crate) fn from_parts(key: &[u8], value: &[u8]) -> Option<Self> {
        if key.len() != TIMELINE_KEY_BYTES || value.len() != 5 {
            return None;
        }
        let mut entry = [0; TIMELINE_ENTRY_BYTES];
        entry[..TIMELINE_KEY_BYTES].copy_from_slice(key);
        entry[TIMELINE_KEY_BYTES..].copy_from_slice(value);
        Some(Self(entry))
    }

    /// The bytes that are the key in LMDB.
    pub(crate) fn key(&self) -> &[u8] {
        &self.0[..TIMELINE_KEY_BYTES]
    }

    /// The bytes that are the value in LMDB.
    pub(crate) fn value(&self) -> &[u8] {
        &self.0[TIMELINE_KEY_BYTES..]
    }

    /// When the event was made.
    pub(crate) fn time(&self) -> Timestamp {
        Timestamp(from_five_bytes(&self.0[..5]))
    }

    /// The event's id.
    pub(crate) fn id(&self) -> EventId {
        let mut id = [0; 32];
        id.copy_from_slice(&self.0[5..TIMELINE_KEY_BYTES]);
        EventId(id)
    }

    /// The event this entry leads to.
    pub(crate) fn seq(&self) -> Seq {
        Seq(from_five_bytes(self.value()))
    }
}

impl std::fmt::Debug for TimelineEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} seq {}", self.time(), self.id(), self.seq())
    }
}

/// Makes keys. Prefixes are hashes under a random key that each store draws when it is created
/// and keeps in `meta`, so that nobody outside can aim at a collision.
#[derive(Clone, Copy)]
pub(crate) struct KeyMaker {
    hash_key: [u8; 16],
}

impl KeyMaker {
    pub(crate) fn new(hash_key: [u8; 16]) -> Self {
        Self { hash_key }
    }

    fn hashed(&self, family: Family, parts: &[&[u8]]) -> Prefix {
        use std::hash::Hasher;
        let mut hasher = SipHasher13::new_with_key(&self.hash_key);
        for part in parts {
            hasher.write(part);
        }
        let hash = hasher.finish().to_be_bytes();
        Prefix::new(family, [hash[0], hash[1], hash[2], hash[3], hash[4]])
    }

    /// Everything by an author.
    pub(crate) fn author(&self, author: &PubKey) -> Prefix {
        self.hashed(Family::Author, &[&author.0])
    }

    /// Everything of a kind.
    pub(crate) fn kind(&self, kind: Kind) -> Prefix {
        let [high, low] = kind.0.to_be_bytes();
        Prefix::new(Family::Kind, [0, 0, 0, high, low])
    }

    /// Everything of a kind by an author.
    pub(crate) fn author_kind(&self, author: &PubKey, kind: Kind) -> Prefix {
        self.hashed(Family::AuthorKind, &[&author.0, &kind.0.to_be_bytes()])
    }

    /// Everything with a tag of this letter and value.
    pub(crate) fn tag(&self, letter: u8, value: TagStr<'_>) -> Prefix {
        match value {
            TagStr::Hex(bytes) => self.hashed(Family::Tag, &[&[letter, 1], bytes]),
            TagStr::Text(text) => self.hashed(Family::Tag, &[&[letter, 0], text]),
        }
    }

    /// Every version of an address.
    pub(crate) fn address(&self, address: &Address) -> Prefix {
        let kind = address.kind.0.to_be_bytes();
        self.hashed(Family::Address, &[&kind, &address.author.0, &address.d])
    }

    /// Everything that expires.
    pub(crate) fn expires(&self) -> Prefix {
        Prefix::new(Family::Expires, [0; 5])
    }

    /// The key of an address in the `deleted_address` table: kind, author, 128 bits of hash of
    /// the `d` value. Only the author can aim at a collision, and only without knowing the hash's
    /// key.
    pub(crate) fn address_bar(&self, address: &Address) -> AddressKey {
        let hash = SipHasher13Wide::new_with_key(&self.hash_key).hash(&address.d);
        let mut key = [0; ADDRESS_KEY_BYTES];
        key[..2].copy_from_slice(&address.kind.0.to_be_bytes());
        key[2..34].copy_from_slice(&address.author.0);
        key[34..].copy_from_slice(&hash.as_bytes());
        key
    }

    /// Appends every index key of an event, each once, in no order.
    pub(crate) fn push_index_keys(&self, event: EventRef<'_>, seq: Seq, out: &mut Vec<IndexKey>) {
        let (id, author, kind) = (event.id(), event.pubkey(), event.kind());
        let time = event.created_at();
        let mut push = |prefix: Prefix, time| out.push(IndexKey::new(prefix, time, &id, seq));
        push(self.author(&author), time);
        push(self.kind(kind), time);
        push(self.author_kind(&author, kind), time);
        if let Some(address) = event.address() {
            push(self.address(&address), time);
        }
        if let Some(at) = event.expiration() {
            push(self.expires(), Timestamp(at.0.min(FIVE_BYTES_MAX)));
        }
        out.push(IndexKey::of_id(&id, seq));
        let tags_start = out.len();
        for (letter, value) in event.letter_tags() {
            out.push(IndexKey::new(self.tag(letter, value), time, &id, seq));
        }
        drop_doubles_after(tags_start, out);
    }
}

/// Bytes of a key of the `deleted_address` table.
pub(crate) const ADDRESS_KEY_BYTES: usize = 50;
/// A key of the `deleted_address` table.
pub(crate) type AddressKey = [u8; ADDRESS_KEY_BYTES];

fn drop_doubles_after(start: usize, keys: &mut Vec<IndexKey>) {
    keys[start..].sort_unstable();
    let mut kept = start;
    for at in start..keys.len() {
        if at == start || keys[at] != keys[kept - 1] {
            keys[kept] = keys[at];
            kept += 1;
        }
    }
    keys.truncate(kept);
}

fn first_wide(bytes: &[u8]) -> u128 {
    let first = bytes.first_chunk().expect("keys have more than 16 bytes");
    u128::from_be_bytes(*first)
}

fn last_four(bytes: &[u8]) -> u32 {
    let last = bytes.last_chunk().expect("keys have more than 4 bytes");
    u32::from_be_bytes(*last)
}

fn five_bytes(value: u64) -> [u8; 5] {
    let [_, _, _, a, b, c, d, e] = value.min(FIVE_BYTES_MAX).to_be_bytes();
    [a, b, c, d, e]
}

fn from_five_bytes(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[3..].copy_from_slice(bytes);
    u64::from_be_bytes(wide)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(time: u64, id: u8, seq: u64) -> IndexKey {
        let prefix = KeyMaker::new([7; 16]).kind(Kind(1));
        IndexKey::new(prefix, Timestamp(time), &EventId([id; 32]), Seq(seq))
    }

    /// R01-76: a reverse walk is newest first, ties by lowest id.
    #[test]
    fn reverse_order_is_the_order_of_answers() {
        let expected = [key(9, 5, 1), key(8, 1, 7), key(8, 2, 3), key(8, 2, 2), key(7, 0, 9)];
        let mut sorted = expected;
        sorted.sort_unstable();
        sorted.reverse();
        assert_eq!(sorted, expected);
    }

    /// The order of keys is the order of their bytes, as LMDB has it.
    #[test]
    fn order_is_that_of_bytes() {
        let bytes = |at: usize, value: u8| {
            let mut bytes = [0x7f; TIMELINE_ENTRY_BYTES];
            bytes[at] = value;
            bytes
        };
        for at in 0..TIMELINE_ENTRY_BYTES {
            for (less, greater) in [(0, 1), (0x7f, 0x80), (0, 0xff)] {
                let (less, greater) = (bytes(at, less), bytes(at, greater));
                assert!(TimelineEntry(less) < TimelineEntry(greater), "byte {at}");
                if let Some(at) = at.checked_sub(TIMELINE_ENTRY_BYTES - INDEX_KEY_BYTES) {
                    let key = |bytes: [u8; TIMELINE_ENTRY_BYTES]| {
                        IndexKey(*bytes.last_chunk().expect("20 bytes"))
                    };
                    assert!(key(less) < key(greater), "byte {at}");
                }
            }
        }
    }

    #[test]
    fn fields_come_back() {
        let key = key(1_700_000_000, 0xab, 123_456);
        assert_eq!(key.seq(), Seq(123_456));
        assert_eq!(Family::of(&key), Some(Family::Kind));
        let entry = TimelineEntry::new(Timestamp(55), &EventId([3; 32]), Seq(FIVE_BYTES_MAX));
        assert_eq!(
            (entry.time(), entry.id(), entry.seq()),
            (Timestamp(55), EventId([3; 32]), Seq(FIVE_BYTES_MAX))
        );
        assert_eq!(TimelineEntry::from_parts(entry.key(), entry.value()), Some(entry));
    }

    /// `above` and `bottom` enclose exactly the keys between two times, both ends in (R01-74).
    #[test]
    fn bounds_enclose_a_time_range() {
        let prefix = key(1, 1, 1).prefix();
        let inside = [key(5, 0, 1), key(9, 0xff, FIVE_BYTES_MAX), key(5, 0xff, 0)];
        for key in inside {
            assert!(prefix.bottom(Timestamp(5)) <= key && key < prefix.above(Timestamp(9)));
        }
        assert!(key(4, 0, FIVE_BYTES_MAX) < prefix.bottom(Timestamp(5)));
        assert!(key(10, 0xff, 0) > prefix.above(Timestamp(9)));
    }
}
