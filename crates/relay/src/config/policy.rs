//! What may be written: the operator's rules and program.

use std::collections::BTreeSet;

use zeolite_policy::{FailMode, KindRule, Rules};
use zeolite_proto::{Kind, PubKey};

use super::form::{Form, Given, Maybe, Whole};
use super::tables::table_keys;

/// What may be written.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyConfig {
    /// The rules, for every way in.
    pub rules: Rules,
    /// A shell command that is asked about each event, by the line protocol of strfry's plug-ins.
    pub plugin: Option<String>,
    /// What happens to events when it does not answer.
    pub plugin_fail: FailMode,
    /// How long it may take for one answer.
    pub plugin_answer_ms_max: u64,
    /// Questions that it is asked at once.
    pub plugin_pending_max: usize,
}

/// A program that answers each question in 5 ms, one by one, answers 1,000 within the time.
impl Default for PolicyConfig {
    fn default() -> Self {
        let rules = Rules {
            // Relay lists are for everyone to find (R17-01, R65-01).
            kinds_open: [Kind(10_002), Kind(10_050)].into(),
            ..Rules::default()
        };
        Self {
            rules,
            plugin: None,
            plugin_fail: FailMode::Closed,
            plugin_answer_ms_max: 5_000,
            plugin_pending_max: 1_000,
        }
    }
}

pub(super) const FAIL_MODES: &[(&str, FailMode)] =
    &[("closed", FailMode::Closed), ("open", FailMode::Open)];

/// A `[[kind]]` that is being read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KindDraft {
    kind: Option<u16>,
    content_bytes_max: Option<usize>,
    tags_max: Option<usize>,
    age_s_max: Option<u64>,
    work_bits_min: Option<u32>,
}

table_keys! {
    /// The keys of a `[[kind]]`, in the order in which they are shown.
    KIND_KEYS: KindDraft;
    "kind" kind = Maybe(Whole { min: 0, max: u16::MAX });
        "The kind that this is about; required."
    "content_bytes_max" content_bytes_max = Maybe(Whole { min: 0, max: 64 << 20 });
        "Bytes of content."
    "tags_max" tags_max = Maybe(Whole { min: 0, max: 1_000_000 });
        "Number of tags."
    "age_s_max" age_s_max = Maybe(Whole { min: 1, max: u32::MAX as u64 });
        "Seconds that an event may be old when it arrives."
    "work_bits_min" work_bits_min = Maybe(Whole { min: 0, max: 256 });
        "Leading zero bits that its id needs, in place of policy.work_bits_min."
}

impl KindDraft {
    /// The rule, or what is missing.
    pub(crate) fn finish(self) -> Result<(Kind, KindRule), String> {
        let Self { kind, content_bytes_max, tags_max, age_s_max, work_bits_min } = self;
        let kind = Kind(kind.ok_or("kind is missing")?);
        Ok((kind, KindRule { content_bytes_max, tags_max, age_s_max, work_bits_min }))
    }

    /// What [`Self::finish`] makes this rule of.
    pub(crate) fn of(kind: Kind, rule: KindRule) -> Self {
        let KindRule { content_bytes_max, tags_max, age_s_max, work_bits_min } = rule;
        Self { kind: Some(kind.0), content_bytes_max, tags_max, age_s_max, work_bits_min }
    }
}

/// What can stand in a [`SetOf`].
pub(super) trait Entry: Ord + Sized {
    /// What it must look like.
    const FORM: &'static str;
    /// Whether it stands in quotes.
    const IS_QUOTED: bool;
    fn parse(text: &str) -> Option<Self>;
    fn text(&self) -> String;
}

impl Entry for PubKey {
    const FORM: &'static str = "64 lower-case hex digits";
    const IS_QUOTED: bool = true;

    fn parse(text: &str) -> Option<Self> {
        Self::from_hex(text).ok()
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

impl Entry for Kind {
    const FORM: &'static str = "a kind, 0 to 65535";
    const IS_QUOTED: bool = false;

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    fn text(&self) -> String {
        self.to_string()
    }
}

/// A list without doubles.
pub(super) struct SetOf<T>(pub(super) std::marker::PhantomData<T>);

impl<T: Entry> SetOf<T> {
    pub(super) const fn new() -> Self {
        Self(std::marker::PhantomData)
    }
}

impl<T: Entry> Form for SetOf<T> {
    type Value = BTreeSet<T>;

    fn read(&self, given: &Given) -> Result<BTreeSet<T>, String> {
        let wrong = || format!("must be {}", self.accepts());
        let entries: Vec<String> = match given {
            Given::List(entries) => entries.clone(),
            Given::Text(text) => text
                .split(',')
                .map(str::to_owned)
                .filter(|entry| !entry.trim().is_empty())
                .collect(),
            _ => return Err(wrong()),
        };
        entries.iter().map(|entry| T::parse(entry.trim()).ok_or_else(wrong)).collect()
    }

    fn show(&self, value: &BTreeSet<T>) -> Option<String> {
        let quote = if T::IS_QUOTED { "\"" } else { "" };
        let entries: Vec<_> =
            value.iter().map(|entry| format!("{quote}{}{quote}", entry.text())).collect();
        Some(format!("[{}]", entries.join(", ")))
    }

    fn accepts(&self) -> String {
        format!("a list, each {}", T::FORM)
    }
}
