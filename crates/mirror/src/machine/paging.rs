//! Windows read with `REQ`, page by page, newest first (case 19, NIP-67).
//!
//! A page ends at its oldest second, and the next one begins with it again: `until` is inclusive, so
//! what shares that second is not lost. Only the ids of that second are remembered. A page without
//! anything new means that the second fills whole pages, or that nothing is older; either way the
//! next page begins a second earlier, and only if the second may have been cut it counts as dense.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use zeolite_proto::{EoseHint, Event, EventId, Filter, Timestamp};

use super::backoff::Backoff;
use super::context::{Context, Fault};
use super::effect::Effect;
use super::input::JobId;
use super::job::{Job, Roads};
use super::refusal::Refusal;
use super::sink::Origin;
use super::window::Window;
use super::wire;

/// Events of a page where the upstream states no `max_limit`.
const PAGE_EVENTS_UNSTATED: usize = 500;

/// The smallest page an upstream is asked for.
const PAGE_EVENTS_MIN: usize = 10;

/// Pages that a window keeps to itself when it is split by its density.
const PAGES_KEPT: u64 = 8;

/// Refusals "for the moment" in a row until the connection is given up.
const HOLDS_MAX: u32 = 8;

/// One window, read from its end to its beginning.
#[derive(Debug)]
struct Pager {
    job: Job,
    /// The second at which the next page begins, inclusive.
    cursor: u64,
    /// The last second that was not compared with the local side yet.
    top: u64,
    /// Ids of the second `cursor` that came already.
    edge: HashSet<EventId>,
    /// What came from `cursor` to `top`, for the comparison.
    items: Vec<(Timestamp, EventId)>,
    /// The page that is under way.
    page: Option<Page>,
    /// Seconds that the latest page spanned.
    span: Option<u64>,
    /// The second before `cursor + 1` was left with a page that brought nothing new, and it is not
    /// known whether that page was cut.
    is_in_doubt: bool,
    /// The same, of the window's first second: pages reach below it to find out.
    is_probing: bool,
}

/// One `REQ` under way.
#[derive(Debug)]
struct Page {
    sub: Box<str>,
    /// What it was asked for.
    filter: Filter,
    limit: usize,
    /// Events that may still come.
    asked: usize,
    seen: usize,
    ids: HashSet<EventId>,
    /// Ids of the oldest second.
    oldest_ids: HashSet<EventId>,
    oldest: u64,
    newest: u64,
}

/// How a page ended for its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turned {
    More,
    Complete,
}

/// Reads several windows at a time.
#[derive(Debug)]
pub(super) struct Paging {
    pagers: Vec<Pager>,
    /// Comparisons that the local side has not answered, with their windows.
    compares: Vec<(JobId, Job)>,
    page_events_max: usize,
    /// The most events that a page has had: much smaller pages are not cut.
    largest: usize,
    hold_until: Duration,
    backoff: Backoff,
}

impl Paging {
    pub(super) fn new(context: &Context) -> Self {
        let limits = &context.settings.limits;
        let seed = context.settings.seed ^ 0x9a;
        Self {
            pagers: Vec::new(),
            compares: Vec::new(),
            page_events_max: limits.page_events_max,
            largest: 0,
            hold_until: Duration::ZERO,
            backoff: Backoff::new(limits.backoff_min, limits.backoff_max, seed),
        }
    }

    /// Whether no window is being read or compared.
    pub(super) fn is_idle(&self) -> bool {
        self.pagers.is_empty() && self.compares.is_empty()
    }

    /// Whether the upstream owes an answer.
    pub(super) fn is_asking(&self) -> bool {
        self.pagers.iter().any(|pager| pager.page.is_some())
    }

    /// When something waits for time to pass.
    pub(super) fn deadline(&self) -> Option<Duration> {
        let waits = self.pagers.iter().any(|pager| pager.page.is_none());
        (waits && !self.is_asking()).then_some(self.hold_until)
    }

    pub(super) fn owns(&self, sub: &str) -> bool {
        self.find(sub).is_some()
    }

    fn find(&self, sub: &str) -> Option<usize> {
        let is_it = |pager: &Pager| pager.page.as_ref().is_some_and(|page| *page.sub == *sub);
        self.pagers.iter().position(is_it)
    }

    /// Takes windows from the queue and asks for pages, as far as there is room.
    pub(super) fn pump(&mut self, queue: &mut VecDeque<Job>, roads: &Roads, context: &mut Context) {
        let subscriptions = context.peer.max_subscriptions.map_or(usize::MAX, |max| max as usize);
        let limits = &context.settings.limits;
        let pagers_max = limits.pages_in_flight_max.min(subscriptions.saturating_sub(2)).max(1);
        while self.pagers.len() < pagers_max
            && let Some(job) = queue.pop_front()
        {
            self.pagers.push(Pager::new(job));
        }
        if context.now < self.hold_until || !roads.have_room(context) {
            return;
        }
        for at in 0..self.pagers.len() {
            if self.pagers[at].page.is_some() {
                continue;
            }
            if self.pagers.len() < pagers_max
                && let Some(older) = self.pagers[at].split()
            {
                self.pagers.push(Pager::new(older));
            }
            self.ask(at, context);
        }
    }

    fn page_limit(&self, context: &Context) -> usize {
        let by_peer = context.peer.max_limit.map_or(PAGE_EVENTS_UNSTATED, |max| max as usize);
        self.page_events_max.min(by_peer).min(context.settings.limits.ingest_events_max).max(1)
    }

    fn ask(&mut self, at: usize, context: &mut Context) {
        let limit = self.page_limit(context);
        if context.room() < limit && (context.asked > 0 || context.sink.events() > 0) {
            return;
        }
        if !self.is_asking() {
            context.moved();
        }
        context.asked += limit;
        let sub = context.name('p');
        let pager = &mut self.pagers[at];
        let filter = Filter {
            limit: Some(limit as u64),
            ..pager.rest().within(context.filter(pager.job.scope))
        };
        pager.page = Some(Page::new(sub.clone(), filter.clone(), limit));
        context.progress.counts.pages += 1;
        context.send(wire::req(&sub, &[filter]));
    }

    /// An event of a page.
    pub(super) fn take(&mut self, sub: &str, event: Event, context: &mut Context) {
        let Some(at) = self.find(sub) else { return context.unasked() };
        let pager = &mut self.pagers[at];
        let page = pager.page.as_mut().expect("the pager was found by its page");
        if !page.filter.matches(event.view()) || !page.ids.insert(event.view().id()) {
            return context.unasked();
        }
        context.asked -= usize::from(page.note(&event));
        let (time, id) = (event.view().created_at(), event.view().id());
        let is_repeat = time.0 == pager.cursor && pager.edge.contains(&id);
        if is_repeat || !pager.job.window.contains(time) {
            return;
        }
        context.moved();
        context.is_fruitful = true;
        let settings = &context.settings;
        if settings.direction.is_up() || settings.dry_run {
            pager.items.push((time, id));
        }
        if settings.direction.is_down() && !settings.dry_run && !context.refused_here.contains(&id)
        {
            context.ingest(event, Origin::Paged);
        }
    }

    /// A page is whole.
    pub(super) fn end(&mut self, sub: &str, hint: EoseHint, context: &mut Context) {
        let Some(at) = self.find(sub) else { return };
        context.moved();
        context.send(wire::close(sub));
        self.backoff.reset();
        let pager = &mut self.pagers[at];
        let page = pager.page.take().expect("the pager was found by its page");
        context.asked -= page.asked;
        self.largest = self.largest.max(page.seen);
        let turned = pager.turn(&page, hint, self.largest, context);
        let compared = pager.comparable(turned);
        if let Some(window) = compared {
            self.compare(at, window, context);
        }
        if turned == Turned::Complete {
            self.pagers.remove(at);
        }
    }

    /// Has the local side compare what a window holds, where anyone wants to know.
    fn compare(&mut self, at: usize, window: Window, context: &mut Context) {
        let pager = &mut self.pagers[at];
        pager.top = window.since.saturating_sub(1);
        let settings = &context.settings;
        if !settings.direction.is_up() && !settings.dry_run {
            return;
        }
        let (mut items, rest): (Vec<_>, Vec<_>) =
            pager.items.drain(..).partition(|(time, _)| window.contains(*time));
        pager.items = rest;
        items.sort_unstable();
        items.dedup();
        let job = Job { window, ..pager.job.clone() };
        let (since, until) = (Some(Timestamp(window.since)), Some(Timestamp(window.last())));
        let filter = Filter { since, until, ..context.filter(job.scope).clone() };
        let id = context.job();
        self.compares.push((id, job));
        context.effects.push_back(Effect::Compare { job: id, filter, items });
    }

    /// The window of a comparison that is answered.
    pub(super) fn compared(&mut self, id: JobId) -> Option<Job> {
        let at = self.compares.iter().position(|(known, _)| *known == id)?;
        Some(self.compares.swap_remove(at).1)
    }

    /// A page is refused. Returns its window if nothing else is to be tried.
    pub(super) fn refuse(&mut self, sub: &str, text: &str, context: &mut Context) -> Option<Job> {
        let at = self.find(sub)?;
        let page = self.pagers[at].page.take().expect("the pager was found by its page");
        context.asked -= page.asked;
        // What came of it is here; the next page brings it again.
        context.trouble(format!("REQ refused: {text}"));
        match context.refusal(text, None) {
            Refusal::Busy | Refusal::Ended => {
                self.hold_until = context.now + self.backoff.next();
                if self.backoff.failures() > HOLDS_MAX {
                    context.fault = Some(Fault::Connection(format!("REQ refused: {text}")));
                }
                None
            }
            Refusal::Auth => {
                context.auth_wanted = Some(text.to_owned());
                Some(self.pagers.remove(at).job)
            }
            Refusal::TooLarge | Refusal::Final if page.limit > PAGE_EVENTS_MIN => {
                self.page_events_max = (page.limit / 2).max(PAGE_EVENTS_MIN);
                None
            }
            Refusal::TooLarge | Refusal::Final => Some(self.pagers.remove(at).job),
        }
    }

    /// Gives back what is left of all windows.
    pub(super) fn suspend(&mut self, context: &Context) -> Vec<Job> {
        let pagers = std::mem::take(&mut self.pagers);
        *self = Self { page_events_max: self.page_events_max, ..Self::new(context) };
        pagers.into_iter().map(|pager| Job { window: pager.left(), ..pager.job }).collect()
    }
}

impl Pager {
    fn new(job: Job) -> Self {
        let last = job.window.last();
        Self {
            job,
            cursor: last,
            top: last,
            edge: HashSet::new(),
            items: Vec::new(),
            page: None,
            span: None,
            is_in_doubt: false,
            is_probing: false,
        }
    }

    /// What the next page is asked for.
    fn rest(&self) -> Window {
        let Window { since, until } = self.job.window;
        let since = if self.is_probing { 0 } else { since };
        // An open window stays open until something was read of it.
        let is_open = until.is_none() && self.cursor == self.job.window.last();
        Window { since, until: (!is_open).then_some(self.cursor) }
    }

    /// What is left to read.
    fn left(&self) -> Window {
        let since = self.job.window.since;
        let Window { until, .. } = self.rest();
        Window { since, until: until.map(|until| until.max(since)) }
    }

    /// Cuts off what lies below the next few pages, for another to read at the same time.
    fn split(&mut self) -> Option<Job> {
        let stride = self.span?.checked_mul(PAGES_KEPT)?;
        let left = self.cursor.saturating_sub(self.job.window.since);
        if left <= stride.checked_mul(2)? {
            return None;
        }
        let (older, newer) = self.job.window.cut(self.cursor - stride);
        self.job.window = newer;
        Some(Job { window: older, ..self.job.clone() })
    }

    /// Moves on behind a page.
    fn turn(
        &mut self,
        page: &Page,
        hint: EoseHint,
        largest: usize,
        context: &mut Context,
    ) -> Turned {
        if page.seen == 0 || hint == EoseHint::Finish {
            return Turned::Complete;
        }
        if std::mem::take(&mut self.is_in_doubt) {
            // There is more behind the second that was left in doubt: its page was cut.
            context.progress.counts.dense_seconds += 1;
        }
        let first = self.job.window.since;
        if self.cursor < first || page.oldest < first {
            // What lies below the window was only asked for to find that out.
            return Turned::Complete;
        }
        if page.ids.iter().any(|id| !self.edge.contains(id)) {
            self.span = Some((page.newest - page.oldest).max(1));
            if page.oldest < self.cursor {
                self.edge.clear();
                self.cursor = page.oldest;
            }
            self.edge.extend(&page.oldest_ids);
            return Turned::More;
        }
        self.turn_without_news(page, hint, largest, context)
    }

    /// Leaves the second `cursor`, of which a page has shown nothing new.
    fn turn_without_news(
        &mut self,
        page: &Page,
        hint: EoseHint,
        largest: usize,
        context: &mut Context,
    ) -> Turned {
        let is_cut = page.seen >= page.limit || hint == EoseHint::More;
        context.progress.counts.dense_seconds += u64::from(is_cut);
        let is_last = self.cursor == self.job.window.since;
        // Far smaller pages than others of this upstream are not worth the question.
        let may_be_cut = !is_cut && page.seen >= largest / 2;
        if is_last && (self.cursor == 0 || !may_be_cut) {
            return Turned::Complete;
        }
        if is_last && !std::mem::replace(&mut self.is_probing, true) {
            // Does the same page reach below the window, now that it may?
            return Turned::More;
        }
        self.is_in_doubt = !is_cut;
        self.edge.clear();
        self.cursor -= 1;
        Turned::More
    }

    /// The seconds that are read and not compared: all but the one at which the next page begins.
    fn comparable(&self, turned: Turned) -> Option<Window> {
        let since = match turned {
            Turned::Complete => self.job.window.since,
            Turned::More => self.cursor + 1,
        };
        let is_open = self.job.window.until.is_none() && self.top == self.job.window.last();
        let until = (!is_open).then_some(self.top);
        (since <= self.top).then_some(Window { since, until })
    }
}

impl Page {
    fn new(sub: Box<str>, filter: Filter, limit: usize) -> Self {
        Self {
            sub,
            filter,
            limit,
            asked: limit,
            seen: 0,
            ids: HashSet::new(),
            oldest_ids: HashSet::new(),
            oldest: u64::MAX,
            newest: 0,
        }
    }

    /// Takes note of an event; true if it was among those the limit allows.
    fn note(&mut self, event: &Event) -> bool {
        let time = event.view().created_at().0;
        self.seen += 1;
        self.newest = self.newest.max(time);
        if time < self.oldest {
            self.oldest = time;
            self.oldest_ids.clear();
        }
        if time == self.oldest {
            self.oldest_ids.insert(event.view().id());
        }
        let is_within = self.asked > 0;
        self.asked -= usize::from(is_within);
        is_within
    }
}
