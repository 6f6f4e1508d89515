//! One event against many filters.

use std::cell::OnceCell;

use crate::filter::{Filter, TagFilter};
use crate::record::{EventRef, TagStr};

/// Tag sections up to this size are walked for each filter: about 30 tags, which costs less than
/// sorting them. Beyond, 2,000 tags would cost each filter 20 us.
const WALKED_BYTES_MAX: usize = 1024;

/// Matches one event against filter after filter, as live fan-out does. The same answers as
/// [`Filter::matches`]; an event with very many tags is sorted once instead of walked each time.
pub struct Matcher<'a> {
    event: EventRef<'a>,
    sorted: OnceCell<SortedTags<'a>>,
}

impl<'a> Matcher<'a> {
    /// A matcher for this event. Costs nothing yet.
    pub fn new(event: EventRef<'a>) -> Self {
        Self { event, sorted: OnceCell::new() }
    }

    /// Whether the event satisfies every condition (`limit` and `search` aside).
    pub fn satisfies(&self, filter: &Filter) -> bool {
        if self.event.tags_bytes() <= WALKED_BYTES_MAX {
            return filter.matches(self.event);
        }
        filter.matches_fields(self.event)
            && filter.tags.iter().all(|tag| tag.matches_sorted(self.sorted()))
    }

    fn sorted(&self) -> &SortedTags<'a> {
        self.sorted.get_or_init(|| SortedTags::new(self.event))
    }
}

/// The tags of an event that filters can find, sorted by letter and value.
pub(crate) struct SortedTags<'a>(Vec<(u8, TagStr<'a>)>);

impl<'a> SortedTags<'a> {
    pub(crate) fn new(event: EventRef<'a>) -> Self {
        let mut tags: Vec<_> = event.letter_tags().collect();
        tags.sort_unstable();
        Self(tags)
    }

    fn with_letter(&self, letter: u8) -> &[(u8, TagStr<'a>)] {
        let start = self.0.partition_point(|(other, _)| *other < letter);
        let end = self.0.partition_point(|(other, _)| *other <= letter);
        &self.0[start..end]
    }
}

impl TagFilter {
    /// Whether these tags satisfy the condition. Looks the shorter list up in the longer one.
    pub(crate) fn matches_sorted(&self, tags: &SortedTags<'_>) -> bool {
        let tags = tags.with_letter(self.letter);
        let is_on_event =
            |value: TagStr<'_>| tags.binary_search_by(|(_, probe)| probe.cmp(&value)).is_ok();
        if self.all {
            !self.values.is_empty() && self.values.iter().all(|value| is_on_event(value.view()))
        } else if self.values.len() < tags.len() {
            self.values.iter().any(|value| is_on_event(value.view()))
        } else {
            tags.iter().any(|(_, value)| self.has(*value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordBuilder;

    /// R01-73: the matcher agrees with the filter on both sides of the size where it sorts.
    #[test]
    fn crowded_and_plain_events_match_alike() {
        for filler in [0, 2000] {
            let mut builder = RecordBuilder::default();
            builder.start_tags();
            let numbers: Vec<String> = (0..filler).map(|n: usize| n.to_string()).collect();
            let tags = numbers.iter().map(|number| ["f", number]);
            for tag in tags.chain([["t", "b"], ["t", "a"], ["t", "a"], ["T", ""], ["x", "y"]]) {
                builder.start_tag();
                tag.iter().for_each(|text| builder.push_string(text.as_bytes()));
                builder.end_tag();
            }
            let record = builder.finish().expect("short tags");
            let event = EventRef::new(&record).expect("a record");
            let matcher = Matcher::new(event);
            assert_eq!(event.tags_bytes() > WALKED_BYTES_MAX, filler > 0);
            for (json, expected) in [
                (r##"{}"##, true),
                (r##"{"#t":["a"]}"##, true),
                (r##"{"#t":["z","b"]}"##, true),
                (r##"{"#t":["z"]}"##, false),
                (r##"{"#t":[]}"##, false),
                (r##"{"#T":["","a"]}"##, true),
                (r##"{"#T":["a"]}"##, false),
                (r##"{"&t":["a","b"]}"##, true),
                (r##"{"&t":["a","b","z"]}"##, false),
                (r##"{"&t":[]}"##, false),
                (r##"{"#t":["a"],"#x":["y"]}"##, true),
                (r##"{"#t":["a"],"#x":["z"]}"##, false),
                (r##"{"kinds":[1],"#t":["a"]}"##, false),
            ] {
                let filter = Filter::from_json(json).expect("a filter");
                assert_eq!(matcher.satisfies(&filter), expected, "{json} with {filler}");
                assert_eq!(filter.matches(event), expected, "{json} with {filler}");
            }
        }
    }
}
