//! The one matcher: used by stored scans, live fan-out, reconciliation sets and the mirror.

use crate::hll::HllOffset;
use crate::ids::{EventId, PubKey};
use crate::kind::Kind;
use crate::matcher::SortedTags;
use crate::numbers::Timestamp;
use crate::record::{EventRef, TagStr};

/// A filter (NIP-01), parsed once. Its lists are sorted and free of doubles.
///
/// A list that is present and empty matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Event ids, of which the event's must be one.
    pub ids: Option<Box<[EventId]>>,
    /// Authors, of whom the event's must be one.
    pub authors: Option<Box<[PubKey]>>,
    /// Kinds, of which the event's must be one.
    pub kinds: Option<Box<[Kind]>>,
    /// Conditions on tags, all of which must hold.
    pub tags: Box<[TagFilter]>,
    /// The earliest `created_at`, inclusive.
    pub since: Option<Timestamp>,
    /// The latest `created_at`, inclusive.
    pub until: Option<Timestamp>,
    /// How many stored events to send at most. No condition on a single event.
    pub limit: Option<u64>,
    /// A full-text query (NIP-50).
    pub search: Option<Box<str>>,
    /// What was written first, which lists that are sorted no longer say.
    pub written: Written,
}

/// What a filter's text says beyond what it selects. Filters that select the same are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    pub(crate) hll_offset: Option<HllOffset>,
}

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Written {}

/// A condition on the tags with one letter: `#x` (any value) or `&x` (all values).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagFilter {
    /// The tag's name, a-z or A-Z.
    pub letter: u8,
    /// True for `&x`: every value must be on the event; false for `#x`: one is enough.
    pub all: bool,
    /// The values, sorted, without doubles.
    pub values: Box<[TagValue]>,
}

/// An owned tag value; see [`TagStr`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TagValue {
    /// 64 lower-case hex digits, decoded.
    Hex([u8; 32]),
    /// Any other string, unescaped UTF-8.
    Text(Box<[u8]>),
}

impl TagValue {
    /// The one form of this string.
    pub fn new(text: &str) -> Self {
        match crate::ids::decode_hex(text.as_bytes()) {
            Ok(bytes) => Self::Hex(bytes),
            Err(_) => Self::Text(text.as_bytes().into()),
        }
    }

    /// The view that is compared with an event's strings.
    pub fn view(&self) -> TagStr<'_> {
        match self {
            Self::Hex(bytes) => TagStr::Hex(bytes),
            Self::Text(text) => TagStr::Text(text),
        }
    }
}

impl Filter {
    /// Whether the event satisfies every condition (`limit` and `search` aside).
    pub fn matches(&self, event: EventRef<'_>) -> bool {
        self.matches_fields(event) && self.tags.iter().all(|tag| tag.matches(event))
    }

    /// Whether the event satisfies every condition but those on tags.
    pub(crate) fn matches_fields(&self, event: EventRef<'_>) -> bool {
        self.since.is_none_or(|since| event.created_at() >= since)
            && self.until.is_none_or(|until| event.created_at() <= until)
            && contains(self.kinds.as_deref(), || event.kind())
            && contains(self.authors.as_deref(), || event.pubkey())
            && contains(self.ids.as_deref(), || event.id())
    }

    /// Which part of an author's key goes into the registers of a COUNT for this filter (NIP-45);
    /// `None` without a `#` member, or if the first one is empty (R45-09).
    pub fn hll_offset(&self) -> Option<HllOffset> {
        self.written.hll_offset
    }

    /// True if no event can match, whatever it is.
    pub fn matches_nothing(&self) -> bool {
        self.ids.as_deref().is_some_and(<[_]>::is_empty)
            || self.authors.as_deref().is_some_and(<[_]>::is_empty)
            || self.kinds.as_deref().is_some_and(<[_]>::is_empty)
            || self.tags.iter().any(|tag| tag.values.is_empty())
            || self.since.zip(self.until).is_some_and(|(since, until)| since > until)
    }
}

fn contains<T: Ord>(list: Option<&[T]>, value: impl FnOnce() -> T) -> bool {
    list.is_none_or(|list| list.binary_search(&value()).is_ok())
}

impl TagFilter {
    /// Whether the event's tags satisfy this condition.
    pub fn matches(&self, event: EventRef<'_>) -> bool {
        if self.all {
            // Sorted, so that many values on many tags do not cost their product.
            return self.matches_sorted(&SortedTags::new(event));
        }
        let mut tags = event.letter_tags();
        tags.any(|(letter, value)| letter == self.letter && self.has(value))
    }

    pub(crate) fn has(&self, value: TagStr<'_>) -> bool {
        self.values.binary_search_by(|probe| probe.view().cmp(&value)).is_ok()
    }
}
