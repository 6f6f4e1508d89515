//! Events on their way into the local side.

use std::collections::{HashMap, VecDeque};

use zeolite_proto::{Event, EventId};

use super::effect::Effect;

/// Why an event came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is part of a difference: the catch-up waits for its verdict.
    Wanted,
    /// It is part of a page, and may be here already: the catch-up waits for its verdict.
    Paged,
    /// It is new at the upstream.
    Live,
}

/// Events that the local side has not answered. Bounded by whoever asks for events; what comes
/// unbidden is bounded by leaving the socket unread.
#[derive(Debug, Default)]
pub(super) struct Sink {
    pending: Vec<Event>,
    unanswered: HashMap<EventId, (Origin, usize)>,
    bytes: usize,
    catch_up: usize,
}

impl Sink {
    /// Takes an event, once until its verdict comes.
    pub(super) fn offer(&mut self, event: Event, origin: Origin) {
        let (id, bytes) = (event.view().id(), event.record_bytes());
        if self.claim(&id, origin) {
            return;
        }
        self.unanswered.insert(id, (origin, bytes));
        self.bytes += bytes;
        self.catch_up += usize::from(origin != Origin::Live);
        self.pending.push(event);
    }

    /// Whether the event is on its way already. The catch-up may wait for it from now on.
    pub(super) fn claim(&mut self, id: &EventId, origin: Origin) -> bool {
        let Some((known, _)) = self.unanswered.get_mut(id) else { return false };
        if origin != Origin::Live && *known == Origin::Live {
            *known = origin;
            self.catch_up += 1;
        }
        true
    }

    /// Whether the event is on its way.
    pub(super) fn holds(&self, id: &EventId) -> bool {
        self.unanswered.contains_key(id)
    }

    /// Takes the verdict's id off. `None` for an id that was not asked about.
    pub(super) fn answer(&mut self, id: &EventId) -> Option<Origin> {
        let (origin, bytes) = self.unanswered.remove(id)?;
        self.bytes -= bytes;
        self.catch_up -= usize::from(origin != Origin::Live);
        Some(origin)
    }

    /// Hands over what has gathered.
    pub(super) fn flush(&mut self, trusted: bool, effects: &mut VecDeque<Effect>) {
        if !self.pending.is_empty() {
            let events = std::mem::take(&mut self.pending);
            effects.push_back(Effect::Ingest { events, trusted });
        }
    }

    /// Events without a verdict.
    pub(super) fn events(&self) -> usize {
        self.unanswered.len()
    }

    /// Bytes of their records.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Events without a verdict that the catch-up waits for.
    pub(super) fn catch_up_events(&self) -> usize {
        self.catch_up
    }

    /// Forgets everything: the local side will not answer.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
