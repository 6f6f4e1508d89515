//! Between two responders: each one's answer is the other's next question.
//!
//! Whoever stands between two relays holds no set of its own. It begins with a fingerprint that no
//! set has, so that the first relay splits its whole set; its answer is a valid question for the
//! second, and so on in turns. Where both have listed the ids of a range their difference is known,
//! and the range is skipped from then on.
//!
//! Ids are listed without their times. So a list that answers only a part of another, which happens
//! when a frame is full, tells what the other lacks, but not the reverse: unless that is nothing, the
//! list goes back as a question, and is answered for exactly its part.

use std::collections::HashSet;

use zeolite_proto::EventId;

use crate::bound::Bound;
use crate::limits::{FrameLimit, ROUNDS_FREE, ROUNDS_MAX};
use crate::ranges::{Body, MessageError, Ranges};
use crate::sum::Fingerprint;
use crate::writer::Writer;

/// No set is known that has this fingerprint. Should a set have it, it is not compared.
const BOGUS: Fingerprint = Fingerprint(*b"no set has this!");

/// A reconciliation of two responders.
#[derive(Clone, Debug)]
pub struct Cross {
    question: Vec<u8>,
    turns: u64,
    /// Ids that were listed by either side: what turns are for.
    listed: u64,
}

/// What an answer told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrossTurn {
    /// The question for the side that did not answer this time; `None` when all is said.
    pub next: Option<Vec<u8>>,
    /// Ids that only the side has which was quoted in the question.
    pub asking_only: Vec<EventId>,
    /// Ids that only the side has which answered. As with every reconciliation in limited frames, an
    /// id may come again in a later turn (N-14).
    pub answering_only: Vec<EventId>,
}

/// Why a reconciliation of two responders ends before all is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrossError {
    /// An answer is malformed.
    #[error("{0}")]
    Message(#[from] MessageError),
    /// The two keep the session going without telling anything.
    #[error("no end after {0} turns")]
    Endless(u64),
}

impl Default for Cross {
    fn default() -> Self {
        Self::new()
    }
}

impl Cross {
    /// A reconciliation that has not begun.
    pub fn new() -> Self {
        let mut writer = Writer::new();
        writer.push(&Bound::INFINITY, &Body::Fingerprint(BOGUS));
        Self { question: writer.finish(), turns: 0, listed: 0 }
    }

    /// What is to be asked next, of either side at first and then in turns.
    pub fn question(&self) -> &[u8] {
        &self.question
    }

    /// Takes the answer to the latest question. The next question, which goes to the other side,
    /// has at most the bytes that `frame` allows.
    ///
    /// # Errors
    ///
    /// If the answer is malformed, or nothing comes of all this.
    pub fn turn(&mut self, answer: &[u8], frame: FrameLimit) -> Result<CrossTurn, CrossError> {
        let answered = Ranges::new(answer)?;
        let mut turn = Turn {
            lists: lists(&self.question)?,
            writer: Writer::new(),
            fill_bytes_max: frame.fill_bytes_max(),
            found: CrossTurn::default(),
            listed: 0,
        };
        let mut lower = Bound::ZERO;
        for range in answered {
            if !turn.take(&lower, &range.bound, &range.body) {
                break;
            }
            lower = range.bound;
        }
        let Turn { writer, mut found, listed, .. } = turn;
        let next = writer.finish();
        self.turns += 1;
        self.listed += listed;
        if next.len() > 1 {
            if self.turns >= ROUNDS_MAX.min(ROUNDS_FREE + self.listed) {
                return Err(CrossError::Endless(self.turns));
            }
            self.question.clone_from(&next);
            found.next = Some(next);
        }
        Ok(found)
    }
}

/// A list in a question, with the range that it covers.
struct Listed<'m> {
    lower: Bound,
    upper: Bound,
    ids: &'m [[u8; 32]],
}

fn lists(question: &[u8]) -> Result<Vec<Listed<'_>>, MessageError> {
    let mut lists = Vec::new();
    let mut lower = Bound::ZERO;
    for range in Ranges::new(question)? {
        if let Body::Ids(ids) = range.body {
            lists.push(Listed { lower, upper: range.bound, ids });
        }
        lower = range.bound;
    }
    Ok(lists)
}

/// One answer on its way to become the next question.
struct Turn<'m> {
    lists: Vec<Listed<'m>>,
    writer: Writer,
    fill_bytes_max: usize,
    found: CrossTurn,
    listed: u64,
}

impl Turn<'_> {
    /// Takes one range. False when the frame is full.
    fn take(&mut self, lower: &Bound, upper: &Bound, body: &Body<'_>) -> bool {
        match body {
            Body::Ids(ids) if self.settle(lower, upper, ids) => {
                self.writer.push(upper, &Body::Skip);
                true
            }
            Body::Skip => {
                self.writer.push(upper, &Body::Skip);
                true
            }
            Body::Ids(ids) => self.pass_on(upper, body, 32 * ids.len()),
            Body::Fingerprint(_) => self.pass_on(upper, body, 16),
        }
    }

    /// Compares a list with what it answers. True if nothing is left to be asked about the range.
    fn settle(&mut self, lower: &Bound, upper: &Bound, ids: &[[u8; 32]]) -> bool {
        self.listed += ids.len() as u64;
        let at = self.lists.partition_point(|list| list.upper <= *lower);
        let asked = self.lists.get(at).filter(|list| list.lower <= *lower && *upper <= list.upper);
        let Some(asked) = asked else { return false };
        let theirs: HashSet<&[u8; 32]> = ids.iter().collect();
        let ours: HashSet<&[u8; 32]> = asked.ids.iter().collect();
        let is_whole = asked.lower == *lower && asked.upper == *upper;
        let lacking = asked.ids.iter().filter(|id| !theirs.contains(id));
        let is_settled = is_whole || lacking.clone().next().is_none();
        if is_whole {
            self.listed += asked.ids.len() as u64;
            self.found.asking_only.extend(lacking.map(|id| EventId(*id)));
        }
        let unknown = ids.iter().filter(|id| !ours.contains(id));
        self.found.answering_only.extend(unknown.map(|id| EventId(*id)));
        is_settled
    }

    /// Asks what was answered. A range that is too large for a frame of its own is asked about by a
    /// fingerprint that nobody has, and so is everything behind a full frame.
    fn pass_on(&mut self, upper: &Bound, body: &Body<'_>, body_bytes: usize) -> bool {
        // What is kept free of a frame has room for the bounds, and for the end.
        if self.writer.len() + body_bytes <= self.fill_bytes_max {
            self.writer.push(upper, body);
            return true;
        }
        if self.writer.len() == 1 {
            self.writer.push(upper, &Body::Fingerprint(BOGUS));
            return true;
        }
        self.writer.forget_skip();
        self.writer.push(&Bound::INFINITY, &Body::Fingerprint(BOGUS));
        false
    }
}
