//! The walks of a scan over a store's snapshot.
use zeolite_proto::{EventId, EventRef, Seq, Timestamp};
use super::entry::Entry;
use super::source::{KeySource, TimePoint, Value};
use crate::Snapshot;
use crate::error::ReadError;
use crate::keys::Prefix;
impl KeySource for Snapshot<'_> {
    fn prefix(&self, _: Value<'_>) -> Prefix { unimplemented!() }
    fn refill(&self, _: &Prefix, _: Entry, _: Timestamp, _: usize, _: &mut Vec<Entry>) -> Result<Option<Entry>, ReadError> { unimplemented!() }
    fn refill_timeline(&self, _: TimePoint, _: Timestamp, _: usize, _: &mut Vec<Entry>) -> Result<Option<TimePoint>, ReadError> { unimplemented!() }
    fn find_id(&self, _: &EventId) -> Result<Option<Entry>, ReadError> { unimplemented!() }
    fn event(&self, _: Seq) -> Result<Option<EventRef<'_>>, ReadError> { unimplemented!() }
}
