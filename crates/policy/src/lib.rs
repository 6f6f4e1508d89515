//! Who may write what: the operator's rules, moderation over HTTP (NIP-86), and what one client may
//! spend.
//!
//! ```text
//! configuration -> Rules      --+
//!                               +--> Policy::judge(event) -> taken, or a reason for its OK
//! NIP-86        -> Moderation --+
//! ```
//!
//! Everything here is a decision over its arguments: no sockets, no files, no clock. The same
//! [`Policy`] judges events from sockets, from mirrored relays and, if asked, from files.

#![forbid(unsafe_code)]

mod budget;
mod http_auth;
mod kind_ranges;
mod limits;
mod management;
mod moderation;
mod network;
mod plugin;
mod query_cost;
mod retention;
mod role_notices;
mod roles;
mod rules;
mod work;

pub use budget::Budget;
pub use http_auth::{HttpAuthFault, HttpRequest, read_http_auth};
pub use kind_ranges::{KindRange, KindRangeError, KindRanges};
pub use management::{Change, Command, CommandError, METHODS, Refusal};
pub use moderation::{Moderation, Noted};
pub use network::{Network, NetworkError, client_group};
pub use plugin::{
    FailMode, PluginDesk, PluginEffect, PluginFault, PluginSettings, PluginSource, Ruling,
    push_question,
};
pub use query_cost::{RECONCILE_COST, count_cost, query_cost};
pub use retention::{Fate, Retention, RetentionRule, SizePlan, SizeStep, is_always_kept};
pub use role_notices::{Notice, PublishedRoles, Tags, Topic};
pub use roles::{Role, RoleFault, Roles};
pub use rules::{KindRule, Policy, Rules};
pub use work::{difficulty, promised_difficulty};
