//! Why events were refused, on either side.

use std::collections::BTreeMap;

use crate::machine::Verdict;

/// How many events were refused, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// By the local side.
    pub here: BTreeMap<&'static str, u64>,
    /// By the upstream.
    pub there: BTreeMap<&'static str, u64>,
}

/// The words that a reason begins with (NIP-01, NIP-42). Anything else is of no known kind, so
/// that no upstream can make entries.
const WORDS: [&str; 9] = [
    "duplicate",
    "pow",
    "blocked",
    "rate-limited",
    "invalid",
    "restricted",
    "mute",
    "error",
    "auth-required",
];

impl Refusals {
    /// Counts what the local side said.
    pub(super) fn count_here(&mut self, verdict: Verdict) {
        let reason = match verdict {
            Verdict::Stored | Verdict::Duplicate | Verdict::Ephemeral => return,
            Verdict::Superseded => "superseded",
            Verdict::Deleted => "deleted",
            Verdict::Vanished => "vanished",
            Verdict::Expired => "expired",
            Verdict::Invalid => "invalid",
            Verdict::Blocked => "blocked",
            Verdict::Failed => "failed",
        };
        *self.here.entry(reason).or_default() += 1;
    }

    /// Counts what a relay said when it refused an event, by the word before the colon. `is_here`
    /// if it stands in the place of the local side.
    pub(super) fn count_said(&mut self, is_here: bool, text: &str) {
        let word = text.split(':').next().unwrap_or_default();
        let word = WORDS.into_iter().find(|known| *known == word).unwrap_or("other");
        let side = if is_here { &mut self.here } else { &mut self.there };
        *side.entry(word).or_default() += 1;
    }
}
