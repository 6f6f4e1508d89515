//! Composes the events of a corpus one after the other, without their signatures.

use std::collections::HashMap;
use std::sync::Arc;

use zeolite_proto::{EventId, Kind, Timestamp};

use crate::corpus::batch::Batch;
use crate::corpus::body::{Body, Head};
use crate::corpus::rng::{Purpose, Rng};
use crate::corpus::signer::Author;

/// Composed events with zeros for signatures, and for each the number of the key that signs it.
#[derive(Default)]
pub(crate) struct Unsigned {
    pub(crate) batch: Batch,
    pub(crate) keys: Vec<u32>,
}

/// What a story says of an event besides its tags and its content.
#[derive(Clone, Debug)]
pub(crate) struct Composed {
    /// The number of the key that signs.
    pub(crate) key: u32,
    pub(crate) kind: Kind,
    /// The value of the `d` tag, empty without one.
    pub(crate) d: String,
}

impl Composed {
    pub(crate) fn new(key: u32, kind: Kind) -> Self {
        Self { key, kind, d: String::new() }
    }
}

/// An event that is known before its turn.
#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    pub(crate) id: EventId,
    pub(crate) composed: Composed,
}

/// What a corpus tells: one event for each number, in the order of time.
pub(crate) trait Story {
    /// How many events.
    fn events(&self) -> u32;

    /// When an event is made; never earlier than the one before.
    fn created_at(&self, number: u32) -> Timestamp;

    /// The later event that this one speaks of.
    fn ahead(&self, number: u32) -> Option<u32>;

    /// Writes tags and content into the empty body.
    fn compose(
        &mut self,
        number: u32,
        ahead: Option<&Ahead>,
        rng: &mut Rng,
        body: &mut Body,
    ) -> Composed;

    /// An event has taken its place: later ones may refer to it.
    fn remember(&mut self, number: u32, composed: &Composed, id: EventId);
}

struct Pending {
    id: EventId,
    head: Head,
    composed: Composed,
    message: Vec<u8>,
}

/// Composes the batches of a story in corpus order.
pub(crate) struct Composer<S> {
    story: S,
    seed: u64,
    keys: Arc<[Author]>,
    next: u32,
    body: Body,
    /// Events that were composed before their turn.
    early: HashMap<u32, Pending>,
}

impl<S: Story> Composer<S> {
    pub(crate) fn new(story: S, seed: u64, keys: Arc<[Author]>) -> Self {
        Self { story, seed, keys, next: 0, body: Body::default(), early: HashMap::new() }
    }

    /// All events of the next second, in the order of their ids.
    fn second(&mut self) -> Vec<Pending> {
        let time = self.story.created_at(self.next);
        let mut second: Vec<Pending> = Vec::new();
        while self.next < self.story.events() && self.story.created_at(self.next) == time {
            let number = self.next;
            let mut pending = match self.early.remove(&number) {
                Some(pending) => pending,
                None => self.compose(number, 0),
            };
            // Two equal reactions of one author in one second would be one event.
            let mut attempt = 0;
            while second.iter().any(|other| other.id == pending.id) {
                attempt += 1;
                pending = self.compose(number, attempt);
            }
            self.story.remember(number, &pending.composed, pending.id);
            second.push(pending);
            self.next += 1;
        }
        second.sort_unstable_by_key(|pending| pending.id);
        second
    }

    fn compose(&mut self, number: u32, attempt: u64) -> Pending {
        let ahead = self.story.ahead(number).map(|later| self.compose_early(later));
        let mut rng = Rng::new(self.seed, Purpose::Event, u64::from(number) | attempt << 32);
        self.body.clear();
        let composed = self.story.compose(number, ahead.as_ref(), &mut rng, &mut self.body);
        if attempt > 0 {
            // Not everything that is drawn again comes out another way.
            self.body.tag("nonce", attempt.to_string().as_bytes());
        }
        let head = Head {
            pubkey: self.keys[composed.key as usize].pubkey(),
            created_at: self.story.created_at(number),
            kind: composed.kind,
        };
        let mut message = Vec::new();
        let id = self.body.push_message(&head, &mut message);
        Pending { id, head, composed, message }
    }

    fn compose_early(&mut self, later: u32) -> Ahead {
        if !self.early.contains_key(&later) {
            let pending = self.compose(later, 0);
            self.early.insert(later, pending);
        }
        let pending = &self.early[&later];
        Ahead { id: pending.id, composed: pending.composed.clone() }
    }
}

impl<S: Story> Iterator for Composer<S> {
    type Item = Unsigned;

    fn next(&mut self) -> Option<Unsigned> {
        let mut unsigned = Unsigned::default();
        while self.next < self.story.events() && !unsigned.batch.is_full() {
            for Pending { id, head, composed, message } in self.second() {
                unsigned.batch.push_message((id, head), &message);
                unsigned.keys.push(composed.key);
            }
        }
        (!unsigned.batch.is_empty()).then_some(unsigned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells the same again and again, four times a second.
    struct Parrot;

    impl Story for Parrot {
        fn events(&self) -> u32 {
            9
        }

        fn created_at(&self, number: u32) -> Timestamp {
            Timestamp(u64::from(number / 4))
        }

        /// The third event speaks of the sixth.
        fn ahead(&self, number: u32) -> Option<u32> {
            (number == 2).then_some(5)
        }

        fn compose(
            &mut self,
            _: u32,
            ahead: Option<&Ahead>,
            _: &mut Rng,
            body: &mut Body,
        ) -> Composed {
            if let Some(ahead) = ahead {
                body.hex_tag("e", &ahead.id.0);
            }
            Composed::new(0, Kind::TEXT_NOTE)
        }

        fn remember(&mut self, _: u32, _: &Composed, _: EventId) {}
    }

    /// No two events are one, they are in order, and what was named ahead is there.
    #[test]
    fn repetitions_become_different_events() {
        let keys = vec![Author::new(1, 0)].into();
        let batches: Vec<_> = Composer::new(Parrot, 1, keys).collect();
        let events: Vec<_> = batches.iter().flat_map(|unsigned| unsigned.batch.iter()).collect();
        let places: Vec<_> = events.iter().map(|event| (event.created_at, event.id)).collect();
        assert_eq!(places.len(), 9);
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{places:?}");
        let names = |event: &str| -> usize {
            events.iter().filter(|e| String::from_utf8_lossy(e.json()).contains(event)).count()
        };
        // Each in its own id, and the sixth in the tag of the third as well.
        let second: Vec<_> = places[4..8].iter().map(|(_, id)| names(&id.to_string())).collect();
        assert_eq!(second.iter().sum::<usize>(), 5, "{second:?}");
    }
}
