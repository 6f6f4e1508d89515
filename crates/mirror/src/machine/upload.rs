//! Sending what the local side has and the upstream lacks, paced by `OK` (M-05).

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use zeolite_proto::{Event, EventId, Kind, TagStr};

use super::backoff::Backoff;
use super::context::{Context, Fault};
use super::effect::Effect;
use super::input::Verdict;
use super::refusal::Refusal;
use super::sink::Origin;
use super::wire;

/// An event that was sent and not answered.
#[derive(Debug)]
struct Flight {
    event: Event,
    origin: Origin,
    tries: u8,
}

/// Sends events, so many unanswered at a time as the upstream bears.
#[derive(Debug)]
pub(super) struct Upload {
    /// Ids whose events are still to be read from the local side.
    waiting: VecDeque<EventId>,
    /// All ids that wait, are being read, or were read and not answered.
    busy: HashSet<EventId>,
    /// Ids that the local side is reading.
    reading: HashSet<EventId>,
    ready: VecDeque<Flight>,
    flights: HashMap<EventId, Flight>,
    /// Bytes of the records in `ready` and `flights`.
    bytes: usize,
    /// How many of `busy` the catch-up waits for.
    catch_up: usize,
    /// Live events in `ready`.
    live_ready: usize,
    /// Grows with every `OK`, halves when the upstream asks for patience.
    flights_max: usize,
    hold_until: Duration,
    backoff: Backoff,
    /// The upstream wants a login before it takes anything.
    is_barred: bool,
}

/// Unanswered events that an upstream is taken to bear before it has answered any.
const FLIGHTS_START: usize = 128;

/// Ids read from the local side at once.
const READ_IDS_MAX: usize = 512;

/// Bytes read from the local side at once: 2 kB for each id, which is three times the usual event.
/// What is larger, such as lists of contacts, comes in smaller parts.
const READ_BYTES_MAX: usize = 1 << 20;

/// Sends of one event until its refusals "for the moment" count as final, apart from rate limits.
const TRIES_MAX: u8 = 4;

/// Refusals for being too fast in a row until the connection is given up.
const HOLDS_MAX: u32 = 12;

/// How often an event that the upstream took and then does not list is sent: it may have been lost,
/// but a relay that takes events and hides them must not get them for ever.
const TAKEN_MAX: u8 = 2;

impl Upload {
    pub(super) fn new(context: &Context) -> Self {
        let limits = &context.settings.limits;
        let seed = context.settings.seed ^ 0x0b;
        Self {
            waiting: VecDeque::new(),
            busy: HashSet::new(),
            reading: HashSet::new(),
            ready: VecDeque::new(),
            flights: HashMap::new(),
            bytes: 0,
            catch_up: 0,
            live_ready: 0,
            flights_max: FLIGHTS_START.min(limits.send_events_max),
            hold_until: Duration::ZERO,
            backoff: Backoff::new(limits.backoff_min, limits.backoff_max, seed),
            is_barred: false,
        }
    }

    /// Whether the id's absence at the upstream is explained.
    pub(super) fn is_explained(&self, id: &EventId, context: &Context) -> bool {
        self.is_barred
            || context.refused_there.contains(id)
            || context.recent.get(id).is_some_and(|taken| taken >= TAKEN_MAX)
    }

    /// Takes an id whose event is to be sent. False if there is no room for it.
    pub(super) fn want(&mut self, id: EventId, context: &Context) -> bool {
        if self.busy.contains(&id) {
            return true;
        }
        if self.waiting.len() >= context.settings.limits.have_ids_max {
            return false;
        }
        self.busy.insert(id);
        self.catch_up += 1;
        self.waiting.push_back(id);
        true
    }

    /// A new local event. What came from the upstream does not go back.
    pub(super) fn offer_live(&mut self, event: Event, context: &mut Context) {
        let id = event.view().id();
        let is_known = context.recent.contains(&id)
            || context.sink.holds(&id)
            || context.refused_there.contains(&id)
            || self.busy.contains(&id);
        let is_wanted = context.content.matches(event.view()) && may_travel(&event);
        if is_known || !is_wanted || self.is_barred {
            return;
        }
        let is_full = self.live_ready >= context.settings.limits.live_up_events_max
            || self.bytes >= context.settings.limits.send_bytes_max;
        if is_full {
            context.progress.counts.live_dropped += 1;
            context.is_audit_wanted = true;
            return;
        }
        self.busy.insert(id);
        self.make_ready(Flight { event, origin: Origin::Live, tries: 0 });
    }

    /// An event of the other relay of a pair. Each is reported once.
    pub(super) fn offer_mirrored(&mut self, event: Event, context: &mut Context) {
        let id = event.view().id();
        if self.is_barred || !may_travel(&event) || context.refused_there.contains(&id) {
            context.report(&id, Verdict::Blocked);
        } else if self.busy.insert(id) {
            self.make_ready(Flight { event, origin: Origin::Live, tries: 0 });
        }
    }

    fn make_ready(&mut self, flight: Flight) {
        self.bytes += flight.event.record_bytes();
        self.live_ready += usize::from(flight.origin == Origin::Live);
        self.ready.push_back(flight);
    }

    /// What the local side read.
    pub(super) fn read(&mut self, events: Vec<Event>, missing: &[EventId], context: &mut Context) {
        for id in missing.iter().filter(|id| self.reading.remove(*id)).collect::<Vec<_>>() {
            self.finish(id, Origin::Wanted);
        }
        for event in events {
            let id = event.view().id();
            if !self.reading.remove(&id) {
                continue;
            }
            if may_travel(&event) {
                self.make_ready(Flight { event, origin: Origin::Wanted, tries: 0 });
            } else {
                context.refused_there.insert(&id, 0);
                self.finish(&id, Origin::Wanted);
            }
        }
    }

    /// What the local side did not look for.
    pub(super) fn put_back(&mut self, unread: Vec<EventId>) {
        for id in unread.into_iter().rev().filter(|id| self.reading.remove(id)) {
            self.waiting.push_front(id);
        }
    }

    fn finish(&mut self, id: &EventId, origin: Origin) {
        self.busy.remove(id);
        self.catch_up -= usize::from(origin != Origin::Live);
    }

    /// Whether this event is on its way up, and so no news from above.
    pub(super) fn is_sending(&self, id: &EventId) -> bool {
        self.busy.contains(id)
    }

    /// Ids that wait.
    pub(super) fn waiting(&self) -> usize {
        self.catch_up
    }

    /// Whether the catch-up waits for nothing here.
    pub(super) fn is_idle(&self) -> bool {
        self.catch_up == 0
    }

    /// Whether an `OK` is due.
    pub(super) fn is_asking(&self) -> bool {
        !self.flights.is_empty()
    }

    /// When something waits for time to pass.
    pub(super) fn deadline(&self) -> Option<Duration> {
        (!self.ready.is_empty() && self.flights.len() < self.flights_max).then_some(self.hold_until)
    }

    /// Reads and sends as much as there is room for.
    pub(super) fn pump(&mut self, context: &mut Context) {
        if self.is_barred {
            return self.drop_all(context);
        }
        self.pump_reads(context);
        while context.now >= self.hold_until
            && self.flights.len() < self.flights_max
            && let Some(mut flight) = self.ready.pop_front()
        {
            if self.flights.is_empty() {
                context.moved();
            }
            self.live_ready -= usize::from(flight.origin == Origin::Live);
            flight.tries = flight.tries.saturating_add(1);
            context.progress.counts.sent += 1;
            context.progress.counts.resent += u64::from(flight.tries > 1);
            context.send(wire::event(&flight.event));
            self.flights.insert(flight.event.view().id(), flight);
        }
    }

    /// Keeps about as many events ready as may be in flight.
    fn pump_reads(&mut self, context: &mut Context) {
        let limits = &context.settings.limits;
        while !self.waiting.is_empty()
            && self.bytes + self.reading_bytes() < limits.send_bytes_max
            && self.ready.len() + self.reading.len() < self.flights_max
        {
            let count = READ_IDS_MAX.min(self.waiting.len());
            let ids: Vec<EventId> = self.waiting.drain(..count).collect();
            self.reading.extend(ids.iter().copied());
            context.effects.push_back(Effect::FetchLocal { ids, bytes_max: READ_BYTES_MAX });
        }
    }

    /// The most that what is being read may come to, but for the last event of each part.
    fn reading_bytes(&self) -> usize {
        self.reading.len().div_ceil(READ_IDS_MAX) * READ_BYTES_MAX
    }

    fn drop_all(&mut self, context: &mut Context) {
        let ready = self.ready.iter().map(|flight| flight.event.view().id());
        ready
            .chain(self.flights.keys().copied())
            .for_each(|id| context.report(&id, Verdict::Blocked));
        *self = Self { is_barred: true, ..Self::new(context) };
    }

    /// An `OK` for an event that was sent; others are ignored.
    pub(super) fn answer(
        &mut self,
        id: &EventId,
        accepted: bool,
        text: &str,
        context: &mut Context,
    ) {
        let Some(flight) = self.flights.remove(id) else { return };
        self.bytes -= flight.event.record_bytes();
        context.moved();
        if accepted {
            self.accept(id, flight.origin, text, context);
        } else if text.starts_with("duplicate") {
            // A newer version is there, or it is there and the relay says so as a refusal.
            context.progress.counts.accepted_duplicate += 1;
            context.is_fruitful = true;
            context.refused_there.insert(id, 0);
            context.report(id, Verdict::Superseded);
            self.finish(id, flight.origin);
        } else {
            self.refuse(id, flight, text, context);
        }
    }

    fn accept(&mut self, id: &EventId, origin: Origin, text: &str, context: &mut Context) {
        self.backoff.reset();
        self.flights_max = (self.flights_max + 1).min(context.settings.limits.send_events_max);
        let counts = &mut context.progress.counts;
        if text.starts_with("duplicate") {
            counts.accepted_duplicate += 1;
            context.report(id, Verdict::Duplicate);
        } else {
            counts.accepted += 1;
            context.report(id, Verdict::Stored);
        }
        let taken = context.recent.get(id).unwrap_or(0);
        context.recent.insert(id, taken.saturating_add(1));
        context.note_crossed(id, origin);
        context.is_fruitful = true;
        self.finish(id, origin);
    }

    fn refuse(&mut self, id: &EventId, flight: Flight, text: &str, context: &mut Context) {
        let refusal = context.refusal(text, None);
        let is_too_fast = refusal == Refusal::Busy;
        let is_for_now = is_too_fast || text.starts_with("error");
        if is_for_now && (is_too_fast || flight.tries < TRIES_MAX) {
            if context.now >= self.hold_until {
                self.flights_max = (self.flights_max / 2).max(1);
                self.hold_until = context.now + self.backoff.next();
            }
            if self.backoff.failures() > HOLDS_MAX {
                context.fault = Some(Fault::Connection(format!("EVENT refused: {text}")));
            }
            return self.make_ready(flight);
        }
        context.progress.counts.refused += 1;
        context.report(id, Verdict::Blocked);
        context.trouble(format!("EVENT refused: {text}"));
        // A relay that wants a login for every event wants it for this one too. One that takes some
        // events refuses the others for what they are.
        let counts = &context.progress.counts;
        let takes_any = counts.accepted + counts.accepted_duplicate > 0;
        if text.starts_with("auth-required") && (!takes_any || context.login.is_missing()) {
            context.auth_wanted = Some(text.to_owned());
            self.is_barred = true;
        } else {
            context.refused_there.insert(id, 0);
            context.is_fruitful = true;
        }
        self.finish(id, flight.origin);
    }

    /// Forgets everything that the connection knew.
    pub(super) fn reset(&mut self, context: &Context) {
        *self = Self::new(context);
    }
}

/// Whether an event may be sent by someone else than its author: logins (kind 22242) and protected
/// events (NIP-70) may not.
fn may_travel(event: &Event) -> bool {
    let view = event.view();
    let mut tags = view.tags();
    view.kind() != Kind::AUTH && !tags.any(|tag| tag.name() == Some(TagStr::Text(b"-")))
}
