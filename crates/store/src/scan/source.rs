//! What a scan asks of a snapshot.

use zeolite_proto::{EventId, EventRef, Kind, PubKey, Seq, TagStr, Timestamp};

use super::entry::Entry;
use crate::error::ReadError;
use crate::keys::Prefix;
use crate::snapshot::TimelinePlace;

/// What the entries of one group of an index have in common.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    /// Events by this author.
    Author(&'a PubKey),
    /// Events of this kind.
    Kind(Kind),
    /// Events of this kind by this author.
    AuthorKind(&'a PubKey, Kind),
    /// Events with this tag: letter and value.
    Tag(u8, TagStr<'a>),
}

/// Ordered walks over a store's index entries, and the events they lead to.
///
/// The entries of one group come in [answer order](Entry). An entry may lead to an event that does
/// not have the value asked for (hashes collide) or to none (it is dead), never the other way
/// round. Events stored after the scan began are not shown.
pub(crate) trait KeySource {
    /// The leading bytes of a value's group.
    fn prefix(&self, value: Value<'_>) -> Prefix;

    /// Appends up to `max` entries of a group: those after `below`, not older than `oldest`.
    /// Gives the place to go on from, `None` when the group has no more.
    fn refill(
        &self,
        prefix: &Prefix,
        below: Entry,
        oldest: Timestamp,
        max: usize,
        out: &mut Vec<Entry>,
    ) -> Result<Option<Entry>, ReadError>;

    /// The same over all events, by time. Entries equal in time are in the order of their full
    /// ids.
    fn refill_timeline(
        &self,
        below: TimelinePlace,
        oldest: Timestamp,
        max: usize,
        out: &mut Vec<Entry>,
    ) -> Result<Option<TimelinePlace>, ReadError>;

    /// Where the event with this id stands.
    fn find_id(&self, id: &EventId) -> Result<Option<Entry>, ReadError>;

    /// The event, `None` if it is dead.
    fn event(&self, seq: Seq) -> Result<Option<EventRef<'_>>, ReadError>;
}
