//! What the index asks of an event.

use zeolite_proto::{EventId, EventRef, Filter, Kind, Matcher, PubKey, TagStr};

/// An event, as far as the index needs to see it.
pub trait EventFields {
    /// The event id.
    fn id(&self) -> EventId;

    /// The author.
    fn author(&self) -> PubKey;

    /// The kind.
    fn kind(&self) -> Kind;

    /// Calls `visit` with the letter and the value of every tag that filters can find (NIP-01:
    /// one-letter name, value at position 1), doubles included.
    fn for_each_letter_tag(&self, visit: impl FnMut(u8, TagStr<'_>));

    /// Says of each filter whether the event satisfies all of it, `limit` aside.
    ///
    /// It may only say yes if the event carries one of the values of every list in the filter:
    /// what the index does not find by those values it never asks about. Called once for an event
    /// that is asked about many filters.
    fn matcher(&self) -> impl Fn(&Filter) -> bool;
}

impl EventFields for EventRef<'_> {
    fn id(&self) -> EventId {
        EventRef::id(*self)
    }

    fn author(&self) -> PubKey {
        EventRef::pubkey(*self)
    }

    fn kind(&self) -> Kind {
        EventRef::kind(*self)
    }

    fn for_each_letter_tag(&self, mut visit: impl FnMut(u8, TagStr<'_>)) {
        self.letter_tags().for_each(|(letter, value)| visit(letter, value));
    }

    fn matcher(&self) -> impl Fn(&Filter) -> bool {
        let matcher = Matcher::new(*self);
        move |filter| matcher.satisfies(filter)
    }
}
