//! The questions, and the events that answer them.

use std::cmp::Reverse;
use std::hash::Hash;
use std::path::Path;

use rustc_hash::FxHashMap;
use zeolite_proto::{Event, EventId, Kind, PubKey, TagStr};

use crate::corpus::Fate;
use crate::drivers::error::DriveError;
use crate::drivers::facts::{Expectation, TOLERATED, events, is_public};
use crate::drivers::rng::Rng;

/// A question of the table.
pub(super) struct Question {
    /// Its name in reports.
    pub(super) name: &'static str,
    /// The filter as JSON.
    pub(super) filter: String,
}

/// Whether a relay must have an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// Every relay shows it to anyone.
    Required,
    /// The NIPs leave it open, or it may be kept for those it concerns.
    Optional,
}

/// The corpus as a relay must hold it.
pub(super) struct World {
    /// Newest first, ties by lowest id.
    events: Vec<(Event, Presence)>,
}

impl World {
    /// Reads the corpus.
    pub(super) fn open(path: &Path) -> Result<Self, DriveError> {
        Ok(Self::new(events(path)?))
    }

    fn new(events: Vec<Event>) -> Self {
        let expected = Expectation::of(&events);
        let presence = |event: &Event| match expected.set().fate(&event.view().id())? {
            Fate::Held if is_public(event.view().kind()) => Some(Presence::Required),
            fate if fate.is_held() || TOLERATED.contains(&fate) => Some(Presence::Optional),
            _ => None,
        };
        let mut events: Vec<_> = events
            .into_iter()
            .filter_map(|event| presence(&event).map(|presence| (event, presence)))
            .collect();
        events.sort_unstable_by_key(|(event, _)| {
            (Reverse(event.view().created_at()), event.view().id())
        });
        Self { events }
    }

    /// The events that may answer, newest first.
    pub(super) fn events(&self) -> &[(Event, Presence)] {
        &self.events
    }

    /// The whole table.
    pub(super) fn questions(&self) -> Vec<Question> {
        let facts = Facts::of(self.events.iter().map(|(event, _)| event));
        let q = |name, filter: String| Question { name, filter };
        let top_authors = |count| list(&facts.authors[..facts.authors.len().min(count)]);
        let quietest = &facts.authors[facts.authors.len().saturating_sub(3)..];
        let hottest = |count| list(&facts.e[..facts.e.len().min(count)]);
        let p = list(&facts.p[..facts.p.len().min(1)]);
        let (from, to) = &facts.pair;
        let t = facts.t.first().cloned().unwrap_or_default();
        let t = serde_json::Value::from(t);
        vec![
            q("firehose", r#"{"limit":500}"#.into()),
            q("small", r#"{"kinds":[1],"limit":20}"#.into()),
            q("global-feed", r#"{"kinds":[1],"limit":500}"#.into()),
            q("profiles", format!(r#"{{"kinds":[0],"authors":{}}}"#, top_authors(50))),
            q("author-archive", format!(r#"{{"authors":{},"limit":500}}"#, list(quietest))),
            q(
                "follow-feed",
                format!(r#"{{"kinds":[1,6],"authors":{},"limit":500}}"#, top_authors(150)),
            ),
            q("thread", format!(r##"{{"kinds":[1,6,7,9735],"#e":{},"limit":1000}}"##, hottest(1))),
            q("notifications", format!(r##"{{"kinds":[1,6,7,9735],"#p":{p},"limit":500}}"##)),
            q(
                "conversation",
                format!(r##"{{"kinds":[1],"authors":["{from}"],"#p":["{to}"],"limit":500}}"##),
            ),
            q("reactions", format!(r##"{{"kinds":[7],"#e":{},"limit":500}}"##, hottest(150))),
            q("hashtag", format!(r##"{{"kinds":[1],"#t":[{t}],"limit":500}}"##)),
            q("by-ids", format!(r#"{{"ids":{}}}"#, list(&self.some_ids(100)))),
            q("recent", format!(r#"{{"kinds":[1],"since":{},"limit":500}}"#, self.last_fifth())),
            q("sparse", format!(r#"{{"authors":{},"limit":500}}"#, facts.one_in_silence(150))),
            q(
                "many-authors",
                format!(r#"{{"kinds":[1],"authors":{},"limit":1000}}"#, facts.crowd(2_000)),
            ),
        ]
    }

    /// Ids that every relay shows, from all over the corpus.
    fn some_ids(&self, count: usize) -> Vec<EventId> {
        let required = self.events.iter().filter(|(_, presence)| *presence == Presence::Required);
        let ids: Vec<_> = required.map(|(event, _)| event.view().id()).collect();
        let step = (ids.len() / count).max(1);
        ids.into_iter().step_by(step).take(count).collect()
    }

    /// The time at which the last fifth of the corpus' time begins.
    fn last_fifth(&self) -> u64 {
        let time = |event: Option<&(Event, _)>| event.map_or(0, |(e, _)| e.view().created_at().0);
        let (newest, oldest) = (time(self.events.first()), time(self.events.last()));
        newest - (newest - oldest) / 5
    }
}

/// What is frequent in a corpus, most frequent first.
struct Facts {
    authors: Vec<PubKey>,
    e: Vec<EventId>,
    p: Vec<PubKey>,
    t: Vec<String>,
    /// The author who mentions somebody most often, and whom.
    pair: (PubKey, PubKey),
}

impl Facts {
    fn of<'e>(events: impl Iterator<Item = &'e Event>) -> Self {
        let (mut authors, mut e, mut p) = (Counts::new(), Counts::new(), Counts::new());
        let (mut t, mut pairs) = (Counts::new(), Counts::new());
        for event in events {
            let event = event.view();
            authors.add(event.pubkey());
            let is_note = event.kind() == Kind::TEXT_NOTE;
            let is_talk = is_note || matches!(event.kind().0, 6 | 7 | 9735);
            for (letter, value) in event.letter_tags() {
                match (letter, value) {
                    (b'e', TagStr::Hex(id)) if is_talk => e.add(EventId(*id)),
                    (b'p', TagStr::Hex(key)) if is_talk => {
                        p.add(PubKey(*key));
                        if is_note {
                            pairs.add((event.pubkey(), PubKey(*key)));
                        }
                    }
                    (b't', TagStr::Text(text)) if is_note => {
                        t.add(String::from_utf8_lossy(text).into_owned());
                    }
                    _ => {}
                }
            }
        }
        let nobody = (PubKey([0; 32]), PubKey([0; 32]));
        Self {
            authors: authors.sorted(),
            e: e.sorted(),
            p: p.sorted(),
            t: t.sorted(),
            pair: pairs.sorted().first().copied().unwrap_or(nobody),
        }
    }

    /// One author of medium activity among others of whom there is nothing.
    fn one_in_silence(&self, count: usize) -> String {
        let mut rng = Rng::new(0x7370_6172);
        let mut authors: Vec<_> = (1..count).map(|_| PubKey(rng.bytes())).collect();
        authors.extend(self.authors.get(self.authors.len() / 2));
        list(&authors)
    }

    /// The most active authors, filled up with silent ones.
    fn crowd(&self, count: usize) -> String {
        let mut rng = Rng::new(0x6372_6f77);
        let silent = std::iter::repeat_with(|| PubKey(rng.bytes()));
        let authors: Vec<_> = self.authors.iter().copied().chain(silent).take(count).collect();
        list(&authors)
    }
}

struct Counts<T>(FxHashMap<T, u32>);

impl<T: Hash + Ord + Clone> Counts<T> {
    fn new() -> Self {
        Self(FxHashMap::default())
    }

    fn add(&mut self, item: T) {
        *self.0.entry(item).or_default() += 1;
    }

    /// Most frequent first; the order of equals does not depend on the machine.
    fn sorted(self) -> Vec<T> {
        let mut counted: Vec<_> = self.0.into_iter().collect();
        counted.sort_unstable_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
        counted.into_iter().map(|(item, _)| item).collect()
    }
}

/// A JSON array of hex.
fn list<T: std::fmt::Display>(items: &[T]) -> String {
    let quoted: Vec<_> = items.iter().map(|item| format!("\"{item}\"")).collect();
    format!("[{}]", quoted.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Corpus, Shape, Spec};
    use zeolite_proto::{EventParser, Filter};

    /// Every question of the table is a filter, is the same for the same corpus, and has an answer.
    #[test]
    fn every_question_has_an_answer() {
        for shape in [Shape::ClassicV1, Shape::NetworkV1] {
            let corpus = Corpus::generate(&Spec::new(shape, 3_000));
            let mut parser = EventParser::new();
            let json = corpus.iter().map(|event| String::from_utf8(event.json().to_vec()).unwrap());
            let events: Vec<_> = json.map(|json| parser.parse(&json).unwrap()).collect();
            let world = World::new(events);
            let questions = world.questions();
            for (question, again) in questions.iter().zip(world.questions()) {
                assert_eq!(question.filter, again.filter);
                let filter = Filter::from_json(&question.filter).unwrap();
                let mut events = world.events().iter();
                let name = question.name;
                assert!(events.any(|(event, _)| filter.matches(event.view())), "{shape} {name}");
            }
        }
    }
}
