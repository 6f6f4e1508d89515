//! Fresh events, signed before anything is measured.

use std::time::{SystemTime, UNIX_EPOCH};

use rustc_hash::FxHashMap;
use zeolite_proto::{EventId, Kind, Timestamp};

use super::flood::Supply;
use crate::corpus::{Author, EventSigner, SignedEvent};

/// Where the keys of live authors come from; no corpus uses this seed.
const SEED: u64 = 0x6c6f_6164;

/// Words of a note; about as long as the notes of the public network.
const WORDS: &str = "the quick brown fox jumps over the lazy dog and goes home to write about it. ";

/// Events that no relay has seen: a run's number is in each, so that runs do not repeat one another.
pub(crate) struct Notes {
    events: Vec<SignedEvent>,
    places: FxHashMap<EventId, u32>,
}

impl Notes {
    /// `count` text notes of about `content_bytes`; the note at a place is by the author that
    /// `author_of` gives.
    pub(crate) fn new(
        authors: &[Author],
        count: usize,
        content_bytes: usize,
        author_of: impl Fn(usize) -> usize,
    ) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (time, run) = (Timestamp(since.as_secs()), since.as_nanos());
        let filler = WORDS.repeat(content_bytes / WORDS.len() + 1);
        let mut signer = EventSigner::new();
        let no_tags: [&[&str]; 0] = [];
        let events: Vec<_> = (0..count)
            .map(|place| {
                let content = format!("{run} {place} {}", &filler[..content_bytes]);
                signer.sign(&authors[author_of(place)], time, Kind::TEXT_NOTE, &no_tags, &content)
            })
            .collect();
        let places = events.iter().zip(0..).map(|(event, place)| (event.id, place)).collect();
        Self { events, places }
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// The note at a place.
    pub(crate) fn event(&self, place: usize) -> &SignedEvent {
        &self.events[place]
    }

    /// The place of an id.
    pub(crate) fn place(&self, id: &EventId) -> Option<usize> {
        self.places.get(id).map(|place| *place as usize)
    }
}

impl Supply for Notes {
    fn events(&self) -> usize {
        self.len()
    }

    fn message(&self, place: usize) -> (EventId, &[u8]) {
        let event = self.event(place);
        (event.id, event.message())
    }
}

/// Keys for live authors.
pub(crate) fn authors(count: usize) -> Vec<Author> {
    (0..count as u64).map(|number| Author::new(SEED, number)).collect()
}
