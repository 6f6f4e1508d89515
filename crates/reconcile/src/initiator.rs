//! The initiator: starts, takes each answer, and learns what each side lacks.

use std::collections::HashSet;

use zeolite_proto::EventId;

use crate::bound::Bound;
use crate::limits::{FrameLimit, ROUNDS_FREE, ROUNDS_MAX};
use crate::ranges::{Body, MessageError, Ranges};
use crate::set::{Edge, Set};
use crate::turn::{Room, Turn};

/// The side that asks. It keeps no set: the same one, or a later state of it, is lent to each step.
#[derive(Clone, Debug)]
pub struct Initiator {
    frame: FrameLimit,
    rounds: u64,
    /// Ids that were listed by either side: what rounds are for.
    listed: u64,
}

/// What one answer told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The next message; `None` when all is said.
    pub next: Option<Vec<u8>>,
    /// Ids of our set that the peer lacks, in the order of the set. Each once in a step; with
    /// limited frames on either side one may come again in a later step (N-14).
    pub have: Vec<EventId>,
    /// Ids that the peer has and our set lacks, in the order in which they were listed. Each once
    /// in a step.
    pub need: Vec<EventId>,
}

/// Why a session ends before all is said.
#[derive(Debug, thiserror::Error)]
pub enum StepError<E> {
    /// The answer is malformed, or of another version of the protocol.
    #[error("{0}")]
    Message(#[from] MessageError),
    /// The set could not be read.
    #[error("cannot read the set: {0}")]
    Set(E),
    /// The peer keeps the session going without telling anything.
    #[error("no end after {0} rounds")]
    Endless(u64),
}

impl Initiator {
    /// An initiator whose messages have at most the bytes that `frame` allows.
    pub fn new(frame: FrameLimit) -> Self {
        Self { frame, rounds: 0, listed: 0 }
    }

    /// The first message: the fingerprints of the whole set's parts, or its ids if they are few.
    pub fn start<S: Set>(&mut self, set: &S) -> Result<Vec<u8>, S::Error> {
        let mut turn = Turn::new(set, self.frame);
        let end = set.seek(&Edge::START, &Bound::INFINITY)?;
        turn.split(&Edge::START, &end)?;
        Ok(turn.finish())
    }

    /// Answers taken so far.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Takes the peer's answer. A malformed one tells nothing at all.
    ///
    /// Rounds are bounded: beyond the first 64 there may be one for each id that either side has
    /// listed, and 100,000 in all.
    pub fn step<S: Set>(&mut self, set: &S, answer: &[u8]) -> Result<Step, StepError<S::Error>> {
        let ranges = Ranges::new(answer)?;
        self.rounds += 1;
        let mut turn = Turn::new(set, self.frame);
        let mut found = Found::default();
        let mut lower = Edge::START;
        for range in ranges {
            let upper = set.seek(&lower, &range.bound).map_err(StepError::Set)?;
            let room = match range.body {
                Body::Fingerprint(theirs) if theirs != lower.fingerprint_to(&upper) => {
                    turn.split(&lower, &upper).map_err(StepError::Set)?
                }
                Body::Ids(ids) => {
                    self.listed += ids.len() as u64 + lower.count_to(&upper) as u64;
                    found.compare(set, &lower, &upper, ids).map_err(StepError::Set)?;
                    turn.skip(&range.bound);
                    Room::Left
                }
                Body::Skip | Body::Fingerprint(_) => {
                    turn.skip(&range.bound);
                    Room::Left
                }
            };
            if room == Room::Full {
                break;
            }
            lower = upper;
        }
        self.conclude(turn.finish(), found)
    }

    fn conclude<E>(&self, next: Vec<u8>, found: Found) -> Result<Step, StepError<E>> {
        let next = (next.len() > 1).then_some(next);
        if next.is_some() && self.rounds >= ROUNDS_MAX.min(ROUNDS_FREE + self.listed) {
            return Err(StepError::Endless(self.rounds));
        }
        Ok(Step { next, have: found.have, need: found.need })
    }
}

/// The differences that one answer lists.
#[derive(Default)]
struct Found {
    have: Vec<EventId>,
    need: Vec<EventId>,
    /// `need` again, as a peer may list an id in several ranges.
    needed: HashSet<[u8; 32]>,
}

impl Found {
    fn compare<S: Set>(
        &mut self,
        set: &S,
        lower: &Edge,
        upper: &Edge,
        theirs: &[[u8; 32]],
    ) -> Result<(), S::Error> {
        let count = lower.count_to(upper);
        if count == 0 {
            self.needed.reserve(theirs.len());
            self.need.reserve(theirs.len());
            theirs.iter().for_each(|id| self.needs(id));
            return Ok(());
        }
        let id_at = |place: &usize| &theirs[*place];
        let mut sorted: Vec<usize> = (0..theirs.len()).collect();
        sorted.sort_unstable_by_key(|place| id_at(place));
        sorted.dedup_by_key(|place| id_at(place));
        let mut is_common = vec![false; sorted.len()];
        set.for_each(lower, count, &mut |item| match sorted
            .binary_search_by_key(&&item.id.0, |place| id_at(place))
        {
            Ok(at) => is_common[at] = true,
            Err(_) => self.have.push(item.id),
        })?;
        let mut is_common = is_common.into_iter();
        sorted.retain(|_| is_common.next() == Some(false));
        sorted.sort_unstable();
        sorted.iter().for_each(|place| self.needs(id_at(place)));
        Ok(())
    }

    fn needs(&mut self, id: &[u8; 32]) {
        if self.needed.insert(*id) {
            self.need.push(EventId(*id));
        }
    }
}
