//! The record: an event in compact binary form, readable without parsing.
//!
//! ```text
//! offset  bytes  field
//!      0     32  id
//!     32     32  pubkey
//!     64     64  sig
//!    128      8  created_at, big-endian
//!    136      2  kind, big-endian
//!    138      1  flags: bit 0 = has an `expiration` tag
//!    139      4  tags_len, big-endian: bytes of the tag section
//!    143      t  tags: for each tag a varint of its byte length, then its strings
//!  143+t      *  content, unescaped UTF-8, up to the end of the record
//!
//! string:  varint (bytes << 1 | is_hex), then the bytes; a string of exactly 64 lower-case hex
//!          digits is always stored as the 32 bytes it spells, with is_hex = 1
//! varint:  base 128, least significant digit first, high bit on all bytes but the last
//! ```
//!
//! Since equal strings have exactly one encoding, a filter compares bytes.

use crate::canonical;
use crate::ids::{EventId, PubKey, Signature, decode_hex, push_hex};
use crate::kind::{Kind, KindClass};
use crate::numbers::Timestamp;

const PUBKEY_AT: usize = 32;
const SIG_AT: usize = 64;
const CREATED_AT_AT: usize = 128;
const KIND_AT: usize = 136;
const FLAGS_AT: usize = 138;
const TAGS_LEN_AT: usize = 139;
const TAGS_AT: usize = 143;

const FLAG_EXPIRATION: u8 = 1;

/// A view of an event over the bytes of its record, in memory or in a store.
#[derive(Clone, Copy)]
pub struct EventRef<'a> {
    record: &'a [u8],
    tags_end: usize,
}

/// Why some bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record is damaged: {0}")]
pub struct RecordError(&'static str);

impl<'a> EventRef<'a> {
    /// Looks at the fixed part only. Damage further in ends the walk over the tags early; see
    /// [`EventRef::check`].
    pub fn new(record: &'a [u8]) -> Result<Self, RecordError> {
        let tags_len = record
            .get(TAGS_LEN_AT..TAGS_AT)
            .and_then(|bytes| bytes.first_chunk())
            .map(|bytes| u32::from_be_bytes(*bytes) as usize)
            .ok_or(RecordError("shorter than its fixed part"))?;
        let tags_end = TAGS_AT + tags_len;
        if tags_end > record.len() {
            return Err(RecordError("tag section runs past the end"));
        }
        Ok(Self { record, tags_end })
    }

    /// Walks the whole record, as a consistency check of a store does.
    pub fn check(self) -> Result<(), RecordError> {
        let mut tags = self.tags();
        for tag in &mut tags {
            let mut strings = tag.strings();
            strings.by_ref().for_each(drop);
            if !strings.rest.is_empty() {
                return Err(RecordError("a string runs past the end of its tag"));
            }
        }
        if !tags.rest.is_empty() {
            return Err(RecordError("a tag runs past the end of the tag section"));
        }
        let mut preimage = Vec::new();
        if canonical::id_matches(self, &mut preimage) {
            Ok(())
        } else {
            Err(RecordError("id is not the hash of the event"))
        }
    }

    /// The bytes this view lies over.
    pub fn record(self) -> &'a [u8] {
        self.record
    }

    fn field<const N: usize>(self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.record[at..at + N]);
        bytes
    }

    /// The event id.
    pub fn id(self) -> EventId {
        EventId(self.field(0))
    }

    /// The author.
    pub fn pubkey(self) -> PubKey {
        PubKey(self.field(PUBKEY_AT))
    }

    /// The signature.
    pub fn sig(self) -> Signature {
        Signature(self.field(SIG_AT))
    }

    /// When the author says the event was made.
    pub fn created_at(self) -> Timestamp {
        Timestamp(u64::from_be_bytes(self.field(CREATED_AT_AT)))
    }

    /// The kind.
    pub fn kind(self) -> Kind {
        Kind(u16::from_be_bytes(self.field(KIND_AT)))
    }

    /// The content, unescaped.
    pub fn content(self) -> &'a [u8] {
        &self.record[self.tags_end..]
    }

    /// The tags in order.
    pub fn tags(self) -> Tags<'a> {
        Tags { rest: &self.record[TAGS_AT..self.tags_end] }
    }

    /// The size of the tag section, a bound on the number of tags that costs no walk.
    pub(crate) fn tags_bytes(self) -> usize {
        self.tags_end - TAGS_AT
    }

    /// The tags that filters can find: those with a one-letter name and a value (NIP-01).
    pub fn letter_tags(self) -> impl Iterator<Item = (u8, TagStr<'a>)> {
        self.tags().filter_map(|tag| {
            let mut strings = tag.strings();
            match strings.next()? {
                TagStr::Text([letter]) if letter.is_ascii_alphabetic() => {
                    Some((*letter, strings.next()?))
                }
                _ => None,
            }
        })
    }

    /// When the event expires: the first `expiration` tag whose value is a number (NIP-40).
    /// A tag that cannot be read is ignored, and so is the tag on ephemeral kinds.
    pub fn expiration(self) -> Option<Timestamp> {
        if self.record[FLAGS_AT] & FLAG_EXPIRATION == 0 || self.kind().is_ephemeral() {
            return None;
        }
        let tag = self.tags().find(|tag| tag.name() == Some(TagStr::Text(b"expiration")))?;
        match tag.value()? {
            TagStr::Text(digits) if digits.iter().all(u8::is_ascii_digit) => {
                std::str::from_utf8(digits).ok()?.parse().ok().map(Timestamp)
            }
            _ => None,
        }
    }

    /// True once `now` has reached the event's expiration (NIP-40).
    pub fn is_expired(self, now: Timestamp) -> bool {
        self.expiration().is_some_and(|at| now >= at)
    }

    /// The `d` tag's value: that of the first `d` tag, empty if there is none (NIP-01).
    pub fn d_tag(self) -> TagStr<'a> {
        self.tags()
            .find(|tag| tag.name() == Some(TagStr::Text(b"d")))
            .and_then(TagRef::value)
            .unwrap_or(TagStr::Text(b""))
    }

    /// The address of a replaceable or addressable event; `None` for other kinds.
    pub fn address(self) -> Option<Address> {
        let d = match self.kind().class() {
            KindClass::Replaceable => TagStr::Text(b""),
            KindClass::Addressable => self.d_tag(),
            KindClass::Regular | KindClass::Ephemeral => return None,
        };
        Some(Address { kind: self.kind(), author: self.pubkey(), d: d.to_bytes().into() })
    }

    /// Appends the event as JSON, the way every client receives it.
    pub fn push_json(self, out: &mut Vec<u8>) {
        canonical::push_event(self, out);
    }

    /// Whether this event goes before `other` in an answer: newest first, then lowest id.
    pub fn is_before(self, other: EventRef<'_>) -> bool {
        (other.created_at(), self.id()) < (self.created_at(), other.id())
    }
}

impl std::fmt::Debug for EventRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut json = Vec::new();
        self.push_json(&mut json);
        f.write_str(&String::from_utf8_lossy(&json))
    }
}

/// What names a replaceable or addressable event whatever its version: `kind:pubkey:d`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The kind.
    pub kind: Kind,
    /// The author.
    pub author: PubKey,
    /// The value of the `d` tag, empty for replaceable kinds.
    pub d: Box<[u8]>,
}

impl Address {
    /// Reads the value of an `a` tag. Kinds without addresses, bad keys and missing colons have
    /// no address; for replaceable kinds whatever follows the second colon is ignored.
    pub fn parse(value: TagStr<'_>) -> Option<Self> {
        let TagStr::Text(text) = value else { return None };
        let mut parts = text.splitn(3, |byte| *byte == b':');
        let digits = parts.next().filter(|d| !d.is_empty() && d.iter().all(u8::is_ascii_digit))?;
        let kind = Kind(std::str::from_utf8(digits).ok()?.parse().ok()?);
        let author = PubKey(decode_hex(parts.next()?).ok()?);
        let d = parts.next()?;
        let d: &[u8] = match kind.class() {
            KindClass::Replaceable => b"",
            KindClass::Addressable => d,
            KindClass::Regular | KindClass::Ephemeral => return None,
        };
        Some(Self { kind, author, d: d.into() })
    }
}

/// Iterator over the tags of a record.
#[derive(Clone)]
pub struct Tags<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Tags<'a> {
    type Item = TagRef<'a>;

    fn next(&mut self) -> Option<TagRef<'a>> {
        let (len, rest) = split_varint(self.rest)?;
        let (strings, rest) = rest.split_at_checked(len)?;
        self.rest = rest;
        Some(TagRef { strings })
    }
}

/// One tag: an array of strings.
#[derive(Clone, Copy)]
pub struct TagRef<'a> {
    strings: &'a [u8],
}

impl<'a> TagRef<'a> {
    /// The strings in order.
    pub fn strings(self) -> TagStrings<'a> {
        TagStrings { rest: self.strings }
    }

    /// The first string.
    pub fn name(self) -> Option<TagStr<'a>> {
        self.strings().next()
    }

    /// The second string.
    pub fn value(self) -> Option<TagStr<'a>> {
        self.strings().nth(1)
    }
}

/// Iterator over the strings of a tag.
#[derive(Clone)]
pub struct TagStrings<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for TagStrings<'a> {
    type Item = TagStr<'a>;

    fn next(&mut self) -> Option<TagStr<'a>> {
        let (head, rest) = split_varint(self.rest)?;
        let (bytes, rest) = rest.split_at_checked(head >> 1)?;
        let string =
            if head & 1 == 0 { TagStr::Text(bytes) } else { TagStr::Hex(bytes.try_into().ok()?) };
        self.rest = rest;
        Some(string)
    }
}

/// A string inside a tag. Two strings are equal exactly when these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TagStr<'a> {
    /// 64 lower-case hex digits, decoded.
    Hex(&'a [u8; 32]),
    /// Any other string, unescaped UTF-8.
    Text(&'a [u8]),
}

impl TagStr<'_> {
    /// The string as its author wrote it, unescaped.
    pub fn to_bytes(self) -> Vec<u8> {
        match self {
            Self::Text(text) => text.to_vec(),
            Self::Hex(bytes) => {
                let mut out = Vec::with_capacity(64);
                push_hex(&mut out, bytes);
                out
            }
        }
    }
}

/// Builds records from fields that arrive in any order. Reused from event to event.
pub(crate) struct RecordBuilder {
    pub(crate) id: [u8; 32],
    pub(crate) pubkey: [u8; 32],
    pub(crate) sig: [u8; 64],
    pub(crate) created_at: u64,
    pub(crate) kind: u16,
    pub(crate) content: Vec<u8>,
    flags: u8,
    tags: Vec<u8>,
    tag: Vec<u8>,
    tag_strings: usize,
}

impl Default for RecordBuilder {
    fn default() -> Self {
        Self {
            id: [0; 32],
            pubkey: [0; 32],
            sig: [0; 64],
            created_at: 0,
            kind: 0,
            content: Vec::new(),
            flags: 0,
            tags: Vec::new(),
            tag: Vec::new(),
            tag_strings: 0,
        }
    }
}

impl RecordBuilder {
    pub(crate) fn start_tags(&mut self) {
        self.tags.clear();
        self.flags = 0;
    }

    pub(crate) fn start_tag(&mut self) {
        self.tag.clear();
        self.tag_strings = 0;
    }

    pub(crate) fn push_string(&mut self, text: &[u8]) {
        if self.tag_strings == 0 && text == b"expiration" {
            self.flags |= FLAG_EXPIRATION;
        }
        self.tag_strings += 1;
        if let Ok(bytes) = decode_hex::<32>(text) {
            push_varint(&mut self.tag, (32 << 1) | 1);
            self.tag.extend_from_slice(&bytes);
        } else {
            push_varint(&mut self.tag, text.len() << 1);
            self.tag.extend_from_slice(text);
        }
    }

    pub(crate) fn end_tag(&mut self) {
        push_varint(&mut self.tags, self.tag.len());
        self.tags.extend_from_slice(&self.tag);
    }

    /// Bytes of the largest buffer.
    pub(crate) fn capacity(&self) -> usize {
        self.content.capacity().max(self.tags.capacity()).max(self.tag.capacity())
    }

    /// The finished record, or `None` if the tags are longer than a record can say.
    pub(crate) fn finish(&self) -> Option<Box<[u8]>> {
        let tags_len = u32::try_from(self.tags.len()).ok()?;
        let mut record = Vec::with_capacity(TAGS_AT + self.tags.len() + self.content.len());
        record.extend_from_slice(&self.id);
        record.extend_from_slice(&self.pubkey);
        record.extend_from_slice(&self.sig);
        record.extend_from_slice(&self.created_at.to_be_bytes());
        record.extend_from_slice(&self.kind.to_be_bytes());
        record.push(self.flags);
        record.extend_from_slice(&tags_len.to_be_bytes());
        record.extend_from_slice(&self.tags);
        record.extend_from_slice(&self.content);
        Some(record.into_boxed_slice())
    }
}

fn push_varint(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn split_varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0;
    for (index, byte) in bytes.iter().enumerate().take(9) {
        value |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, &bytes[index + 1..]));
        }
    }
    None
}
