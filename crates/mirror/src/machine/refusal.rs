//! What an upstream means when it refuses.

/// The kinds of refusal that are answered in different ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The answer would be too large: a smaller question may be answered.
    TooLarge,
    /// Not at this moment: the same question may be answered later.
    Busy,
    /// A login is wanted.
    Auth,
    /// The session ended for want of time or room, although its question was answered so far.
    Ended,
    /// No, whatever is asked.
    Final,
}

/// Words that say a result was too large, in relays seen in the wild.
const SIZE_WORDS: [&str; 12] = [
    "too many query results",
    "too many results",
    "too many records",
    "too many events",
    "too many items",
    "too many elements",
    "too many matching",
    "too large",
    "too big",
    "too broad",
    "result set",
    "query results",
];

/// Words that ask for patience. They are looked for after those of size.
const BUSY_WORDS: [&str; 17] = [
    "rate-limit",
    "rate limit",
    "ratelimit",
    "too many requests",
    "too many concurrent",
    "too many open",
    "too many subscriptions",
    "too many sessions",
    "too many connections",
    "open subscriptions",
    "subscription limit",
    "max subscriptions",
    "too fast",
    "slow down",
    "try again",
    "busy",
    "overloaded",
];

/// Words in a `NOTICE` that can only mean that the `NEG-OPEN` before it was not understood.
const IGNORANT_WORDS: [&str; 15] = [
    "neg-",
    "negentropy",
    "nip-77",
    "nip77",
    "unknown",
    "unrecogni",
    "unsupported",
    "not supported",
    "not implemented",
    "invalid",
    "bad msg",
    "bad message",
    "could not parse",
    "message type",
    "command",
];

impl Refusal {
    /// Reads the text of a `NEG-ERR`, `CLOSED` or `OK false`, and the cap that stands behind a
    /// `NEG-ERR`'s text. A word such as "blocked" says nothing: relays use it for "too many" and for
    /// "switched off" alike (case 13).
    pub(super) fn read(text: &str, cap: Option<u64>) -> Self {
        let text = text.to_ascii_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if text.starts_with("auth-required") || text.starts_with("restricted") {
            Self::Auth
        } else if cap.is_some_and(|cap| cap > 0) || has(&SIZE_WORDS) {
            Self::TooLarge
        } else if has(&BUSY_WORDS) {
            Self::Busy
        } else if text.starts_with("closed") && !text.contains("neg") {
            Self::Ended
        } else {
            Self::Final
        }
    }

    /// Reads a `NOTICE` that came while a `NEG-OPEN` waits for its first answer; `None` if it has
    /// nothing to do with it (case 16).
    pub(super) fn read_notice(text: &str) -> Option<Self> {
        match Self::read(text, None) {
            Self::Final | Self::Ended => {
                let text = text.to_ascii_lowercase();
                let is_ignorant = IGNORANT_WORDS.iter().any(|word| text.contains(word));
                is_ignorant.then_some(Self::Final)
            }
            other => Some(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases 13, 15, 16, R77-05: only size splits; everything else has its own reaction.
    #[test]
    fn refusals_are_told_apart() {
        use Refusal::{Auth, Busy, Ended, Final, TooLarge};
        for (text, cap, expected) in [
            ("blocked: too many query results", None, TooLarge),
            ("blocked: too many query results", Some(1_000_000), TooLarge),
            ("blocked: no", Some(1000), TooLarge),
            ("blocked: no", Some(0), Final),
            ("error: Result set larger than allowed", None, TooLarge),
            ("blocked: this filter is too broad", None, TooLarge),
            ("blocked: sync is off", None, Final),
            ("blocked: reconciliation is disabled here", None, Final),
            ("too many requests", None, Busy),
            ("rate-limited: slow down", None, Busy),
            ("error: too many concurrent NEG requests", None, Busy),
            ("blocked: too many open sessions", None, Busy),
            ("blocked: more than 20 open subscriptions", None, Busy),
            ("auth-required: log in first", None, Auth),
            ("restricted: members only", None, Auth),
            ("closed: timed out", None, Ended),
            ("closed: unknown subscription handle", None, Ended),
            ("PROTOCOL-ERROR", None, Final),
            ("invalid: limit 0", None, Final),
            ("", None, Final),
        ] {
            assert_eq!(Refusal::read(text, cap), expected, "{text:?} {cap:?}");
        }
    }

    /// Case 16: a notice counts when it speaks of this.
    #[test]
    fn notices_are_told_apart() {
        for (text, expected) in [
            ("ERROR: bad msg: negentropy disabled", Some(Refusal::Final)),
            ("unknown message type NEG-OPEN", Some(Refusal::Final)),
            ("Unrecognized command", Some(Refusal::Final)),
            ("invalid: could not parse your message", Some(Refusal::Final)),
            ("too many requests", Some(Refusal::Busy)),
            ("ERROR: too many query results", Some(Refusal::TooLarge)),
            ("auth-required: nothing without login", Some(Refusal::Auth)),
            ("welcome to this relay", None),
            ("maintenance at noon", None),
        ] {
            assert_eq!(Refusal::read_notice(text), expected, "{text:?}");
        }
    }
}
