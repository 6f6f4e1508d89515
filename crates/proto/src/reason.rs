//! Why a relay refused, in the words that NIP-01 gives to `OK` and `CLOSED`.

use std::borrow::Cow;
use std::fmt;

/// The machine-readable word before the colon (NIP-01, NIP-42).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prefix {
    /// The event is already here, or a newer version of it is.
    Duplicate,
    /// Not enough proof of work (NIP-13).
    Pow,
    /// Refused by policy, or deleted by its author.
    Blocked,
    /// The client is too fast.
    RateLimited,
    /// The message breaks the protocol or a limit.
    Invalid,
    /// The logged-in key may not do this (NIP-42).
    Restricted,
    /// Nobody listens to this ephemeral event.
    Mute,
    /// The relay failed.
    Error,
    /// The client must log in first (NIP-42).
    AuthRequired,
    /// The relay does not know how to do this.
    Unsupported,
    /// A reconciliation timed out, is unknown, or lacks resources (NIP-77).
    Closed,
}

impl Prefix {
    /// The word as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Pow => "pow",
            Self::Blocked => "blocked",
            Self::RateLimited => "rate-limited",
            Self::Invalid => "invalid",
            Self::Restricted => "restricted",
            Self::Mute => "mute",
            Self::Error => "error",
            Self::AuthRequired => "auth-required",
            Self::Unsupported => "unsupported",
            Self::Closed => "closed",
        }
    }
}

/// A prefix and the text for humans behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What a program may act on.
    pub prefix: Prefix,
    /// What a person may read.
    pub text: Cow<'static, str>,
}

impl Reason {
    /// A reason with a text that never changes or that was made for the occasion.
    pub fn new(prefix: Prefix, text: impl Into<Cow<'static, str>>) -> Self {
        Self { prefix, text: text.into() }
    }

    /// The message breaks the protocol or a limit.
    pub fn invalid(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Prefix::Invalid, text)
    }

    /// The relay does not know how to do this.
    pub fn unsupported(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Prefix::Unsupported, text)
    }

    /// Refused by policy.
    pub fn blocked(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Prefix::Blocked, text)
    }

    /// The relay failed.
    pub fn error(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Prefix::Error, text)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.prefix.as_str(), self.text)
    }
}
