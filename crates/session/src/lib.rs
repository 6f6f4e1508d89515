//! The relay's side of one connection: messages in, effects out.
//!
//! A [`Session`] knows which subscriptions its connection holds and what a client may send. It
//! opens no socket, reads no clock and asks no store: whoever drives it carries out the effects,
//! in order. [`check_event`] holds the rules for a single event, and import uses it as well.

#![forbid(unsafe_code)]

mod event_rules;
mod limits;
mod login;
mod neg_hex;
mod session;
mod subscriptions;

pub use event_rules::{Publisher, check_event};
pub use limits::SessionLimits;
pub use login::{Challenge, LoginTerms, Logins};
pub use session::{Effect, Input, Session};
pub use subscriptions::{NegKey, SubKey};
