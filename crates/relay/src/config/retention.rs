//! `[[retention]]`: how long events are kept.

use std::collections::BTreeSet;

use zeolite_policy::{KindRange, KindRanges, RetentionRule};
use zeolite_proto::{Kind, PubKey};

use super::form::{Form, Given, Maybe, Whole, quote};
use super::policy::SetOf;
use super::tables::table_keys;

/// A rule that is being read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RetentionDraft {
    kinds: KindRanges,
    authors: BTreeSet<PubKey>,
    except_kinds: KindRanges,
    except_authors: BTreeSet<PubKey>,
    age_s_max: Option<u64>,
}

const AUTHORS: SetOf<PubKey> = SetOf::new();

table_keys! {
    /// The keys of a `[[retention]]`, in the order in which they are shown.
    RETENTION_KEYS: RetentionDraft;
    "kinds" kinds = KindRangesForm;
        "Kinds that the rule is about; empty: all. With an age, \"all\" leaves out replaceable kinds (profiles, lists)."
    "authors" authors = AUTHORS;
        "Authors that it is about; empty: all."
    "except_kinds" except_kinds = KindRangesForm;
        "Kinds that it is not about; the next rule is asked about them."
    "except_authors" except_authors = AUTHORS;
        "Authors that it is not about; the next rule is asked about them."
    "age_s_max" age_s_max = Maybe(Whole { min: 1, max: u32::MAX as u64 });
        "Seconds since created_at that these events are kept; not set: for good, whatever the store's size."
}

impl RetentionDraft {
    /// The rule, or what is wrong with it.
    pub(crate) fn finish(self) -> Result<RetentionRule, String> {
        if self == Self::default() {
            return Err("it says nothing: give age_s_max, kinds or authors".to_owned());
        }
        let Self { kinds, authors, except_kinds, except_authors, age_s_max } = self;
        let mut always_kept = [Kind::DELETION, Kind::VANISH].into_iter();
        if let Some(kind) = always_kept.find(|kind| kinds.names(*kind) && age_s_max.is_some()) {
            return Err(format!("events of kind {kind} are always kept, since they bar others"));
        }
        Ok(RetentionRule { kinds, authors, except_kinds, except_authors, age_s_max })
    }

    /// What [`Self::finish`] makes this rule of.
    pub(crate) fn of(rule: RetentionRule) -> Self {
        let RetentionRule { kinds, authors, except_kinds, except_authors, age_s_max } = rule;
        Self { kinds, authors, except_kinds, except_authors, age_s_max }
    }
}

/// A list of kinds and ranges.
struct KindRangesForm;

impl Form for KindRangesForm {
    type Value = KindRanges;

    fn read(&self, given: &Given) -> Result<KindRanges, String> {
        let wrong = || format!("must be {}", self.accepts());
        let entries: Vec<String> = match given {
            Given::List(entries) => entries.clone(),
            Given::Text(text) => text.split(',').map(str::to_owned).collect(),
            _ => return Err(wrong()),
        };
        entries.iter().map(|entry| entry.parse::<KindRange>().map_err(|_| wrong())).collect()
    }

    fn show(&self, kinds: &KindRanges) -> Option<String> {
        let entries: Vec<_> =
            kinds.entries().iter().map(|range| quote(&range.to_string())).collect();
        Some(format!("[{}]", entries.join(", ")))
    }

    fn accepts(&self) -> String {
        "a list, each a kind or a range of kinds, \"1000-1999\"".to_owned()
    }
}
