//! The order of a catch-up: which window is compared next, how, and when all is said.

use std::collections::VecDeque;
use std::time::Duration;

use zeolite_proto::{EoseHint, Event, EventId};

use super::backoff::Backoff;
use super::comparing::{Comparison, Ended};
use super::context::{Context, Fault, Scope};
use super::input::{JobId, ReconcileFault};
use super::job::{Job, Roads};
use super::paging::Paging;
use super::progress::{End, Method};
use super::settings::{Direction, Mode};
use super::window::Window;

/// How far back a paged catch-up begins after a reconnect: gift wraps are back-dated by up to two
/// days (NIP-59). What is back-dated further is found by the next audit.
const OVERLAP_S: u64 = 3 * 24 * 3600;

/// Refusals "for the moment" in a row until an upstream counts as one that does not reconcile.
const HOLDS_MAX: u32 = 6;

/// Connections lost in a row while the first `NEG-OPEN` was unanswered until that is why.
const DROPS_MAX: u32 = 2;

/// Failures of the local side in a row until the mirror ends.
const LOCAL_FAILURES_MAX: u32 = 5;

/// Compares all windows until nothing is left to explain.
#[derive(Debug)]
pub(super) struct CatchUp {
    is_running: bool,
    /// Windows to be compared by NIP-77, newest first.
    queue: VecDeque<Job>,
    /// Windows to be read page by page.
    pages: VecDeque<Job>,
    /// Windows that differed: to be compared again when everything found is moved.
    dirty: Vec<Job>,
    comparison: Option<Comparison>,
    paging: Paging,
    /// Why the upstream counts as one that does not reconcile.
    absent: Option<String>,
    are_deletions_due: bool,
    /// Deletions are being pulled: content waits until they have arrived.
    are_deletions_coming: bool,
    /// Windows of this catch-up.
    windows: usize,
    hold_until: Duration,
    backoff: Backoff,
    local_failures: u32,
    drops: u32,
    /// What could not be done.
    incomplete: Option<String>,
    /// Dense seconds that were known before it began.
    dense_before: u64,
    /// What was left of paged windows when the connection was lost.
    left: Vec<Job>,
    /// Whether the first catch-up is behind, so that a paged one need not begin at the beginning.
    has_paged_all: bool,
}

impl CatchUp {
    pub(super) fn new(context: &Context) -> Self {
        let limits = &context.settings.limits;
        Self {
            is_running: false,
            queue: VecDeque::new(),
            pages: VecDeque::new(),
            dirty: Vec::new(),
            comparison: None,
            paging: Paging::new(context),
            absent: None,
            are_deletions_due: false,
            are_deletions_coming: false,
            windows: 0,
            hold_until: Duration::ZERO,
            backoff: Backoff::new(limits.backoff_min, limits.backoff_max, context.settings.seed),
            local_failures: 0,
            drops: 0,
            incomplete: None,
            dense_before: 0,
            left: Vec::new(),
            has_paged_all: false,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.is_running
    }

    /// Whether deletions are what it is at.
    pub(super) fn is_at_deletions(&self) -> bool {
        self.are_deletions_coming
            || self.comparison.as_ref().is_some_and(|it| it.is_for(Scope::Deletions))
    }

    /// Windows that are not done.
    pub(super) fn windows_waiting(&self) -> usize {
        self.queue.len() + self.pages.len() + self.dirty.len()
    }

    /// Whether the upstream owes an answer.
    pub(super) fn is_asking(&self) -> bool {
        self.comparison.as_ref().is_some_and(Comparison::is_asking) || self.paging.is_asking()
    }

    /// When it wants to be pumped at the latest.
    pub(super) fn deadline(&self, context: &Context) -> Option<Duration> {
        let comparison = self.comparison.as_ref().and_then(|it| it.deadline(context));
        let hold = (self.comparison.is_none() && !self.queue.is_empty()).then_some(self.hold_until);
        [comparison, hold, self.paging.deadline()].into_iter().flatten().min()
    }

    /// What was read page by page may not have been all.
    pub(super) fn read_anew(&mut self) {
        self.has_paged_all = false;
        self.left.clear();
    }

    /// An audit tries everything anew, also what the upstream refused before.
    pub(super) fn forget_refusals(&mut self) {
        self.absent = None;
        self.read_anew();
    }

    /// Begins with all windows. A paged catch-up goes on where the last connection left it.
    pub(super) fn begin(&mut self, context: &mut Context) {
        context.gone.clear();
        context.crossed.clear();
        let is_paged = context.settings.mode == Mode::Req || self.absent.is_some();
        self.is_running = true;
        self.incomplete = None;
        self.dense_before = context.progress.counts.dense_seconds;
        self.windows = 1;
        self.are_deletions_coming = false;
        self.are_deletions_due = context.deletions.is_some()
            && context.settings.direction.is_down()
            && !context.settings.dry_run;
        let content = Window::of(&context.content).map(|window| Job::new(Scope::Content, window));
        if is_paged {
            self.begin_paging(content, context);
        } else {
            self.queue.extend(content);
        }
    }

    fn begin_paging(&mut self, content: Option<Job>, context: &mut Context) {
        let left = std::mem::take(&mut self.left);
        let may_go_on = context.settings.direction == Direction::Down;
        if may_go_on && (self.has_paged_all || !left.is_empty()) {
            let since = context.wall.0.saturating_sub(OVERLAP_S);
            let newest = |job: Job| {
                let since = since.max(job.window.since);
                let window = Window { since, ..job.window };
                (since <= job.window.last()).then_some(Job { window, ..job })
            };
            self.pages.extend(content.and_then(newest));
            self.pages.extend(left);
        } else {
            self.pages.extend(content);
        }
        self.pull_deletions(context);
    }

    /// Puts the windows of deletions before everything else.
    fn pull_deletions(&mut self, context: &Context) {
        if !std::mem::take(&mut self.are_deletions_due) {
            return;
        }
        let Some(window) = context.deletions.as_ref().and_then(Window::of) else { return };
        self.are_deletions_coming = true;
        let is_paged = context.settings.mode == Mode::Req || self.absent.is_some();
        let queue = if is_paged { &mut self.pages } else { &mut self.queue };
        queue.push_front(Job::new(Scope::Deletions, window));
    }

    /// The connection is gone: what was under way is void.
    pub(super) fn suspend(&mut self, context: &mut Context) {
        if let Some(comparison) = self.comparison.take() {
            if comparison.is_unanswered() {
                self.drops += 1;
                if self.drops >= DROPS_MAX {
                    self.absent = Some("the connection is lost at each NEG-OPEN".into());
                }
            }
            comparison.close(false, context);
        }
        let mut left = self.paging.suspend(context);
        left.extend(self.pages.drain(..));
        left.retain(|job| job.scope == Scope::Content);
        self.left = left;
        self.queue.clear();
        self.dirty.clear();
        self.is_running = false;
    }

    /// Does what can be done now. Returns how the catch-up ended, once.
    pub(super) fn pump(&mut self, roads: &mut Roads, context: &mut Context) -> Option<End> {
        if !self.is_running {
            return None;
        }
        self.pump_comparison(roads, context);
        self.pump_pages(roads, context);
        let is_over = self.queue.is_empty()
            && self.pages.is_empty()
            && self.comparison.is_none()
            && self.paging.is_idle()
            && roads.are_idle(context);
        match is_over {
            false => None,
            // Nothing else would happen that begins the next round.
            true if self.requeue(context) => self.pump(roads, context),
            true => Some(self.finish(context)),
        }
    }

    fn pump_comparison(&mut self, roads: &mut Roads, context: &mut Context) {
        if let Some(comparison) = &mut self.comparison {
            comparison.pump(roads, context);
            let is_late = comparison.deadline(context).is_some_and(|at| context.now >= at);
            if !is_late {
                return;
            }
            self.conclude(Ended::Absent("no answer to NEG-OPEN".into()), context);
        }
        let next = self.queue.front().map(|job| job.scope);
        if context.now < self.hold_until || !self.may_begin(next, roads, context) {
            return;
        }
        if let Some(mut job) = self.queue.pop_front() {
            job.moved = moved(context);
            context.crossed.clear();
            let is_probe = job.scope == Scope::Content && self.are_deletions_due;
            self.comparison = Some(Comparison::start(job, is_probe, context));
        }
    }

    fn pump_pages(&mut self, roads: &mut Roads, context: &mut Context) {
        let mut none = VecDeque::new();
        let next = self.pages.front().map(|job| job.scope);
        let may_begin = self.may_begin(next, roads, context);
        let queue = if may_begin { &mut self.pages } else { &mut none };
        self.paging.pump(queue, roads, context);
    }

    /// Content waits until deletions have arrived (M-07).
    fn may_begin(&mut self, next: Option<Scope>, roads: &Roads, context: &Context) -> bool {
        if self.are_deletions_coming {
            let waits = |job: &Job| job.scope == Scope::Deletions;
            let is_under_way = self.comparison.is_some()
                || !self.paging.is_idle()
                || self.queue.iter().chain(&self.pages).any(waits);
            self.are_deletions_coming = is_under_way || !roads.are_idle(context);
        }
        next.is_some_and(|scope| scope == Scope::Deletions || !self.are_deletions_coming)
    }

    /// Has dirty windows compared again. False if there are none.
    fn requeue(&mut self, context: &mut Context) -> bool {
        let moved = moved(context);
        context.crossed.clear();
        for job in std::mem::take(&mut self.dirty) {
            if job.rounds < context.settings.limits.rounds_max {
                let is_paged = context.settings.mode == Mode::Req || self.absent.is_some();
                let queue = if is_paged { &mut self.pages } else { &mut self.queue };
                queue.push_back(job);
            } else if job.moved == moved {
                let text = format!("a window still differs after {} rounds", job.rounds);
                self.give_up(&job, text, context);
            }
            // Otherwise the sets move on while they are compared: all that was found was moved.
        }
        !(self.queue.is_empty() && self.pages.is_empty())
    }

    fn finish(&mut self, context: &mut Context) -> End {
        self.is_running = false;
        self.has_paged_all = true;
        let dense = context.progress.counts.dense_seconds - self.dense_before;
        let refused = self.absent.as_ref().filter(|_| context.settings.mode == Mode::Negentropy);
        if let Some(text) = context.auth_wanted.take() {
            match context.settings.has_key {
                true => End::LoginRefused(text),
                false => End::AuthRequired(text),
            }
        } else if let Some(text) = refused {
            End::NegentropyRefused(text.clone())
        } else if let Some(text) = self.incomplete.take() {
            End::Incomplete(text)
        } else if dense > 0 {
            End::Incomplete(format!("{dense} seconds hold more events than a page"))
        } else if context.settings.dry_run {
            End::DryRun
        } else {
            End::Converged
        }
    }

    /// A window that will not be compared. Deletions are no reason to fail (case 28).
    fn give_up(&mut self, job: &Job, text: String, context: &mut Context) {
        context.trouble(text.clone());
        if job.scope == Scope::Content {
            self.incomplete = Some(text);
        }
    }

    fn conclude(&mut self, ended: Ended, context: &mut Context) {
        let Some(comparison) = self.comparison.take() else { return };
        let job = comparison.close(true, context);
        if let Ended::Done { .. } | Ended::TooLarge(_) | Ended::DeletionsFirst = ended {
            self.backoff.reset();
            self.local_failures = 0;
            self.drops = 0;
        }
        match ended {
            Ended::Done { differs: false, .. } => context.is_fruitful = true,
            Ended::Done { differs: true, cut } => self.note_dirty(job, cut, context),
            Ended::DeletionsFirst => {
                self.queue.push_front(job);
                self.pull_deletions(context);
            }
            Ended::TooLarge(text) => self.split(job, text, context),
            Ended::Busy(text) => {
                self.hold_until = context.now + self.backoff.next();
                context.trouble(format!("the upstream is busy: {text}"));
                if self.backoff.failures() > HOLDS_MAX {
                    self.lose_negentropy(job, text, context);
                } else {
                    self.queue.push_front(job);
                }
            }
            Ended::Auth(text) => {
                if context.settings.mode == Mode::Negentropy {
                    context.auth_wanted = Some(text.clone());
                }
                self.lose_negentropy(job, text, context);
            }
            Ended::Absent(text) => self.lose_negentropy(job, text, context),
            Ended::LocalFailed(text) => self.note_local_failure(job, text, context),
        }
    }

    /// What was dry is counted; what was moved is compared again.
    fn note_dirty(&mut self, job: Job, cut: bool, context: &Context) {
        if !context.settings.dry_run {
            let rounds = if cut && job.moved < moved(context) { 0 } else { job.rounds + 1 };
            self.dirty.push(Job { rounds, ..job });
        }
    }

    fn note_local_failure(&mut self, job: Job, text: String, context: &mut Context) {
        self.local_failures += 1;
        if self.local_failures >= LOCAL_FAILURES_MAX {
            context.fault = Some(Fault::Fatal(End::LocalFailed(text)));
            return;
        }
        self.hold_until = context.now + self.backoff.next();
        context.trouble(text);
        self.queue.push_front(job);
    }

    /// Two halves instead of one, the newer first; a bounded number of times (case 13).
    fn split(&mut self, job: Job, text: String, context: &mut Context) {
        let limits = &context.settings.limits;
        self.windows += 1;
        let are_too_many = self.windows > limits.windows_total_max
            || self.queue.len() >= limits.windows_waiting_max;
        if are_too_many {
            return self.lose_negentropy(job, format!("too many windows refused: {text}"), context);
        }
        match job.window.split(context.wall) {
            Some((older, newer)) => {
                context.progress.counts.splits += 1;
                context.is_fruitful = true;
                self.queue.push_front(Job { window: older, ..job.clone() });
                self.queue.push_front(Job { window: newer, ..job });
            }
            // Content that waits for deletions must not stand before them.
            None if context.settings.mode == Mode::Auto && job.scope == Scope::Deletions => {
                self.pages.push_front(job);
            }
            None if context.settings.mode == Mode::Auto => self.pages.push_back(job),
            None => self.give_up(&job, format!("one second is too large: {text}"), context),
        }
    }

    /// From here on windows are read page by page, if that is allowed.
    fn lose_negentropy(&mut self, job: Job, text: String, context: &mut Context) {
        context.trouble(format!("no reconciliation: {text}"));
        if job.scope == Scope::Deletions && context.settings.mode == Mode::Auto {
            // The upstream reconciles other filters; this one it may answer page by page.
            self.pages.push_front(job);
            return;
        }
        self.absent = Some(text);
        if context.settings.mode == Mode::Negentropy {
            self.queue.clear();
            self.dirty.clear();
            return;
        }
        self.pages.push_front(job);
        self.pages.extend(self.queue.drain(..));
        self.pull_deletions(context);
    }

    // What happens while it runs.

    pub(super) fn reconciled(
        &mut self,
        job: JobId,
        next: Option<Vec<u8>>,
        (have, need): (&[EventId], &[EventId]),
        roads: &mut Roads,
        context: &mut Context,
    ) {
        let Some(comparison) = self.comparison.as_mut().filter(|it| it.is(job)) else { return };
        if let Some(ended) = comparison.reconciled(next, have, need, roads, context) {
            self.conclude(ended, context);
        }
    }

    pub(super) fn reconcile_failed(
        &mut self,
        id: JobId,
        cause: ReconcileFault,
        context: &mut Context,
    ) {
        if let Some(comparison) = self.comparison.as_ref().filter(|it| it.is(id)) {
            let ended = comparison.failed(cause);
            self.conclude(ended, context);
        } else if let Some(job) = self.paging.compared(id) {
            self.give_up(&job, format!("the local side cannot compare: {cause:?}"), context);
        }
    }

    pub(super) fn compared(
        &mut self,
        id: JobId,
        have: &[EventId],
        need: &[EventId],
        roads: &mut Roads,
        context: &mut Context,
    ) {
        let Some(job) = self.paging.compared(id) else { return };
        // What is needed came with the page, unless nothing is to be moved.
        let need = if context.settings.dry_run { need } else { &[] };
        let found = roads.take(job.scope, have, need, context);
        if found.too_many {
            self.note_dirty(job, true, context);
        }
    }

    pub(super) fn frame(&mut self, sub: &str, hex: &str, context: &mut Context) {
        let Some(comparison) = self.comparison.as_mut().filter(|it| it.owns(sub)) else { return };
        context.progress.method = Method::Negentropy;
        if let Some(ended) = comparison.answered(hex, context) {
            self.conclude(ended, context);
        }
    }

    pub(super) fn refused(
        &mut self,
        sub: &str,
        text: &str,
        cap: Option<u64>,
        context: &mut Context,
    ) {
        if let Some(comparison) = self.comparison.as_mut().filter(|it| it.owns(sub)) {
            let ended = comparison.refused(context.refusal(text, cap), text);
            self.conclude(ended, context);
        } else if let Some(job) = self.paging.refuse(sub, text, context) {
            self.give_up(&job, format!("REQ refused: {text}"), context);
        }
    }

    /// A notice ends the try only while the first answer is due (case 16).
    pub(super) fn noticed(&mut self, text: &str, context: &mut Context) {
        let unanswered = self.comparison.as_mut().filter(|it| it.is_unanswered());
        if let Some(ended) = unanswered.and_then(|comparison| comparison.noticed(text, context)) {
            self.conclude(ended, context);
        }
    }

    pub(super) fn owns_page(&self, sub: &str) -> bool {
        self.paging.owns(sub)
    }

    pub(super) fn take_page_event(&mut self, sub: &str, event: Event, context: &mut Context) {
        context.progress.method = Method::Paging;
        self.paging.take(sub, event, context);
    }

    pub(super) fn end_page(&mut self, sub: &str, hint: EoseHint, context: &mut Context) {
        context.progress.method = Method::Paging;
        self.paging.end(sub, hint, context);
    }
}

/// Grows with everything that makes sets more alike.
fn moved(context: &Context) -> u64 {
    let counts = &context.progress.counts;
    counts.stored + counts.outdated + counts.accepted + counts.accepted_duplicate + counts.refused
}
