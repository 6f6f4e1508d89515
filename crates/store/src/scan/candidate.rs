//! The indexes that could serve a filter.

use zeolite_proto::{Filter, Kind, PubKey, TagFilter};

use super::cursor::{Cursor, Window};
use super::explain::Dimension;
use super::source::{KeySource, Value};
use crate::error::ReadError;
use crate::keys::Prefix;
use crate::limits::{PAIRS_MAX, PROBED_GROUPS_MAX, REFILL_KEYS_MIN};

/// One way to serve a filter: a set of groups that together hold every match.
pub(crate) struct Candidate {
    pub(crate) dimension: Dimension,
    pub(crate) cursors: Vec<Cursor>,
    /// How many of the cursors were read from, spread evenly: `None` if the planner had no
    /// question to ask.
    pub(crate) probed: Option<usize>,
}

/// What a few reads say of a candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Density {
    /// Entries in all groups; a floor unless `is_whole`.
    pub(crate) entries: f64,
    /// Entries met in each second walked back.
    pub(crate) per_second: f64,
    /// Every group that was read from was read to its end: short ones stand for the others.
    pub(crate) is_whole: bool,
    /// Every group was read to its end.
    pub(crate) is_exact: bool,
}

/// Every way to serve `filter` but that by ids.
pub(crate) fn candidates(
    filter: &Filter,
    source: &impl KeySource,
    window: Window,
) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut push = |dimension, mut prefixes: Vec<Prefix>| {
        // Values that share a hash share a group, and it is walked once.
        prefixes.sort_unstable();
        prefixes.dedup();
        let cursors = prefixes.into_iter().map(|prefix| Cursor::group(prefix, window)).collect();
        all.push(Candidate { dimension, cursors, probed: None });
    };
    let authors = filter.authors.as_deref();
    let kinds = filter.kinds.as_deref();
    let pairs = authors.zip(kinds).filter(|(a, k)| a.len().saturating_mul(k.len()) <= PAIRS_MAX);
    if let Some((authors, kinds)) = pairs {
        push(Dimension::AuthorKinds, pair_prefixes(source, authors, kinds));
    }
    // Pairs hold fewer entries than their authors or kinds alone, so these are only of interest
    // when they spare the opening of many groups.
    let few_pairs = pairs.is_some_and(|(a, k)| a.len() * k.len() <= PROBED_GROUPS_MAX);
    if let Some(authors) = authors.filter(|_| !few_pairs) {
        let prefixes = authors.iter().map(|author| source.prefix(Value::Author(author)));
        push(Dimension::Authors, prefixes.collect());
    }
    for tag in &filter.tags {
        push_tag(source, tag, &mut push);
    }
    if let Some(kinds) = kinds.filter(|_| !few_pairs) {
        let prefixes = kinds.iter().map(|kind| source.prefix(Value::Kind(*kind)));
        push(Dimension::Kinds, prefixes.collect());
    }
    // No index holds more entries than the timeline: its one merit is that it is one walk. Ids are
    // looked up one by one at a known cost, and the timeline says nothing of where they stand.
    let is_spread = all.iter().all(|candidate| candidate.cursors.len() > PROBED_GROUPS_MAX);
    if is_spread && filter.ids.is_none() {
        let cursors = vec![Cursor::timeline(window)];
        all.push(Candidate { dimension: Dimension::Timeline, cursors, probed: None });
    }
    all
}

fn pair_prefixes(source: &impl KeySource, authors: &[PubKey], kinds: &[Kind]) -> Vec<Prefix> {
    let pairs = authors.iter().flat_map(|author| kinds.iter().map(move |kind| (author, *kind)));
    pairs.map(|(author, kind)| source.prefix(Value::AuthorKind(author, kind))).collect()
}

/// `#x` is served by all its values together, `&x` by any single one of them.
fn push_tag(
    source: &impl KeySource,
    tag: &TagFilter,
    push: &mut impl FnMut(Dimension, Vec<Prefix>),
) {
    let dimension = Dimension::Tag { letter: char::from(tag.letter), all: tag.all };
    let mut prefixes =
        tag.values.iter().map(|value| source.prefix(Value::Tag(tag.letter, value.view())));
    if tag.all {
        for prefix in prefixes.take(PROBED_GROUPS_MAX) {
            push(dimension, vec![prefix]);
        }
    } else {
        push(dimension, prefixes.by_ref().collect());
    }
}

impl Candidate {
    /// Reads the first entries of some of the groups. They stay buffered, so that a chosen
    /// candidate has lost nothing.
    pub(crate) fn probe(
        &mut self,
        source: &impl KeySource,
        window: Window,
    ) -> Result<(), ReadError> {
        let step = self.cursors.len().div_ceil(PROBED_GROUPS_MAX).max(1);
        let mut probed = 0;
        for cursor in self.cursors.iter_mut().step_by(step) {
            cursor.probe(source, window)?;
            probed += 1;
        }
        self.probed = Some(probed);
        Ok(())
    }

    fn probed_cursors(&self) -> impl Iterator<Item = &Cursor> {
        let step = self.cursors.len().div_ceil(PROBED_GROUPS_MAX).max(1);
        self.cursors.iter().step_by(step).take(self.probed.unwrap_or(0))
    }

    /// The newest time that a probe met.
    pub(crate) fn newest_seen(&self) -> Option<u64> {
        self.probed_cursors()
            .filter_map(|cursor| cursor.buffered().last())
            .map(|e| e.time().0)
            .max()
    }

    /// Estimates how densely the groups are filled below `top`. `None` if it was not probed.
    pub(crate) fn density(&self, top: u64) -> Option<Density> {
        let probed = self.probed? as f64;
        let (mut entries, mut per_second) = (0.0, 0.0);
        for cursor in self.probed_cursors() {
            let buffered = cursor.buffered();
            if let Some(oldest) = buffered.first() {
                let seconds = top.saturating_sub(oldest.time().0) + 1;
                entries += buffered.len() as f64;
                per_second += buffered.len() as f64 / seconds as f64;
            }
        }
        let is_whole = self.probed_cursors().all(Cursor::is_read_out);
        let is_exact = self.cursors.iter().all(Cursor::is_read_out);
        let scale = if probed == 0.0 { 1.0 } else { self.cursors.len() as f64 / probed };
        let (entries, per_second) = (entries * scale, per_second * scale);
        Some(Density { entries, per_second, is_whole, is_exact })
    }

    /// Makes ready for a walk of about `entries` entries.
    pub(crate) fn expect(&mut self, entries: usize) {
        let share = entries / self.cursors.len().max(1);
        for cursor in &mut self.cursors {
            cursor.expect(share.max(REFILL_KEYS_MIN));
        }
    }
}
