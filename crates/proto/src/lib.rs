//! What the bytes on the wire mean: events, filters and messages of the Nostr protocol.
//!
//! This crate is pure: it opens no socket, no file and no clock. It holds the one parser from JSON
//! to [`Event`], the one matcher from [`Filter`] to event, and the one place where reasons become
//! text.
//!
//! The road of an event: [`EventParser`] turns JSON into an [`Event`], whose [record](EventRef) is
//! the same compact binary form that a store keeps. A filter matches the record, never JSON.
//! [`Verified`] marks events whose signature was checked.

#![forbid(unsafe_code)]

mod blame;
mod canonical;
mod client_msg;
mod event;
mod filter;
mod filter_json;
mod filter_parse;
mod from_relay;
mod hll;
mod ids;
mod kind;
pub mod limits;
mod matcher;
mod numbers;
mod parse;
mod reason;
mod record;
mod relay_msg;
mod relay_url;
mod verified;
mod visibility;

pub use blame::Blame;
pub use client_msg::{ClientMsg, MsgError};
pub use event::Event;
pub use filter::{Filter, TagFilter, TagValue, Written};
pub use filter_parse::FilterError;
pub use from_relay::{FromRelay, FromRelayError};
pub use hll::{Hll, HllOffset};
pub use ids::{EventId, HexError, PubKey, Signature, SubId, SubIdError};
pub use kind::{Kind, KindClass};
pub use matcher::Matcher;
pub use numbers::{Seq, Timestamp};
pub use parse::{EventError, EventParser};
pub use reason::{Prefix, Reason};
pub use record::{Address, EventRef, RecordError, TagRef, TagStr};
pub use relay_msg::{EoseHint, RelayMsg};
pub use relay_url::normalise_relay_url;
pub use verified::{SignatureCheck, Verified};
pub use visibility::{Gates, Reach, Reader};
