//! Ephemeral events of the last second or two.
//!
//! A client is told what is published after its `REQ`, and nothing that was before. What is stored has
//! its `Seq` to tell the two apart; an ephemeral event has none, so the admitter gives it a number.
//! A subscription keeps the newest number at its `REQ`: at its attachment it is given what came after
//! that, and what the fan-out hears of later and came before passes it by.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zeolite_proto::Event;

use crate::limits::{EPHEMERALS_KEPT_BYTES_MAX, EPHEMERALS_KEPT_MAX};

/// How many ephemeral events have been admitted. The last of them has this number.
#[derive(Clone, Debug, Default)]
pub struct EphemeralCount(Arc<AtomicU64>);

impl EphemeralCount {
    /// The number of the newest.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// The number of the next. It counts from now on, so before its publisher is told of it.
    pub fn count_one(&self) -> u64 {
        self.0.fetch_add(1, Ordering::AcqRel) + 1
    }
}

/// The last that were handed out.
#[derive(Default)]
pub(super) struct Ephemerals {
    recent: VecDeque<(u64, Event)>,
    bytes: usize,
    newest: u64,
    /// The newest at the last tick.
    at_tick: u64,
}

impl Ephemerals {
    pub(super) fn push(&mut self, number: u64, event: Event) {
        assert!(number > self.newest, "admission hands over ephemeral events in their order");
        self.newest = number;
        self.bytes += event.record_bytes();
        self.recent.push_back((number, event));
        while self.recent.len() > EPHEMERALS_KEPT_MAX || self.bytes > EPHEMERALS_KEPT_BYTES_MAX {
            self.forget_oldest();
        }
    }

    /// Those that came after `heard`, as far as they are still there.
    pub(super) fn after(&self, heard: u64) -> impl Iterator<Item = &Event> {
        let from = self.recent.partition_point(|(number, _)| *number <= heard);
        self.recent.range(from..).map(|(_, event)| event)
    }

    /// Forgets what was there at the tick before.
    pub(super) fn tick(&mut self) {
        while self.recent.front().is_some_and(|(number, _)| *number <= self.at_tick) {
            self.forget_oldest();
        }
        self.at_tick = self.newest;
    }

    fn forget_oldest(&mut self) {
        if let Some((_, event)) = self.recent.pop_front() {
            self.bytes -= event.record_bytes();
        }
    }
}
