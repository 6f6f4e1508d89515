//! How much one slice of a long read may do.

use std::time::{Duration, Instant};

/// What a slice may use up before it must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceBudget {
    /// Events given to the sink.
    pub events_max: usize,
    /// Time since the slice began.
    pub time_max: Duration,
}

impl SliceBudget {
    /// No bound: for reads that nobody waits beside.
    pub const UNLIMITED: Self = Self { events_max: usize::MAX, time_max: Duration::MAX };
}

/// Measures a slice against its budget.
pub(crate) struct Meter {
    budget: SliceBudget,
    start: Instant,
    events: usize,
    steps: u32,
}

impl Meter {
    pub(crate) fn start(budget: SliceBudget) -> Self {
        Self { budget, start: Instant::now(), events: 0, steps: 0 }
    }

    /// Counts an event given to the sink.
    pub(crate) fn count_event(&mut self) {
        self.events += 1;
    }

    /// Counts a step, with or without an event; true when the budget is used up.
    pub(crate) fn is_over(&mut self) -> bool {
        self.steps = self.steps.wrapping_add(1);
        self.events >= self.budget.events_max
            || (self.steps.is_multiple_of(16) && self.start.elapsed() >= self.budget.time_max)
    }
}
