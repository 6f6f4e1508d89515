//! How long events are kept: the operator's rules, and what a bound on the store's size takes.
//!
//! The first rule that concerns an event decides. Of what no rule keeps for good, the oldest goes
//! while the store is too large. What goes by either is refused when it is offered again (M-04),
//! by the same decision.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use zeolite_proto::{EventRef, Filter, Kind, KindClass, PubKey, Timestamp};

use crate::kind_ranges::KindRanges;
use crate::limits::{
    BACKDATED_S_MAX, RETENTION_FILTER_AUTHORS_MAX, RETENTION_FILTER_KINDS_MAX,
    RETENTION_FLOOR_FRACTION, RETENTION_SLACK_FRACTION,
};

/// What is kept, and for how long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Rules, of which the first that concerns an event decides about it.
    pub rules: Vec<RetentionRule>,
    /// Bytes that stored events may take.
    pub bytes_max: Option<u64>,
    /// Seconds since `created_at` that events stay in the archive of what was replaced or deleted.
    pub archive_age_s_max: Option<u64>,
}

/// How long some events are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionRule {
    /// Kinds that it is about. Empty: all; but then a rule with an age leaves profiles, contact
    /// and relay lists and all else that is replaceable alone.
    pub kinds: KindRanges,
    /// Authors that it is about; empty: all.
    pub authors: BTreeSet<PubKey>,
    /// Kinds that it is not about.
    pub except_kinds: KindRanges,
    /// Authors that it is not about.
    pub except_authors: BTreeSet<PubKey>,
    /// Seconds since `created_at`; `None`: these events are kept for good, whatever the store's
    /// size.
    pub age_s_max: Option<u64>,
}

/// What retention says of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays, whatever the store's size.
    Kept,
    /// It stays as long as the store is not too large.
    Free,
    /// It is older than this rule keeps it.
    TooOld(usize),
}

impl Retention {
    /// Whether there is nothing that could ever go.
    pub fn keeps_all(&self) -> bool {
        self.bytes_max.is_none()
            && self.archive_age_s_max.is_none()
            && self.rules.iter().all(|rule| rule.age_s_max.is_none())
    }

    /// Whether an event has been in the archive for long enough.
    pub fn is_archived_too_long(&self, event: EventRef<'_>, now: Timestamp) -> bool {
        self.archive_age_s_max.is_some_and(|max| is_older(event, max, now))
    }

    /// What becomes of an event.
    ///
    /// Deletions and requests to vanish always stay: they say why other events are not here
    /// (R09-06, R62-07).
    pub fn fate(&self, event: EventRef<'_>, now: Timestamp) -> Fate {
        let (kind, author) = (event.kind(), event.pubkey());
        if is_always_kept(kind) {
            return Fate::Kept;
        }
        match self.rules.iter().position(|rule| rule.concerns(kind, &author)) {
            None if kind.class() == KindClass::Replaceable => Fate::Kept,
            None => Fate::Free,
            Some(at) => match self.rules[at].age_s_max {
                None => Fate::Kept,
                Some(age_s_max) if is_older(event, age_s_max, now) => Fate::TooOld(at),
                Some(_) => Fate::Free,
            },
        }
    }

    /// Whether an event that is offered would only be removed again (M-04). `floor` is the time up
    /// to which events went for the store's size.
    pub fn refuses(&self, event: EventRef<'_>, now: Timestamp, floor: Option<Timestamp>) -> bool {
        if (self.rules.is_empty() && floor.is_none()) || event.kind().is_ephemeral() {
            return false;
        }
        match self.fate(event, now) {
            Fate::Kept => false,
            Fate::Free => floor.is_some_and(|floor| event.created_at() <= floor),
            Fate::TooOld(_) => true,
        }
    }

    /// How many bytes have to go from a store whose events take `stored_bytes`: nothing up to the
    /// bound, above it as much as makes the next time far off.
    pub fn excess_bytes(&self, stored_bytes: u64) -> u64 {
        match self.bytes_max {
            Some(max) if stored_bytes > max => {
                stored_bytes - (max - max / RETENTION_SLACK_FRACTION)
            }
            _ => 0,
        }
    }

    /// Whether a store of this size has no use for events that went for its size once.
    pub fn upholds_floor(&self, stored_bytes: u64) -> bool {
        self.bytes_max.is_some_and(|max| stored_bytes > max - max / RETENTION_FLOOR_FRACTION)
    }
}

impl RetentionRule {
    fn concerns(&self, kind: Kind, author: &PubKey) -> bool {
        let is_of_kinds = if self.kinds.is_empty() {
            self.age_s_max.is_none() || kind.class() != KindClass::Replaceable
        } else {
            self.kinds.contains(kind)
        };
        is_of_kinds
            && !self.except_kinds.contains(kind)
            && (self.authors.is_empty() || self.authors.contains(author))
            && !self.except_authors.contains(author)
    }

    /// What finds every event that this rule may call too old, and some that it does not. `None` if
    /// it cannot call any so.
    pub fn filter(&self, now: Timestamp) -> Option<Filter> {
        let until = now.0.checked_sub(self.age_s_max?)?.checked_sub(1)?;
        let kinds = Some(&self.kinds).filter(|kinds| !kinds.is_empty());
        let is_listable = (1..=RETENTION_FILTER_AUTHORS_MAX).contains(&self.authors.len());
        Some(Filter {
            kinds: kinds.and_then(|kinds| kinds.listed(RETENTION_FILTER_KINDS_MAX)),
            authors: is_listable.then(|| self.authors.iter().copied().collect()),
            until: Some(Timestamp(until)),
            ..Filter::default()
        })
    }
}

/// What nobody may lose: what other events are barred by.
pub fn is_always_kept(kind: Kind) -> bool {
    matches!(kind, Kind::DELETION | Kind::VANISH)
}

/// Gift wraps are dated back on purpose (NIP-59), so they are given that much longer.
fn is_older(event: EventRef<'_>, age_s_max: u64, now: Timestamp) -> bool {
    let is_wrap = matches!(event.kind(), Kind::GIFT_WRAP | Kind::EPHEMERAL_GIFT_WRAP);
    let grace = if is_wrap { BACKDATED_S_MAX } else { 0 };
    event.created_at() < now.saturating_sub(age_s_max).saturating_sub(grace)
}

impl fmt::Display for RetentionRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kinds {
            kinds if kinds.is_empty() => f.write_str("all kinds")?,
            kinds => write!(f, "kinds {kinds}")?,
        }
        if !self.except_kinds.is_empty() {
            write!(f, " but {}", self.except_kinds)?;
        }
        if !self.authors.is_empty() {
            write!(f, " of {} authors", self.authors.len())?;
        }
        if !self.except_authors.is_empty() {
            write!(f, " but of {} authors", self.except_authors.len())?;
        }
        match self.age_s_max {
            Some(age_s_max) => write!(f, ": older than {age_s_max} s"),
            None => f.write_str(": kept for good"),
        }
    }
}

/// Which events go because the store is too large: the oldest, whole seconds of them, until enough
/// is freed.
#[derive(Clone, Copy, Debug)]
pub struct SizePlan {
    left_bytes: u64,
    through: Option<Timestamp>,
}

/// What becomes of the next event of a [`SizePlan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeStep {
    /// It goes.
    Goes,
    /// It stays, and an event after it may go.
    Stays,
    /// It stays, and so does everything after it.
    Enough,
}

impl SizePlan {
    /// A plan to free this much.
    pub fn new(bytes: u64) -> Self {
        Self { left_bytes: bytes, through: None }
    }

    /// Decides about the next event. They come in the order of their `created_at`, the oldest
    /// first. Those that are too old for a rule are left to it.
    pub fn step(&mut self, created_at: Timestamp, fate: Fate, bytes: u64) -> SizeStep {
        if self.left_bytes == 0 && self.through != Some(created_at) {
            return SizeStep::Enough;
        }
        if fate != Fate::Free {
            return SizeStep::Stays;
        }
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        self.through = Some(created_at);
        SizeStep::Goes
    }

    /// Bytes that are still to be freed.
    pub fn left_bytes(&self) -> u64 {
        self.left_bytes
    }
}
