//! When a machine wants to be told of the time, and when it says how far it is.

use std::time::Duration;

use super::context::Fault;
use super::effect::Effect;
use super::progress::Phase;
use super::{Link, Machine};

/// How often a machine that is busy reports.
const REPORT_EVERY: Duration = Duration::from_secs(1);

impl Machine {
    /// Gives up a connection on which nothing moves although answers are due.
    pub(super) fn watch(&mut self) {
        if let Some(at) = self.idle_deadline()
            && self.context.now >= at
        {
            let idle = self.context.settings.limits.idle_max.as_secs();
            self.context
                .fault
                .get_or_insert(Fault::Connection(format!("no progress for {idle} s")));
        }
    }

    /// Progress alone moves it: whatever else an upstream sends does not (case 16).
    fn idle_deadline(&self) -> Option<Duration> {
        let is_asking = self.roads.download.is_asking()
            || self.roads.upload.is_asking()
            || self.catch_up.is_asking();
        // What is left unread cannot be progress.
        (self.link == Link::Up && is_asking && self.wants_messages())
            .then(|| self.context.moved_at + self.context.settings.limits.idle_max)
    }

    pub(super) fn set_deadline(&mut self) {
        let context = &self.context;
        let all = match self.link {
            Link::Up => [
                self.idle_deadline(),
                self.tail.deadline(context),
                self.catch_up.deadline(context),
                self.roads.download.deadline(),
                self.roads.upload.deadline(),
                self.audit_at,
                self.held_end.as_ref().and(self.login_until()),
                self.catch_up.is_running().then_some(self.reported_at + REPORT_EVERY),
            ],
            Link::Down | Link::Parked | Link::Over => [None; 8],
        };
        // What is due already was just acted upon, and waits for something else than time.
        let next = all.into_iter().flatten().filter(|at| *at > context.now).min();
        if let Some(at) = next
            && self.deadline != Some(at)
        {
            self.context.effects.push_back(Effect::Deadline(at));
        }
        self.deadline = next;
    }

    pub(super) fn report(&mut self, is_last: bool) {
        let phase = match self.link {
            Link::Over => Phase::Finished,
            Link::Down | Link::Parked => Phase::Connecting,
            Link::Up if self.tail.is_opening() => Phase::Tail,
            Link::Up if self.catch_up.is_at_deletions() => Phase::Deletions,
            Link::Up if self.catch_up.is_running() => Phase::CatchUp,
            Link::Up => Phase::Live,
        };
        let is_new = phase != self.context.progress.phase;
        let is_due = self.context.now >= self.reported_at + REPORT_EVERY && self.link == Link::Up;
        let progress = &mut self.context.progress;
        progress.phase = phase;
        progress.need_waiting = self.roads.download.waiting() as u64;
        progress.have_waiting = self.roads.upload.waiting() as u64;
        progress.windows_waiting = self.catch_up.windows_waiting() as u64;
        if is_new || is_due || is_last {
            self.reported_at = self.context.now;
            let progress = Box::new(progress.clone());
            self.context.effects.push_back(Effect::Report(progress));
        }
    }
}
