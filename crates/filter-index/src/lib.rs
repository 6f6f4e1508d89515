//! Which of many standing filters want this event?
//!
//! A [`FilterIndex`] holds subscribers with their filters and finds, for an event, the few that
//! want it. What a lookup costs depends on how many subscribers the event's own fields point at,
//! not on how many there are; what an insert or a removal costs depends on the subscriber's own
//! values.
//!
//! ```text
//! filter --choose one dimension--> keys --hash--> list of subscribers under that key
//! event  --its own keys----------> hash -----------^   every hit is re-checked with the matcher
//! ```
//!
//! Each filter is filed under one dimension, the most selective that it has: its ids, else its
//! author and kind pairs, else its authors, else one of its tag letters, else its kinds, else the
//! pool of those that name none of these. An event that satisfies the filter carries one of the
//! keys in that dimension, so filing *all* values of that one list is enough, and a filter needs no
//! entry anywhere else.
//!
//! The index is generic over the subscriber and over whatever shows an event's fields
//! ([`EventFields`]), so that relays, client caches and projections can share it.

#![forbid(unsafe_code)]

mod fields;
mod filing;
mod index;
mod key;
mod limits;
mod postings;
mod slots;

pub use fields::EventFields;
pub use index::{FilterIndex, Handle};
