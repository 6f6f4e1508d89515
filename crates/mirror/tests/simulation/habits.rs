//! How an upstream behaves, and misbehaves.

use std::collections::HashSet;

use zeolite_proto::EventId;

/// What an upstream makes of NIP-77.
#[derive(Clone, Debug)]
pub(crate) enum Negentropy {
    /// It reconciles sets of at most `cap` events, with frames of so many bytes at most.
    Serves { cap: usize, states_cap: bool, frame_bytes_max: u64 },
    /// It answers each `NEG-OPEN` with this text, in which `SUB` stands for its id.
    Says(String),
    /// It does not answer.
    Silent,
    /// It closes the connection.
    Drops,
}

impl Negentropy {
    pub(crate) const ABLE: Self =
        Self::Serves { cap: usize::MAX, states_cap: false, frame_bytes_max: 0 };
}

/// How an upstream behaves. Chances are "one in so many"; 0 is never.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    pub negentropy: Negentropy,
    /// More results than this are cut, silently.
    pub limit_max: u64,
    /// What NIP-11 says of it, right or wrong.
    pub stated_limit: Option<u64>,
    pub takes_limit_zero: bool,
    /// It ends subscriptions with a limit below 2 as soon as they are answered.
    pub ends_limited: bool,
    pub gives_hints: bool,
    /// Listed, and never served.
    pub hidden: HashSet<EventId>,
    /// Refused for good when sent up.
    pub unwelcome: HashSet<EventId>,
    /// Taken with `OK true` when sent up, and never seen again.
    pub(crate) swallowed: HashSet<EventId>,
    /// An `OK false` for the moment.
    pub is_too_fast: u32,
    /// An event that nobody asked for.
    pub lies: u32,
    /// `EOSE` before the events.
    pub ends_early: u32,
    /// The connection is lost at a message.
    pub drops: u32,
    /// A `REQ` is refused for the moment.
    pub is_busy: u32,
    /// A message to it is lost, and so is its answer.
    pub ignores: u32,
    /// It serves only who has logged in, and asks when it turns the first away.
    pub wants_login: bool,
    /// Shown only to who has logged in; it asks who reads first.
    pub members_only: HashSet<EventId>,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            negentropy: Negentropy::ABLE,
            limit_max: u64::MAX,
            stated_limit: None,
            takes_limit_zero: true,
            ends_limited: false,
            gives_hints: false,
            hidden: HashSet::new(),
            unwelcome: HashSet::new(),
            swallowed: HashSet::new(),
            is_too_fast: 0,
            lies: 0,
            ends_early: 0,
            drops: 0,
            is_busy: 0,
            ignores: 0,
            wants_login: false,
            members_only: HashSet::new(),
        }
    }
}

impl Habits {
    /// The same upstream on a good day: what it cannot do it still cannot.
    pub(crate) fn healed(&self) -> Self {
        let lasting = self.clone();
        Self { is_too_fast: 0, lies: 0, ends_early: 0, drops: 0, is_busy: 0, ignores: 0, ..lasting }
    }
}
