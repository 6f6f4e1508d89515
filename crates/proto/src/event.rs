//! An event in memory.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::record::{EventRef, RecordError};

/// An immutable event whose id is the hash of its content. Cheap to clone.
///
/// It holds the [record](EventRef); the JSON that clients receive is made when the first one
/// wants it, once.
#[derive(Clone)]
pub struct Event(Arc<Inner>);

struct Inner {
    record: Box<[u8]>,
    json: OnceLock<Box<[u8]>>,
}

impl Event {
    /// Takes a record whose id was checked.
    pub(crate) fn from_checked(record: Box<[u8]>) -> Self {
        Self(Arc::new(Inner { record, json: OnceLock::new() }))
    }

    /// Copies a record out of a store that checked its id when it took it.
    pub fn from_stored(event: EventRef<'_>) -> Self {
        Self::from_checked(event.record().into())
    }

    /// Reads a record of unknown origin and checks its id.
    pub fn from_record(record: &[u8]) -> Result<Self, RecordError> {
        EventRef::new(record)?.check()?;
        Ok(Self::from_checked(record.into()))
    }

    /// The view that filters match.
    pub fn view(&self) -> EventRef<'_> {
        EventRef::new(&self.0.record).expect("an event's record is well formed")
    }

    /// The event as JSON.
    pub fn json(&self) -> &[u8] {
        self.0.json.get_or_init(|| {
            let mut json = Vec::new();
            self.view().push_json(&mut json);
            json.into_boxed_slice()
        })
    }

    /// Bytes this event occupies in memory, without its JSON.
    pub fn record_bytes(&self) -> usize {
        self.0.record.len()
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view().fmt(f)
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.0.record == other.0.record
    }
}

impl Eq for Event {}
