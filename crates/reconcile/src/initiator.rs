//! The initiator: starts, takes each answer, and learns what each side lacks.

use zeolite_proto::EventId;

use crate::bound::Bound;
use crate::found::Found;
use crate::limits::{FrameLimit, REST_BYTES_MAX, ROUNDS_FREE, ROUNDS_MAX};
use crate::ranges::{Body, MessageError, Place, Ranges};
use crate::set::{Edge, Set};
use crate::turn::{Room, Turn};

/// The side that asks. It keeps no set: the same one, or a later state of it, is lent to each step.
///
/// What it keeps are the ranges of answers that did not fit into its next message: it asks about
/// them later instead of finding them again from the top.
#[derive(Clone, Debug)]
pub struct Initiator {
    frame: FrameLimit,
    rounds: u64,
    /// Ids that were listed by either side: what rounds are for.
    listed: u64,
    /// Up to where the latest message asks. What lies behind is settled or kept.
    asked: Bound,
    /// What is left of answers, in falling order of where it begins.
    kept: Vec<Rest>,
}

/// The ranges of an answer that nothing was said about yet.
#[derive(Clone, Debug)]
struct Rest {
    answer: Vec<u8>,
    /// How much of it was read.
    at: usize,
    place: Place,
    /// Up to where the answer was asked for.
    asked: Bound,
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
        Self { frame, rounds: 0, listed: 0, asked: Bound::INFINITY, kept: Vec::new() }
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
        let mut ranges = Ranges::new(answer)?;
        self.rounds += 1;
        let turn = Turn::new(set, self.frame);
        let mut reading = Reading { turn, found: Found::default(), lower: Edge::START, listed: 0 };
        match reading.read(&mut ranges, self.asked).map_err(StepError::Set)? {
            Room::Full => self.keep(&ranges),
            Room::Left => self.read_kept(&mut reading).map_err(StepError::Set)?,
        }
        let Reading { mut turn, found, listed, .. } = reading;
        self.listed += listed;
        if self.kept.iter().map(|rest| rest.answer.len()).sum::<usize>() > REST_BYTES_MAX {
            self.kept.clear();
            turn.close().map_err(StepError::Set)?;
        }
        self.asked = turn.written();
        self.conclude(turn.finish(), found)
    }

    fn keep(&mut self, ranges: &Ranges<'_>) {
        let (answer, place) = (ranges.rest().to_vec(), ranges.place());
        self.kept.push(Rest { answer, at: 0, place, asked: self.asked });
    }

    /// Goes on with what was kept, as far as there is room.
    fn read_kept<S: Set>(&mut self, reading: &mut Reading<'_, S>) -> Result<(), S::Error> {
        while let Some(rest) = self.kept.last_mut() {
            let mut ranges = Ranges::resume(&rest.answer[rest.at..], rest.place);
            if reading.read(&mut ranges, rest.asked)? == Room::Full {
                rest.place = ranges.place();
                rest.at = rest.answer.len() - ranges.rest().len();
                return Ok(());
            }
            self.kept.pop();
        }
        Ok(())
    }

    fn conclude<E>(&self, next: Vec<u8>, found: Found) -> Result<Step, StepError<E>> {
        let next = (next.len() > 1).then_some(next);
        if next.is_some() && self.rounds >= ROUNDS_MAX.min(ROUNDS_FREE + self.listed) {
            return Err(StepError::Endless(self.rounds));
        }
        Ok(Step { next, have: found.have, need: found.need })
    }
}

/// The step from one answer, and what was kept of earlier ones, to the next message.
struct Reading<'s, S: Set> {
    turn: Turn<'s, S>,
    found: Found,
    /// Up to where ranges were read.
    lower: Edge,
    listed: u64,
}

impl<S: Set> Reading<'_, S> {
    /// Reads ranges of an answer to what was asked up to `asked`. When the message is full, the
    /// range that did not fit is the next one.
    fn read(&mut self, ranges: &mut Ranges<'_>, asked: Bound) -> Result<Room, S::Error> {
        let set = self.turn.set;
        let start = ranges.place().lower;
        if self.lower.bound < start {
            self.lower = set.seek(&self.lower, &start)?;
        }
        loop {
            let before = ranges.clone();
            let Some(range) = ranges.next() else { return Ok(Room::Left) };
            // A full frame ends with one word on all the rest. Of that only what was asked for is
            // open, and it is asked for again.
            let is_cut = matches!(range.body, Body::Fingerprint(_)) && asked < range.bound;
            let bound = if is_cut { asked } else { range.bound };
            let is_overlapped = before.place().lower < self.lower.bound;
            let is_partial = is_cut || is_overlapped;
            if bound <= self.lower.bound && is_partial {
                continue;
            }
            let upper = set.seek(&self.lower, &bound)?;
            let is_equal = |theirs| theirs == self.lower.fingerprint_to(&upper);
            let room = match range.body {
                Body::Skip => self.skip(&bound),
                Body::Fingerprint(theirs) if !is_partial && is_equal(theirs) => self.skip(&bound),
                Body::Ids(ids) if !is_partial => {
                    self.listed += ids.len() as u64 + self.lower.count_to(&upper) as u64;
                    self.found.compare(set, &self.lower, &upper, ids)?;
                    self.skip(&bound)
                }
                Body::Fingerprint(_) | Body::Ids(_) => self.turn.split(&self.lower, &upper)?,
            };
            if room == Room::Full {
                *ranges = before;
                return Ok(Room::Full);
            }
            self.lower = upper;
        }
    }

    fn skip(&mut self, bound: &Bound) -> Room {
        self.turn.skip(bound);
        Room::Left
    }
}
