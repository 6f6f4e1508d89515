//! A source over a plain list of events, for tests of what stands on top of it.

use zeolite_proto::{Event, EventId, EventRef, Filter, Seq, TagStr, Timestamp};

use super::entry::Entry;
use super::source::{KeySource, Value};
use crate::error::ReadError;
use crate::keys::Prefix;
use crate::snapshot::TimelinePlace;

/// Events in the order of their seqs, which begin with 1. A dead one keeps its entries.
#[derive(Debug, Default)]
pub(crate) struct MockSource {
    pub(crate) events: Vec<Event>,
    pub(crate) dead: Vec<Seq>,
    /// What was stored later is not shown.
    pub(crate) ceiling: Option<Seq>,
    /// Values whose hash is equal to this many others: prefixes collide when it is small.
    pub(crate) hash_values: Option<u8>,
}

impl MockSource {
    fn entries(&self, wants: impl Fn(EventRef<'_>) -> bool) -> Vec<(Entry, EventId)> {
        let shown = self.ceiling.map_or(self.events.len(), |ceiling| ceiling.0 as usize);
        let all = self.events[..shown].iter().zip(1..);
        let wanted = all.filter(|(event, _)| wants(event.view()));
        wanted.map(|(e, seq)| (Entry::of(e.view(), Seq(seq)), e.view().id())).collect()
    }

    fn prefixes(&self, event: EventRef<'_>) -> Vec<Prefix> {
        let (author, kind) = (event.pubkey(), event.kind());
        let mut prefixes = vec![
            self.prefix(Value::Author(&author)),
            self.prefix(Value::Kind(kind)),
            self.prefix(Value::AuthorKind(&author, kind)),
        ];
        prefixes.extend(event.letter_tags().map(|(l, value)| self.prefix(Value::Tag(l, value))));
        prefixes
    }

    /// The events that the newest `limit` of `filter` are, by the plain way.
    pub(crate) fn naive(
        &self,
        filter: &Filter,
        limit: Option<u64>,
        now: Timestamp,
    ) -> (Vec<Seq>, bool) {
        let seqs = self.events.iter().zip((1..).map(Seq));
        let mut found: Vec<_> = seqs
            .filter(|(event, seq)| {
                let event = event.view();
                !self.dead.contains(seq) && filter.matches(event) && !event.is_expired(now)
            })
            .collect();
        found.sort_by_key(|(e, _)| (std::cmp::Reverse(e.view().created_at()), e.view().id()));
        let total = found.len();
        found.truncate(limit.map_or(usize::MAX, |limit| limit as usize));
        let is_whole = found.len() == total;
        (found.into_iter().map(|(_, seq)| seq).collect(), is_whole)
    }
}

impl KeySource for MockSource {
    fn prefix(&self, value: Value<'_>) -> Prefix {
        let (family, parts) = match value {
            Value::Author(author) => (2, [author.0[0], 0, 0, 0]),
            Value::Kind(kind) => (3, [kind.0.to_be_bytes()[0], kind.0.to_be_bytes()[1], 0, 0]),
            Value::AuthorKind(author, kind) => (4, [author.0[0], kind.0 as u8, 0, 0]),
            Value::Tag(letter, TagStr::Text(text)) => {
                (5, [letter, *text.first().unwrap_or(&0), text.len() as u8, 0])
            }
            Value::Tag(letter, TagStr::Hex(bytes)) => (5, [letter, bytes[0], 0, 1]),
        };
        let mut prefix = [family, 0, 0, 0, 0, 0];
        for (to, from) in prefix[1..].iter_mut().zip(parts) {
            *to = self.hash_values.map_or(from, |values| from % values);
        }
        Prefix(prefix)
    }

    fn refill(
        &self,
        prefix: &Prefix,
        below: Entry,
        oldest: Timestamp,
        max: usize,
        out: &mut Vec<Entry>,
    ) -> Result<Option<Entry>, ReadError> {
        let mut entries = self.entries(|event| self.prefixes(event).contains(prefix));
        entries.retain(|(entry, _)| *entry < below && entry.time() >= oldest);
        entries.sort_by(|a, b| b.cmp(a));
        out.extend(entries.iter().take(max).map(|(entry, _)| *entry));
        Ok((entries.len() >= max).then(|| entries[max - 1].0))
    }

    fn refill_timeline(
        &self,
        below: TimelinePlace,
        oldest: Timestamp,
        max: usize,
        out: &mut Vec<Entry>,
    ) -> Result<Option<TimelinePlace>, ReadError> {
        let mut entries = self.entries(|_| true);
        entries.retain(|(entry, id)| {
            let is_after = entry.time() < below.time
                || entry.time() == below.time && below.id.is_none_or(|below| *id > below);
            is_after && entry.time() >= oldest
        });
        entries.sort_by_key(|(entry, id)| (std::cmp::Reverse(entry.time()), *id));
        out.extend(entries.iter().take(max).map(|(entry, _)| *entry));
        Ok((entries.len() >= max).then(|| {
            let (entry, id) = entries[max - 1];
            TimelinePlace { time: entry.time(), id: Some(id) }
        }))
    }

    fn find_id(&self, id: &EventId) -> Result<Option<Entry>, ReadError> {
        Ok(self.entries(|event| event.id() == *id).first().map(|(entry, _)| *entry))
    }

    fn event(&self, seq: Seq) -> Result<Option<EventRef<'_>>, ReadError> {
        let event = self.events.get(seq.0 as usize - 1);
        Ok(event.filter(|_| !self.dead.contains(&seq)).map(Event::view))
    }
}
