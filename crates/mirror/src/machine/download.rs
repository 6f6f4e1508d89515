//! Fetching by id what the upstream has and the local side lacks (M-03).

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use zeolite_proto::{Event, EventId};

use super::backoff::Backoff;
use super::context::{Context, Fault, Scope};
use super::refusal::Refusal;
use super::sink::Origin;
use super::wire;

/// An id that is to be fetched.
#[derive(Clone, Copy, Debug)]
struct Want {
    id: EventId,
    scope: Scope,
    /// It was asked for before and did not come, maybe because the answer was cut.
    again: bool,
}

/// One `REQ {ids}` in flight.
#[derive(Debug)]
struct Batch {
    scope: Scope,
    again: bool,
    /// Every id that was asked for, in order, and whether it came.
    ids: Vec<(EventId, bool)>,
    delivered: usize,
}

/// Fetches ids in batches, several in flight.
#[derive(Debug)]
pub(super) struct Download {
    waiting: VecDeque<Want>,
    /// All ids that wait or are in flight.
    wanted: HashSet<EventId>,
    batches: HashMap<Box<str>, Batch>,
    /// What the upstream has shown to be too much for one request.
    batch_ids_max: usize,
    batches_max: usize,
    hold_until: Duration,
    backoff: Backoff,
}

/// The smallest number of batches in flight that an upstream asking for patience gets.
const BATCHES_MIN: usize = 1;

/// Refusals "for the moment" in a row until the connection is given up.
const HOLDS_MAX: u32 = 8;

impl Download {
    pub(super) fn new(context: &Context) -> Self {
        let limits = &context.settings.limits;
        let seed = context.settings.seed ^ 0xd0;
        Self {
            waiting: VecDeque::new(),
            wanted: HashSet::new(),
            batches: HashMap::new(),
            batch_ids_max: limits.fetch_batch_ids_max,
            batches_max: limits.fetch_batches_max,
            hold_until: Duration::ZERO,
            backoff: Backoff::new(limits.backoff_min, limits.backoff_max, seed),
        }
    }

    /// Takes an id that is to be fetched. False if there is no room for it.
    pub(super) fn want(&mut self, id: EventId, scope: Scope, context: &Context) -> bool {
        if self.wanted.contains(&id) {
            return true;
        }
        if self.waiting.len() >= context.settings.limits.need_ids_max {
            return false;
        }
        self.wanted.insert(id);
        self.waiting.push_back(Want { id, scope, again: false });
        true
    }

    /// Ids that wait.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nothing waits and nothing is in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Whether an answer is due.
    pub(super) fn is_asking(&self) -> bool {
        !self.batches.is_empty()
    }

    /// When something waits for time to pass.
    pub(super) fn deadline(&self) -> Option<Duration> {
        (!self.waiting.is_empty() && self.batches.is_empty()).then_some(self.hold_until)
    }

    /// Whether this subscription is one of its own.
    pub(super) fn owns(&self, sub: &str) -> bool {
        self.batches.contains_key(sub)
    }

    /// Asks for as much as there is room for.
    pub(super) fn pump(&mut self, context: &mut Context) {
        let subscriptions = context.peer.max_subscriptions.map_or(usize::MAX, |max| max as usize);
        let batches_max = self.batches_max.min(subscriptions.saturating_sub(2)).max(BATCHES_MIN);
        while context.now >= self.hold_until
            && self.batches.len() < batches_max
            && let Some(first) = self.waiting.front()
        {
            let wish = self.batch_len(first.again, context).min(self.waiting.len());
            let room = context.room();
            if room == 0 || (room < wish && context.asked > 0) {
                return;
            }
            self.ask(wish.min(room), context);
        }
    }

    fn batch_len(&self, again: bool, context: &Context) -> usize {
        let by_limit = context.peer.max_limit.map_or(usize::MAX, |max| max as usize);
        // M-03: 67 bytes for each id, and the rest of the message.
        let by_bytes = (context.message_bytes_max() - 200) / 67;
        let len = self.batch_ids_max.min(by_limit).min(by_bytes).max(1);
        // What did not come is asked for in small pieces: few answers are cut below it.
        if again { len.min(AGAIN_IDS_MAX) } else { len }
    }

    fn ask(&mut self, len: usize, context: &mut Context) {
        let Want { scope, again, .. } = self.waiting[0];
        let mut ids = Vec::with_capacity(len);
        while ids.len() < len
            && let Some(want) = self.waiting.front()
            && (want.scope, want.again) == (scope, again)
        {
            ids.push((want.id, false));
            self.waiting.pop_front();
        }
        ids.sort_unstable();
        if !self.is_asking() {
            context.moved();
        }
        context.asked += ids.len();
        let sub = context.name('f');
        context.send(wire::req_ids(&sub, ids.iter().map(|(id, _)| *id)));
        self.batches.insert(sub, Batch { scope, again, ids, delivered: 0 });
    }

    /// An event of a batch.
    pub(super) fn take(&mut self, sub: &str, event: Event, context: &mut Context) {
        let Some(batch) = self.batches.get_mut(sub) else { return context.unasked() };
        let id = event.view().id();
        match batch.ids.binary_search_by_key(&id, |(asked, _)| *asked) {
            Ok(at) if !batch.ids[at].1 => batch.ids[at].1 = true,
            _ => return context.unasked(),
        }
        batch.delivered += 1;
        let scope = batch.scope;
        self.wanted.remove(&id);
        context.asked -= 1;
        context.moved();
        if context.filter(scope).matches(event.view()) {
            context.ingest(event, Origin::Wanted);
        } else {
            context.lose(&id);
            context.unasked();
        }
    }

    /// A batch is answered: what did not come is asked for once more, and then it is gone.
    pub(super) fn end(&mut self, sub: &str, context: &mut Context) {
        let Some(batch) = self.batches.remove(sub) else { return };
        context.moved();
        context.send(wire::close(sub));
        self.backoff.reset();
        let missing = batch.ids.len() - batch.delivered;
        context.asked -= missing;
        if missing == 0 {
            return;
        }
        if batch.again && batch.delivered > 0 {
            // Asking for fewer brought more: answers are cut.
            self.batch_ids_max = self.batch_ids_max.min(AGAIN_IDS_MAX);
        }
        let is_cut = batch.again && batch.delivered > 0;
        for (id, _) in batch.ids.into_iter().filter(|(_, came)| !came) {
            if batch.again && !is_cut {
                self.give_up(&id, context);
            } else {
                self.waiting.push_back(Want { id, scope: batch.scope, again: true });
            }
        }
    }

    fn give_up(&mut self, id: &EventId, context: &mut Context) {
        self.wanted.remove(id);
        context.lose(id);
        context.progress.counts.gone += 1;
    }

    /// A batch is refused.
    pub(super) fn refuse(&mut self, sub: &str, text: &str, context: &mut Context) {
        let Some(batch) = self.batches.remove(sub) else { return };
        context.asked -= batch.ids.len() - batch.delivered;
        context.trouble(format!("REQ refused: {text}"));
        let missing: Vec<EventId> =
            batch.ids.iter().filter(|(_, came)| !came).map(|(id, _)| *id).collect();
        match context.refusal(text, None) {
            Refusal::Auth => {
                context.auth_wanted = Some(text.to_owned());
                missing.iter().for_each(|id| self.give_up(id, context));
                return;
            }
            Refusal::TooLarge | Refusal::Final if batch.ids.len() > 1 => {
                self.batch_ids_max = batch.ids.len() / 2;
            }
            Refusal::TooLarge | Refusal::Final => {
                missing.iter().for_each(|id| self.give_up(id, context));
                return;
            }
            Refusal::Busy | Refusal::Ended => {
                self.batches_max = (self.batches_max / 2).max(BATCHES_MIN);
                self.hold_until = context.now + self.backoff.next();
                if self.backoff.failures() > HOLDS_MAX {
                    context.fault = Some(Fault::Connection(format!("REQ refused: {text}")));
                }
            }
        }
        for id in missing {
            self.waiting.push_front(Want { id, scope: batch.scope, again: batch.again });
        }
    }

    /// Forgets everything that the connection knew.
    pub(super) fn reset(&mut self, context: &Context) {
        *self = Self { batch_ids_max: self.batch_ids_max, ..Self::new(context) };
    }
}

/// Ids in one request for what did not come before.
const AGAIN_IDS_MAX: usize = 50;
