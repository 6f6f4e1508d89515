//! What a machine reports.

/// What a mirror is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Waiting for a connection.
    #[default]
    Connecting,
    /// Opening the live subscription.
    Tail,
    /// Pulling deletions and requests to vanish.
    Deletions,
    /// Comparing sets and moving what differs.
    CatchUp,
    /// Passing on what is new.
    Live,
    /// Ended.
    Finished,
}

impl Phase {
    /// The name that reports and metrics use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Tail => "tail",
            Self::Deletions => "deletions",
            Self::CatchUp => "catch-up",
            Self::Live => "live",
            Self::Finished => "finished",
        }
    }
}

/// How differences are found at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Not known yet.
    #[default]
    Unknown,
    /// NIP-77.
    Negentropy,
    /// Paged `REQ`.
    Paging,
}

/// Where a mirror stands. Counts are of the machine's whole life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What it is at.
    pub phase: Phase,
    /// How it finds differences.
    pub method: Method,
    /// What it has done.
    pub counts: Counts,
    /// Ids waiting to be fetched.
    pub need_waiting: u64,
    /// Ids waiting to be sent.
    pub have_waiting: u64,
    /// Windows not compared yet.
    pub windows_waiting: u64,
    /// The latest trouble, for people.
    pub trouble: Option<String>,
}

/// What a mirror has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that stood.
    pub connections: u64,
    /// Reconciliations that were begun.
    pub reconciliations: u64,
    /// Frames of reconciliation that came back.
    pub rounds: u64,
    /// Ids found missing here.
    pub need: u64,
    /// Ids found missing there.
    pub have: u64,
    /// Events that came down, whatever became of them.
    pub received: u64,
    /// Bytes of their records.
    pub received_bytes: u64,
    /// Events that are new here.
    pub stored: u64,
    /// Events that were here already.
    pub duplicate: u64,
    /// Ephemeral events passed on.
    pub ephemeral: u64,
    /// Events the local side refused for good, by rule: superseded, deleted, vanished, expired.
    pub outdated: u64,
    /// Events the local side's policy refused.
    pub blocked: u64,
    /// Events with a wrong signature or shape.
    pub invalid: u64,
    /// Events the local side failed on.
    pub failed: u64,
    /// Ids the upstream listed and then did not give.
    pub gone: u64,
    /// Events that were not asked for or do not match.
    pub unasked: u64,
    /// Events sent up, repetitions included.
    pub sent: u64,
    /// Events the upstream took.
    pub accepted: u64,
    /// Events the upstream had already.
    pub accepted_duplicate: u64,
    /// Events the upstream refused for good.
    pub refused: u64,
    /// Events sent up again after a refusal for the moment.
    pub resent: u64,
    /// Windows that were split.
    pub splits: u64,
    /// Pages of paged `REQ`.
    pub pages: u64,
    /// Seconds with more events than a page holds, whose rest may be missing.
    pub dense_seconds: u64,
    /// Local events that were too many to travel up live; an audit finds them.
    pub live_dropped: u64,
}

/// How a mirror ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the sets are equal, or why not.
    pub end: End,
    /// What was done.
    pub counts: Counts,
}

/// Why a mirror ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The difference is empty, or explained by what the counts say.
    Converged,
    /// The differences were counted, as asked; nothing was moved.
    DryRun,
    /// It was told to stop.
    Stopped,
    /// The catch-up ended with a difference that nothing explains.
    Incomplete(String),
    /// The upstream wants a login, for which there is no key.
    AuthRequired(String),
    /// The upstream does not let the mirror's key in, or not to what it asks for.
    LoginRefused(String),
    /// The upstream does not reconcile, and nothing else was allowed.
    NegentropyRefused(String),
    /// The upstream could not be reached or kept, time and again.
    Unreachable(String),
    /// The local side failed.
    LocalFailed(String),
}

impl End {
    /// Whether a command that asked for this should exit with success.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Converged | Self::DryRun | Self::Stopped)
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Converged => f.write_str("converged"),
            Self::DryRun => f.write_str("compared"),
            Self::Stopped => f.write_str("stopped"),
            Self::Incomplete(why) => write!(f, "incomplete: {why}"),
            Self::AuthRequired(why) => {
                write!(f, "the upstream wants a login, and there is no key: {why}")
            }
            Self::LoginRefused(why) => write!(f, "the upstream refuses the mirror's key: {why}"),
            Self::NegentropyRefused(why) => write!(f, "the upstream does not reconcile: {why}"),
            Self::Unreachable(why) => write!(f, "the upstream cannot be reached: {why}"),
            Self::LocalFailed(why) => write!(f, "the local side failed: {why}"),
        }
    }
}
