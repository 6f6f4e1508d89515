//! Lists of the near relay of a pair, compared with what the far relay shows page by page.

use std::collections::VecDeque;
use std::time::Duration;

use zeolite_proto::{EoseHint, Event, EventId, Filter, Timestamp};

use super::context::{Context, Scope};
use super::input::{Input, JobId, ReconcileFault};
use super::job::{Job, Roads};
use super::paging::Paging;
use super::window::Window;

/// A list of the near relay.
struct Listing {
    job: JobId,
    filter: Filter,
    /// Sorted.
    near: Vec<(Timestamp, EventId)>,
    far_only: Vec<EventId>,
    near_only: Vec<EventId>,
}

/// Compares lists one after the other.
pub(super) struct Listings {
    /// The first one is being compared if `is_running`.
    waiting: VecDeque<Listing>,
    is_running: bool,
    pages: VecDeque<Job>,
    paging: Paging,
}

impl Listings {
    pub(super) fn new(context: &Context) -> Self {
        Self {
            waiting: VecDeque::new(),
            is_running: false,
            pages: VecDeque::new(),
            paging: Paging::new(context),
        }
    }

    /// Takes a list that covers the filter.
    pub(super) fn push(&mut self, job: JobId, filter: Filter, near: Vec<(Timestamp, EventId)>) {
        let (far_only, near_only) = (Vec::new(), Vec::new());
        self.waiting.push_back(Listing { job, filter, near, far_only, near_only });
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self, context: &Context) {
        *self = Self::new(context);
    }

    pub(super) fn is_asking(&self) -> bool {
        self.paging.is_asking()
    }

    pub(super) fn deadline(&self) -> Option<Duration> {
        self.paging.deadline()
    }

    pub(super) fn pump(&mut self, roads: &Roads, context: &mut Context) {
        if !self.is_running
            && let Some(listing) = self.waiting.front()
        {
            let window = Window::of(&listing.filter);
            // The machine compares deletions and content; here both are one thing.
            let filter = Filter { since: None, until: None, ..listing.filter.clone() };
            context.deletions = Some(filter);
            self.pages.extend(window.map(|window| Job::new(Scope::Deletions, window)));
            self.is_running = true;
        }
        self.paging.pump(&mut self.pages, roads, context);
    }

    pub(super) fn take(&mut self, sub: &str, event: Event, context: &mut Context) {
        self.paging.take(sub, event, context);
    }

    pub(super) fn end(&mut self, sub: &str, hint: EoseHint, context: &mut Context) {
        self.paging.end(sub, hint, context);
    }

    /// A page is refused. Returns what the machine is told, if that is the end.
    pub(super) fn refuse(&mut self, sub: &str, text: &str, context: &mut Context) -> Option<Input> {
        self.paging.refuse(sub, text, context)?;
        self.pages.clear();
        self.paging.suspend(context);
        self.is_running = false;
        let Listing { job, .. } = self.waiting.pop_front()?;
        let cause = ReconcileFault::Unsupported(text.to_owned());
        Some(Input::ReconcileFailed { job, cause })
    }

    /// A part of the far relay's list, which the paging wants compared.
    pub(super) fn part(&mut self, job: JobId, filter: &Filter, far: &[(Timestamp, EventId)]) {
        self.paging.compared(job);
        let (Some(listing), Some(window)) = (self.waiting.front_mut(), Window::of(filter)) else {
            return;
        };
        let start = listing.near.partition_point(|(time, _)| time.0 < window.since);
        let end = listing.near.partition_point(|(time, _)| time.0 <= window.last());
        let near = &listing.near[start..end.max(start)];
        let lacks = |list: &[(Timestamp, EventId)], item| list.binary_search(item).is_err();
        let far_only = far.iter().filter(|item| lacks(near, item)).map(|item| item.1);
        let near_only = near.iter().filter(|item| lacks(far, item)).map(|item| item.1);
        listing.far_only.extend(far_only);
        listing.near_only.extend(near_only);
    }

    /// What the machine is told of a list that is compared, once.
    pub(super) fn finished(&mut self, context: &mut Context) -> Option<Input> {
        if !self.is_running || !self.pages.is_empty() || !self.paging.is_idle() {
            return None;
        }
        self.is_running = false;
        context.deletions = None;
        let Listing { job, far_only, near_only, .. } = self.waiting.pop_front()?;
        Some(Input::Compared { job, have: far_only, need: near_only })
    }
}
