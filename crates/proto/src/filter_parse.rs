//! From JSON to [`Filter`]: strict, so that a typing error never widens an answer.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::filter::{Filter, TagFilter, TagValue};
use crate::hll::HllOffset;
use crate::ids::{EventId, PubKey};
use crate::kind::Kind;
use crate::limits::ECHO_BYTES_MAX;
use crate::numbers::Timestamp;
use crate::parse::json_error_text;
use crate::reason::{Prefix, Reason};

/// Why a JSON text is not a filter that this relay serves.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A member has a value that NIP-01 does not allow.
    #[error("{0}")]
    Invalid(String),
    /// A member that no filter here knows; ignoring it would widen the answer.
    #[error("unknown filter member \"{0}\"")]
    UnknownMember(String),
}

impl From<FilterError> for Reason {
    fn from(error: FilterError) -> Self {
        let prefix = match error {
            FilterError::Invalid(_) => Prefix::Invalid,
            FilterError::UnknownMember(_) => Prefix::Unsupported,
        };
        Reason::new(prefix, error.to_string())
    }
}

/// Marks, inside serde's message, an unknown member; serde's errors carry text only.
const UNKNOWN: &str = "unknown filter member ";

impl Filter {
    /// Parses one filter object.
    pub fn from_json(json: &str) -> Result<Self, FilterError> {
        serde_json::from_str(json).map_err(|error| FilterError::from_serde(&error))
    }
}

impl FilterError {
    pub(crate) fn from_serde(error: &serde_json::Error) -> Self {
        let text = json_error_text(error);
        match text.strip_prefix(UNKNOWN) {
            Some(name) => Self::UnknownMember(name.to_owned()),
            None => Self::Invalid(text),
        }
    }
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(FilterVisitor)
    }
}

struct FilterVisitor;

impl<'de> Visitor<'de> for FilterVisitor {
    type Value = Filter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a filter object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Filter, A::Error> {
        let mut filter = Filter::default();
        let mut tags: Vec<TagFilter> = Vec::new();
        while let Some(name) = map.next_key::<Name>()? {
            match name {
                Name::Ids => once(&mut filter.ids, "ids", map.next_value::<List<EventId>>()?.0)?,
                Name::Authors => {
                    once(&mut filter.authors, "authors", map.next_value::<List<PubKey>>()?.0)?;
                }
                Name::Kinds => {
                    once(&mut filter.kinds, "kinds", map.next_value::<List<KindEntry>>()?.kinds())?;
                }
                Name::Since => once(&mut filter.since, "since", map.next_value::<Time>()?.0)?,
                Name::Until => once(&mut filter.until, "until", map.next_value::<Time>()?.0)?,
                Name::Limit => once(&mut filter.limit, "limit", map.next_value::<Limit>()?.0)?,
                Name::Search => {
                    once(&mut filter.search, "search", map.next_value::<String>()?.into())?;
                }
                Name::Tag { letter, all } => {
                    if tags.iter().any(|tag| (tag.letter, tag.all) == (letter, all)) {
                        return Err(A::Error::custom("filter has a tag member twice"));
                    }
                    let is_first = !all && !tags.iter().any(|tag| !tag.all);
                    let values = tag_values(&mut map, letter)?;
                    if is_first {
                        filter.written.hll_offset = values.first().map(HllOffset::of);
                    }
                    let values = sorted(values);
                    tags.push(TagFilter { letter, all, values });
                }
            }
        }
        filter.tags = tags.into_boxed_slice();
        Ok(filter)
    }
}

/// The values of a tag member, in the order in which they were written.
fn tag_values<'de, A: MapAccess<'de>>(map: &mut A, letter: u8) -> Result<Vec<TagValue>, A::Error> {
    if matches!(letter, b'e' | b'p') {
        let ids = map.next_value::<Unsorted<EventId>>()?.0;
        Ok(ids.iter().map(|id| TagValue::Hex(id.0)).collect())
    } else {
        Ok(map.next_value::<Unsorted<TagValue>>()?.0)
    }
}

fn once<T, E: Error>(slot: &mut Option<T>, name: &str, value: T) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::custom(format_args!("filter has {name} twice"))),
    }
}

/// The name of a filter member.
enum Name {
    Ids,
    Authors,
    Kinds,
    Since,
    Until,
    Limit,
    Search,
    Tag { letter: u8, all: bool },
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl Visitor<'_> for NameVisitor {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Name, E> {
                Ok(match name {
                    "ids" => Name::Ids,
                    "authors" => Name::Authors,
                    "kinds" => Name::Kinds,
                    "since" => Name::Since,
                    "until" => Name::Until,
                    "limit" => Name::Limit,
                    "search" => Name::Search,
                    _ => match name.as_bytes() {
                        [sign @ (b'#' | b'&'), letter] if letter.is_ascii_alphabetic() => {
                            Name::Tag { letter: *letter, all: *sign == b'&' }
                        }
                        _ => return Err(E::custom(format_args!("{UNKNOWN}{}", cut(name)))),
                    },
                })
            }
        }
        from.deserialize_str(NameVisitor)
    }
}

/// The beginning of a client's own words, short enough to repeat.
pub(crate) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(ECHO_BYTES_MAX)]
}

/// A list in its sorted form, without doubles.
struct List<T>(Box<[T]>);

impl List<KindEntry> {
    /// Kinds above 65535 match no event: they are dropped, and a list of nothing else stays a
    /// list that matches nothing.
    fn kinds(self) -> Box<[Kind]> {
        self.0.iter().filter_map(|entry| entry.0).collect()
    }
}

impl<'de, T: Entry> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Unsorted::deserialize(from).map(|Unsorted(list)| Self(sorted(list)))
    }
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Box<[T]> {
    list.sort_unstable();
    list.dedup();
    list.into_boxed_slice()
}

/// A list as it was written.
struct Unsorted<T>(Vec<T>);

impl<'de, T: Entry> Deserialize<'de> for Unsorted<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Entry> Visitor<'de> for ListVisitor<T> {
            type Value = Unsorted<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Unsorted<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(EntryOf(entry)) = seq.next_element::<EntryOf<T>>()? {
                    list.push(entry);
                }
                Ok(Unsorted(list))
            }
        }
        from.deserialize_seq(ListVisitor(std::marker::PhantomData))
    }
}

/// An entry of a filter's list.
trait Entry: Ord + Sized {
    fn expecting() -> &'static str;
    fn from_text(_: &str) -> Option<Self> {
        None
    }
    fn from_number(_: u64) -> Option<Self> {
        None
    }
}

impl Entry for EventId {
    fn expecting() -> &'static str {
        "64 lower-case hex digits"
    }
    fn from_text(text: &str) -> Option<Self> {
        Self::from_hex(text).ok()
    }
}

impl Entry for PubKey {
    fn expecting() -> &'static str {
        "64 lower-case hex digits"
    }
    fn from_text(text: &str) -> Option<Self> {
        Self::from_hex(text).ok()
    }
}

impl Entry for TagValue {
    fn expecting() -> &'static str {
        "a string"
    }
    fn from_text(text: &str) -> Option<Self> {
        Some(Self::new(text))
    }
}

/// `None` for a number that no kind can have.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct KindEntry(Option<Kind>);

impl Entry for KindEntry {
    fn expecting() -> &'static str {
        "a non-negative integer as kind"
    }
    fn from_number(number: u64) -> Option<Self> {
        Some(Self(u16::try_from(number).ok().map(Kind)))
    }
}

struct EntryOf<T>(T);

impl<'de, T: Entry> Deserialize<'de> for EntryOf<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct EntryVisitor<T>(std::marker::PhantomData<T>);
        impl<T: Entry> Visitor<'_> for EntryVisitor<T> {
            type Value = EntryOf<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::expecting())
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<EntryOf<T>, E> {
                T::from_text(text)
                    .map(EntryOf)
                    .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(cut(text)), &self))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<EntryOf<T>, E> {
                let unexpected = serde::de::Unexpected::Unsigned(number);
                T::from_number(number)
                    .map(EntryOf)
                    .ok_or_else(|| E::invalid_type(unexpected, &self))
            }
        }
        from.deserialize_any(EntryVisitor(std::marker::PhantomData))
    }
}

/// `since` or `until`. Times before the epoch are the epoch (E-13).
struct Time(Timestamp);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TimeVisitor;
        impl Visitor<'_> for TimeVisitor {
            type Value = Time;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("whole seconds as since or until")
            }

            fn visit_u64<E: Error>(self, seconds: u64) -> Result<Time, E> {
                Ok(Time(Timestamp(seconds)))
            }

            fn visit_i64<E: Error>(self, _: i64) -> Result<Time, E> {
                Ok(Time(Timestamp(0)))
            }
        }
        from.deserialize_any(TimeVisitor)
    }
}

struct Limit(u64);

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct LimitVisitor;
        impl Visitor<'_> for LimitVisitor {
            type Value = Limit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a non-negative integer as limit")
            }

            fn visit_u64<E: Error>(self, limit: u64) -> Result<Limit, E> {
                Ok(Limit(limit))
            }
        }
        from.deserialize_any(LimitVisitor)
    }
}
