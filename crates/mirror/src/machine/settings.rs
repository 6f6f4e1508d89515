//! What an operator decides about one mirror.

use std::time::Duration;

use zeolite_proto::Filter;

use super::limits::Limits;

/// Which way events travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the upstream to the local side.
    Down,
    /// From the local side to the upstream.
    Up,
    /// Both ways.
    Both,
}

impl Direction {
    /// Whether events come down.
    pub fn is_down(self) -> bool {
        self != Self::Up
    }

    /// Whether events go up.
    pub fn is_up(self) -> bool {
        self != Self::Down
    }
}

/// How differences are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By NIP-77, and by paged `REQ` where the upstream does not speak it.
    Auto,
    /// By NIP-77 or not at all.
    Negentropy,
    /// By paged `REQ`.
    Req,
}

/// What one mirror does.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which way events travel.
    pub direction: Direction,
    /// What is mirrored. Every event is checked against it; `limit` has no meaning here and is
    /// left aside.
    pub filter: Filter,
    /// How differences are found.
    pub mode: Mode,
    /// End after the first complete catch-up instead of staying live.
    pub once: bool,
    /// Find the differences and count them; move nothing. Implies `once`.
    pub dry_run: bool,
    /// Take this connection's events without checking signatures.
    pub trusted: bool,
    /// Pull requests to vanish (kind 62) of the authors in scope although the filter's kinds leave
    /// them out.
    pub vanish: bool,
    /// There is a key to log in with, where the upstream wants that (NIP-42).
    pub has_key: bool,
    /// How long a live mirror waits before it compares the sets again.
    pub audit_every: Duration,
    /// Seeds the jitter of reconnects, so that many mirrors do not come back at once.
    pub seed: u64,
    /// Bounds of everything the machine keeps.
    pub limits: Limits,
}

impl Default for Settings {
    /// Everything, down, by whatever the upstream speaks, for ever.
    fn default() -> Self {
        Self {
            direction: Direction::Down,
            filter: Filter::default(),
            mode: Mode::Auto,
            once: false,
            dry_run: false,
            trusted: false,
            vanish: false,
            has_key: false,
            audit_every: Duration::from_secs(3600),
            seed: 0,
            limits: Limits::default(),
        }
    }
}
