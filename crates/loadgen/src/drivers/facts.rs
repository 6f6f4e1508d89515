//! What a relay must answer, worked out from the corpus without asking anyone.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustc_hash::FxHashSet;
use zeolite_proto::{Event, EventId, EventParser, Kind, Timestamp};

use super::error::DriveError;
use crate::corpus::{
    Comparison, Corpus, CorpusError, EffectiveBuilder, EffectiveSet, Fate, Stored,
};
use crate::row::Row;

/// Fates on which relays that follow the NIPs may differ, because the NIPs say SHOULD or nothing.
pub(crate) const TOLERATED: [Fate; 5] = [
    Fate::SupersededInTie,
    Fate::VanishedWrap,
    Fate::DeletedWrap,
    Fate::DeletedReplaceable,
    Fate::DeletedWithNewer,
];

/// Ids that an error row names.
const NAMED_MAX: usize = 3;

/// What a relay that has taken a corpus must hold.
pub(crate) struct Expectation {
    set: EffectiveSet,
    /// Events of kinds that relays may keep for those they concern.
    gated: FxHashSet<EventId>,
}

/// The seconds since 1970.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(since.as_secs())
}

/// Reads a corpus once, and keeps what it must come to.
pub(crate) fn expectation(corpus: &Path) -> Result<Expectation, DriveError> {
    let mut building = Building::new();
    let mut parser = EventParser::new();
    let mut number = 0;
    for batch in Stored::open(corpus)? {
        for event in batch?.iter() {
            number += 1;
            building.add(&parse(&mut parser, event.json(), corpus, number)?);
        }
    }
    Ok(building.finish())
}

struct Building {
    builder: EffectiveBuilder,
    gated: FxHashSet<EventId>,
}

impl Building {
    fn new() -> Self {
        Self { builder: EffectiveBuilder::new(now(), &[]), gated: FxHashSet::default() }
    }

    fn add(&mut self, event: &Event) {
        self.builder.add(event.view());
        if !is_public(event.view().kind()) {
            self.gated.insert(event.view().id());
        }
    }

    fn finish(self) -> Expectation {
        Expectation { set: self.builder.finish(), gated: self.gated }
    }
}

impl Expectation {
    /// Works it out from events in memory.
    pub(crate) fn of(events: &[Event]) -> Self {
        let mut building = Building::new();
        events.iter().for_each(|event| building.add(event));
        building.finish()
    }

    /// Works it out from the first events of a corpus in memory.
    pub(crate) fn of_corpus(corpus: &Corpus, events: usize) -> Result<Self, DriveError> {
        let mut building = Building::new();
        let mut parser = EventParser::new();
        for (event, number) in corpus.iter().take(events).zip(1..) {
            building.add(&parse(&mut parser, event.json(), Path::new("corpus"), number)?);
        }
        Ok(building.finish())
    }

    /// How many events the relay must hold.
    pub(crate) fn len(&self) -> usize {
        self.set.len()
    }

    /// The effective set.
    pub(crate) fn set(&self) -> &EffectiveSet {
        &self.set
    }

    /// Whether every relay must hold this event, whatever it makes of ties.
    pub(crate) fn holds_surely(&self, id: &EventId) -> bool {
        self.set.fate(id) == Some(Fate::Held)
    }

    /// Whether the NIPs leave it to the relay to hold this event or not.
    pub(crate) fn is_open(&self, id: &EventId) -> bool {
        let fate = self.set.fate(id);
        fate.is_some_and(|fate| fate == Fate::HeldInTie || TOLERATED.contains(&fate))
    }

    /// Whether every relay must hold it and show it to anyone.
    pub(crate) fn holds_publicly(&self, id: &EventId) -> bool {
        self.holds_surely(id) && !self.gated.contains(id)
    }

    /// Verifies that these are the ids of everything that the relay must hold.
    pub(crate) fn check_all(&self, row: &mut Row, ids: &[EventId]) -> Comparison {
        let found = self.set.compare(ids.iter().copied(), &TOLERATED);
        let tolerated: u64 = found.tolerated.values().sum();
        row.check("missing", 0, found.missing.len()).check("extra", 0, found.extra.len()).check(
            "doubled",
            0,
            found.repeated.len(),
        );
        if tolerated > 0 {
            row.warn(format!("{tolerated} events on which the NIPs leave a choice"));
        }
        name_some(row, "missing", &found.missing);
        let extra: Vec<_> = found.extra.iter().map(|(id, _)| *id).collect();
        name_some(row, "extra", &extra);
        found
    }
}

/// Adds the first few ids of a list to the warnings.
pub(crate) fn name_some(row: &mut Row, what: &str, ids: &[EventId]) {
    if !ids.is_empty() {
        let named: Vec<_> = ids.iter().take(NAMED_MAX).map(EventId::to_string).collect();
        row.warn(format!("{what}, among others: {}", named.join(" ")));
    }
}

/// A corpus in memory as parsed events, in corpus order.
pub(crate) fn events(path: &Path) -> Result<Vec<Event>, DriveError> {
    let corpus = Corpus::open(path)?;
    let mut parser = EventParser::new();
    let parsed = corpus.iter().zip(1..);
    parsed.map(|(event, number)| parse(&mut parser, event.json(), path, number)).collect()
}

fn parse(
    parser: &mut EventParser,
    json: &[u8],
    path: &Path,
    number: u64,
) -> Result<Event, DriveError> {
    let fail = |reason: String| CorpusError::Event { path: path.to_owned(), number, reason };
    let text = std::str::from_utf8(json).map_err(|error| fail(error.to_string()))?;
    Ok(parser.parse(text).map_err(|error| fail(error.to_string()))?)
}

/// Whether relays show events of this kind to anyone: direct messages and gift wraps may be kept
/// for those they concern.
pub(crate) fn is_public(kind: Kind) -> bool {
    kind != Kind::DIRECT_MESSAGE && kind != Kind::GIFT_WRAP
}
