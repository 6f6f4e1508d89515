//! Several walks as one, in exact answer order and without doubles.

use std::collections::BinaryHeap;

use super::cursor::{Cursor, Window};
use super::entry::Entry;
use super::source::KeySource;
use crate::error::ReadError;

/// The walks of one filter, merged.
pub(crate) struct Merge {
    cursors: Vec<Cursor>,
    /// How many of `cursors` have their next entry in `nexts`; the others are not opened yet.
    opened: usize,
    nexts: BinaryHeap<(Entry, usize)>,
    /// What is left of a group of several entries, in order, next one last.
    ties: Vec<Entry>,
}

impl Merge {
    pub(crate) fn new(cursors: Vec<Cursor>) -> Self {
        let nexts = BinaryHeap::with_capacity(cursors.len());
        Self { cursors, opened: 0, nexts, ties: Vec::new() }
    }

    /// Opens one more walk. False when all are open; only then is [`Self::next`] right.
    pub(crate) fn open_one(
        &mut self,
        source: &impl KeySource,
        window: Window,
    ) -> Result<bool, ReadError> {
        if self.opened == self.cursors.len() {
            return Ok(false);
        }
        self.advance(self.opened, source, window)?;
        self.opened += 1;
        Ok(true)
    }

    /// The next entry in answer order.
    pub(crate) fn next(
        &mut self,
        source: &impl KeySource,
        window: Window,
    ) -> Result<Option<Entry>, ReadError> {
        if let Some(entry) = self.ties.pop() {
            return Ok(Some(entry));
        }
        let Some(first) = self.pop(source, window)? else { return Ok(None) };
        while let Some((peeked, _)) = self.nexts.peek()
            && peeked.group() == first.group()
        {
            let next = self.pop(source, window)?.expect("an entry was seen");
            if next != first {
                self.ties.push(next);
            }
        }
        if self.ties.is_empty() {
            return Ok(Some(first));
        }
        self.ties.push(first);
        self.order_ties(source)?;
        // All of them may be dead.
        match self.ties.pop() {
            Some(entry) => Ok(Some(entry)),
            None => self.next(source, window),
        }
    }

    /// True if no part of a group was given yet and the rest is to come.
    pub(crate) fn is_between_groups(&self) -> bool {
        self.ties.is_empty()
    }

    /// Brings entries that share time and four bytes of id into the order of their full ids.
    fn order_ties(&mut self, source: &impl KeySource) -> Result<(), ReadError> {
        self.ties.sort_unstable();
        self.ties.dedup();
        let mut with_ids = Vec::with_capacity(self.ties.len());
        for &entry in &self.ties {
            if let Some(event) = source.event(entry.seq())? {
                with_ids.push((event.id(), entry));
            }
        }
        with_ids.sort_unstable_by(|a, b| b.cmp(a));
        self.ties.clear();
        self.ties.extend(with_ids.into_iter().map(|(_, entry)| entry));
        Ok(())
    }

    fn pop(&mut self, source: &impl KeySource, window: Window) -> Result<Option<Entry>, ReadError> {
        let Some((entry, index)) = self.nexts.pop() else { return Ok(None) };
        self.advance(index, source, window)?;
        Ok(Some(entry))
    }

    fn advance(
        &mut self,
        index: usize,
        source: &impl KeySource,
        window: Window,
    ) -> Result<(), ReadError> {
        if let Some(entry) = self.cursors[index].next(source, window)? {
            self.nexts.push((entry, index));
        }
        Ok(())
    }
}
