//! Policies as programs: a child process that is asked about each event, by the line protocol that
//! strfry's write policies speak.
//!
//! ```text
//! to the child    {"type":"new","event":{..},"receivedAt":..,"sourceType":"IP4","sourceInfo":".."}
//! from the child  {"id":"..","action":"accept" | "reject" | "shadowReject","msg":".."}
//! ```
//!
//! [`PluginDesk`] decides when to ask, what an answer means and what happens without one. It has
//! neither process nor clock: whoever drives it carries out its [`PluginEffect`]s.

mod answer;
mod desk;
mod question;

pub use desk::{FailMode, PluginDesk, PluginEffect, PluginFault, PluginSettings, Ruling};
pub use question::{PluginSource, push_question};
