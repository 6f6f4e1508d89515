//! Raw messages over a real socket, as data: bad input of every kind, and short histories between
//! clients. The rules themselves are tested where they live; here the wiring is.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod bad_input;
mod client;
mod histories;
mod oracle;
