//! What a deletion request names (NIP-09).

use zeolite_proto::{Address, EventId, EventRef, PubKey, TagStr};

use crate::admission::can_be_deleted;
use crate::vanish::is_wrap_for;

/// A target of a deletion request.
pub(crate) enum Target {
    /// One event.
    Event(EventId),
    /// Every version of an address up to the time of the request.
    Address(Address),
}

/// The targets a deletion request names. Tags that name nothing are skipped (R09-12), and so are
/// addresses of other authors, which nobody else can delete (case 2).
pub(crate) fn targets(request: EventRef<'_>) -> impl Iterator<Item = Target> {
    let deleter = request.pubkey();
    request.letter_tags().filter_map(move |(letter, value)| match (letter, value) {
        (b'e', TagStr::Hex(id)) => Some(Target::Event(EventId(*id))),
        (b'a', value) => {
            Address::parse(value).filter(|address| address.author == deleter).map(Target::Address)
        }
        _ => None,
    })
}

/// Whether `deleter` may delete this event: its author, or the recipient of a gift wrap (R09-16).
pub(crate) fn may_delete(deleter: &PubKey, event: EventRef<'_>) -> bool {
    can_be_deleted(event.kind()) && (event.pubkey() == *deleter || is_wrap_for(event, deleter))
}
