//! The union of several filters' matches: each event once, each filter with its own limit.

use zeolite_proto::{EventRef, Seq, Timestamp};

use super::ScanState;
use super::entry::Entry;
use super::source::KeySource;
use super::stream::{Found, Stream};
use crate::error::ReadError;
use crate::slice::{Meter, SliceBudget};

/// The streams of one REQ.
///
/// A stream past its limit stays in the merge until it shows one more match that no other stream
/// gives: that is how the answer is known to be complete or cut (NIP-67).
pub(crate) struct Union {
    streams: Vec<Stream>,
    /// Parallel to `streams`: has nothing more to say.
    ended: Vec<bool>,
    /// A match was left out, or may have been.
    is_cut: bool,
}

type Heads<'s> = Vec<Option<(Entry, EventRef<'s>)>>;

impl Union {
    pub(crate) fn new(streams: Vec<Stream>) -> Self {
        let ended = vec![false; streams.len()];
        Self { streams, ended, is_cut: false }
    }

    pub(crate) fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// Goes on until the budget is used, the sink says stop, or all is given.
    pub(crate) fn slice<S: KeySource>(
        &mut self,
        source: &S,
        now: Timestamp,
        budget: SliceBudget,
        sink: &mut dyn FnMut(Seq, EventRef<'_>) -> bool,
    ) -> Result<ScanState, ReadError> {
        let mut meter = Meter::start(budget);
        let mut heads: Heads<'_> = vec![None; self.streams.len()];
        let state = loop {
            if !self.fill(&mut heads, source, now, &mut meter)? {
                break ScanState::More;
            }
            let Some(best) = best(&heads) else {
                break ScanState::Done { complete: !self.is_cut };
            };
            let Some((entry, event)) = heads[best] else { unreachable!("the best is a head") };
            if self.take(&mut heads, entry.seq()) {
                meter.count_event();
                if !sink(entry.seq(), event) || meter.is_over() {
                    break ScanState::More;
                }
            }
        };
        for (stream, head) in self.streams.iter_mut().zip(heads) {
            if let Some((entry, _)) = head {
                stream.put_back(entry);
            }
        }
        Ok(state)
    }

    /// Sees to it that every stream that has not ended shows its next match. False when the time
    /// was over before.
    fn fill<'s, S: KeySource>(
        &mut self,
        heads: &mut Heads<'s>,
        source: &'s S,
        now: Timestamp,
        meter: &mut Meter,
    ) -> Result<bool, ReadError> {
        for (index, head) in heads.iter_mut().enumerate() {
            if head.is_some() || self.has_ended(index) {
                continue;
            }
            let stream = &mut self.streams[index];
            match stream.find(source, now, meter)? {
                Found::Event(entry, event) => *head = Some((entry, event)),
                Found::Paused => return Ok(false),
                Found::Ended => {
                    self.ended[index] = true;
                    self.is_cut |= stream.is_lookahead_over();
                }
            }
        }
        Ok(true)
    }

    fn has_ended(&mut self, index: usize) -> bool {
        // Once the answer is known to be cut, nothing beyond a limit is of interest.
        if self.is_cut && self.streams[index].is_past_limit() {
            self.ended[index] = true;
        }
        self.ended[index]
    }

    /// Takes one event off every stream that shows it. True if one of them may give it.
    fn take(&mut self, heads: &mut Heads<'_>, seq: Seq) -> bool {
        let mut given = false;
        for (stream, head) in self.streams.iter_mut().zip(heads) {
            if head.is_some_and(|(entry, _)| entry.seq() == seq) {
                *head = None;
                if !stream.is_past_limit() {
                    stream.take();
                    given = true;
                }
            }
        }
        self.is_cut |= !given;
        given
    }
}

/// The head that goes first in the answer.
fn best(heads: &Heads<'_>) -> Option<usize> {
    let mut best: Option<(usize, Entry, EventRef<'_>)> = None;
    for (index, head) in heads.iter().enumerate() {
        let Some((entry, event)) = *head else { continue };
        let is_better = best.is_none_or(|(_, best_entry, best_event)| {
            if entry.group() == best_entry.group() {
                event.id() < best_event.id()
            } else {
                entry > best_entry
            }
        });
        if is_better {
            best = Some((index, entry, event));
        }
    }
    best.map(|(index, ..)| index)
}
