//! A list of kinds and ranges of kinds.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use zeolite_proto::Kind;

/// Kinds, one by one or as ranges, as the operator wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindRanges(Vec<KindRange>);

/// The kinds from one to another, both included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindRange(RangeInclusive<u16>);

/// A text is neither a kind nor a range of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("neither a kind nor a range of kinds")]
pub struct KindRangeError;

impl KindRanges {
    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of the entries holds this kind.
    pub fn contains(&self, kind: Kind) -> bool {
        self.0.iter().any(|range| range.0.contains(&kind.0))
    }

    /// Whether an entry is this kind and no other.
    pub fn names(&self, kind: Kind) -> bool {
        self.0.iter().any(|range| range.0 == (kind.0..=kind.0))
    }

    /// The entries, in the order in which they were written.
    pub fn entries(&self) -> &[KindRange] {
        &self.0
    }

    /// Every kind once, in order, if there are no more than `max`.
    pub fn listed(&self, max: usize) -> Option<Box<[Kind]>> {
        let total: usize = self.0.iter().map(|range| range.0.len()).sum();
        if total > max {
            return None;
        }
        let mut kinds: Vec<_> = self.0.iter().flat_map(|range| range.0.clone().map(Kind)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        Some(kinds.into())
    }
}

impl FromIterator<KindRange> for KindRanges {
    fn from_iter<I: IntoIterator<Item = KindRange>>(ranges: I) -> Self {
        Self(ranges.into_iter().collect())
    }
}

impl From<Kind> for KindRange {
    fn from(kind: Kind) -> Self {
        Self(kind.0..=kind.0)
    }
}

impl FromStr for KindRange {
    type Err = KindRangeError;

    fn from_str(text: &str) -> Result<Self, KindRangeError> {
        let kind = |text: &str| text.trim().parse::<u16>().map_err(|_| KindRangeError);
        let range = match text.split_once('-') {
            Some((first, last)) => kind(first)?..=kind(last)?,
            None => {
                let kind = kind(text)?;
                kind..=kind
            }
        };
        if range.is_empty() { Err(KindRangeError) } else { Ok(Self(range)) }
    }
}

impl fmt::Display for KindRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.start(), self.0.end()) {
            (first, last) if first == last => first.fmt(f),
            (first, last) => write!(f, "{first}-{last}"),
        }
    }
}

impl fmt::Display for KindRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.iter().enumerate() {
            write!(f, "{}{range}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(texts: &[&str]) -> KindRanges {
        texts.iter().map(|text| text.parse::<KindRange>().expect(text)).collect()
    }

    #[test]
    fn kinds_and_ranges_are_read_and_shown() {
        let some = ranges(&["7", " 40 - 44 ", "0-0"]);
        assert_eq!(some.to_string(), "7, 40-44, 0");
        for (kind, is_in, is_named) in [
            (7, true, true),
            (40, true, false),
            (44, true, false),
            (45, false, false),
            (0, true, true),
        ] {
            assert_eq!(some.contains(Kind(kind)), is_in, "{kind}");
            assert_eq!(some.names(Kind(kind)), is_named, "{kind}");
        }
        for text in ["", "x", "-1", "1-", "9-8", "1-70000", "70000", "1-2-3"] {
            assert_eq!(text.parse::<KindRange>(), Err(KindRangeError), "{text}");
        }
    }

    #[test]
    fn few_kinds_are_listed() {
        let listed = |texts: &[&str], max| {
            ranges(texts)
                .listed(max)
                .map(|kinds| kinds.iter().map(|kind| kind.0).collect::<Vec<_>>())
        };
        assert_eq!(listed(&["5-7", "6", "1"], 5), Some(vec![1, 5, 6, 7]));
        assert_eq!(listed(&["5-7", "6", "1"], 4), None);
        assert_eq!(listed(&["0-65535"], 1000), None);
        assert_eq!(listed(&[], 0), Some(vec![]));
    }
}
