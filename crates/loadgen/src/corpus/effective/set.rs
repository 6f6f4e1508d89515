//! The effective set, and how what a relay holds differs from it.

use std::collections::BTreeMap;

use zeolite_proto::{EventId, Timestamp};

use crate::corpus::effective::fate::Fate;
use crate::corpus::fingerprint::Fingerprint;

/// What a relay must hold, and what becomes of every other event of the corpus.
#[derive(Clone, Debug)]
pub struct EffectiveSet {
    /// In order.
    pub(super) held: Vec<(Timestamp, EventId)>,
    /// In the order of ids.
    pub(super) fates: Vec<(EventId, Fate)>,
}

impl EffectiveSet {
    /// How many events are held.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The held events in `(created_at, id)` order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Timestamp, EventId)> {
        self.held.iter().copied()
    }

    /// Over the ids of the held events in `(created_at, id)` order.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.held.iter().map(|(_, id)| id))
    }

    /// What becomes of an event; `None` if the corpus has no such event.
    pub fn fate(&self, id: &EventId) -> Option<Fate> {
        let at = self.fates.binary_search_by_key(id, |(id, _)| *id).ok()?;
        Some(self.fates[at].1)
    }

    /// How many events have which fate.
    pub fn fates(&self) -> BTreeMap<Fate, u64> {
        let mut counts = BTreeMap::new();
        for (_, fate) in &self.fates {
            *counts.entry(*fate).or_default() += 1;
        }
        counts
    }

    /// Compares with the ids that a relay was found to hold, in any order. Events whose fate is
    /// among `tolerated` may be there or not. Whoever tolerates [`Fate::SupersededInTie`] tolerates
    /// also that the winner of the tie is missing.
    pub fn compare(
        &self,
        found: impl IntoIterator<Item = EventId>,
        tolerated: &[Fate],
    ) -> Comparison {
        let mut seen = vec![false; self.fates.len()];
        let mut comparison = Comparison::default();
        for id in found {
            let Ok(at) = self.fates.binary_search_by_key(&id, |(id, _)| *id) else {
                comparison.extra.push((id, None));
                continue;
            };
            let fate = self.fates[at].1;
            if std::mem::replace(&mut seen[at], true) {
                comparison.repeated.push(id);
            } else if fate.is_held() {
                comparison.held += 1;
            } else if tolerated.contains(&fate) {
                *comparison.tolerated.entry(fate).or_default() += 1;
            } else {
                comparison.extra.push((id, Some(fate)));
            }
        }
        for ((id, fate), _) in self.fates.iter().zip(seen).filter(|(_, seen)| !seen) {
            match fate {
                Fate::HeldInTie if tolerated.contains(&Fate::SupersededInTie) => {
                    *comparison.tolerated.entry(*fate).or_default() += 1;
                }
                fate if fate.is_held() => comparison.missing.push(*id),
                _ => {}
            }
        }
        comparison
    }
}

/// How a relay's holdings differ from the effective set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Events of the set that were found.
    pub held: u64,
    /// Events of the set that were not found.
    pub missing: Vec<EventId>,
    /// Found, and not in the set, with the fate they should have had; `None` for foreign events.
    pub extra: Vec<(EventId, Option<Fate>)>,
    /// Found more than once.
    pub repeated: Vec<EventId>,
    /// Differences that were tolerated.
    pub tolerated: BTreeMap<Fate, u64>,
}

impl Comparison {
    /// Whether the relay holds what it must and nothing that it must not.
    pub fn is_converged(&self) -> bool {
        self.missing.is_empty() && self.extra.is_empty() && self.repeated.is_empty()
    }
}
