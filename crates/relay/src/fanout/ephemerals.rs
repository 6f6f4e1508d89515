//! Ephemeral events of the last second or two.
//!
//! A client that has read an `EOSE` relies on being told what is published from then on. The `EOSE`
//! goes out before its subscription is attached, and what is stored bridges the gap by its `Seq`;
//! an ephemeral event has none. So a query notes how many there were before it says `EOSE`, and at the
//! attachment what came after that is handed out.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zeolite_proto::Event;

use crate::limits::{EPHEMERALS_KEPT_BYTES_MAX, EPHEMERALS_KEPT_MAX};

/// How many ephemeral events the fan-out has handed out.
#[derive(Clone, Debug, Default)]
pub struct EphemeralCount(Arc<AtomicU64>);

impl EphemeralCount {
    /// The number at this moment.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// The last of them.
#[derive(Default)]
pub(super) struct Ephemerals {
    count: EphemeralCount,
    recent: VecDeque<Event>,
    bytes: usize,
    /// The number at the last tick.
    at_tick: u64,
}

impl Ephemerals {
    pub(super) fn count(&self) -> EphemeralCount {
        self.count.clone()
    }

    pub(super) fn push(&mut self, event: Event) {
        self.count.0.fetch_add(1, Ordering::Release);
        self.bytes += event.record_bytes();
        self.recent.push_back(event);
        while self.recent.len() > EPHEMERALS_KEPT_MAX || self.bytes > EPHEMERALS_KEPT_BYTES_MAX {
            self.forget_oldest();
        }
    }

    /// Those that came when there had been `heard`, as far as they are still there.
    pub(super) fn after(&self, heard: u64) -> impl Iterator<Item = &Event> {
        let missed = self.count.get().saturating_sub(heard);
        let missed = usize::try_from(missed).unwrap_or(usize::MAX).min(self.recent.len());
        self.recent.range(self.recent.len() - missed..)
    }

    /// Forgets what was there at the tick before.
    pub(super) fn tick(&mut self) {
        let count = self.count.get();
        let since_tick = usize::try_from(count - self.at_tick).unwrap_or(usize::MAX);
        while self.recent.len() > since_tick {
            self.forget_oldest();
        }
        self.at_tick = count;
    }

    fn forget_oldest(&mut self) {
        if let Some(event) = self.recent.pop_front() {
            self.bytes -= event.record_bytes();
        }
    }
}
