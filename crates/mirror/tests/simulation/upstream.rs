//! The simulated upstream. It reconciles by the `negentropy` crate, not by our own code.

use std::collections::BTreeMap;

use negentropy::{Id, NegentropyStorageVector};
use rand::RngExt;
use zeolite_mirror::Verdict;
use zeolite_proto::{
    ClientMsg, EoseHint, Event, EventParser, Filter, Prefix, Reason, RelayMsg, SubId,
};
use zeolite_testkit::TestRng;

use crate::habits::{Habits, Negentropy};
use crate::store::Store;

/// What an upstream does in answer to a message.
pub(crate) enum Reaction {
    /// It sends a text. Texts of one lane keep their order; lanes may overtake one another.
    Say { lane: String, text: String },
    /// It closes the connection.
    Drop,
}

pub(crate) struct Upstream {
    pub store: Store,
    pub habits: Habits,
    live: BTreeMap<SubId, Vec<Filter>>,
    sessions: BTreeMap<SubId, negentropy::Negentropy<'static, NegentropyStorageVector>>,
    /// Whether the mirror has logged in.
    knows: bool,
    has_asked: bool,
    connections: u64,
    /// Messages that came.
    pub heard: u64,
    pub refused_at_door: u64,
    pub neg_opens: u64,
    /// Bytes of the records of events that it took.
    pub taken_bytes: usize,
    /// An event that matches no mirror's filter, for lies.
    pub lie: Option<Event>,
}

impl Upstream {
    pub(crate) fn new(habits: Habits) -> Self {
        Self {
            store: Store::new(),
            habits,
            live: BTreeMap::new(),
            sessions: BTreeMap::new(),
            knows: false,
            has_asked: false,
            connections: 0,
            heard: 0,
            refused_at_door: 0,
            neg_opens: 0,
            taken_bytes: 0,
            lie: None,
        }
    }

    /// A new connection knows nothing of the last one.
    pub(crate) fn forget_connection(&mut self) {
        self.live.clear();
        self.sessions.clear();
        self.knows = false;
        self.has_asked = false;
        self.connections += 1;
    }

    /// What the mirror may see.
    fn visible(&self, filter: &Filter) -> Vec<Event> {
        let mut events = self.store.query(filter);
        let members_only = &self.habits.members_only;
        events.retain(|event| self.knows || !members_only.contains(&event.view().id()));
        events
    }

    pub(crate) fn hear(&mut self, text: &str, rng: &mut TestRng) -> Vec<Reaction> {
        self.heard += 1;
        if happens(self.habits.drops, rng) {
            return vec![Reaction::Drop];
        }
        if happens(self.habits.ignores, rng) {
            return Vec::new();
        }
        let message = ClientMsg::parse(text, &mut EventParser::new());
        let message = message.unwrap_or_else(|error| panic!("{error}: {text}"));
        let mut out = Vec::new();
        if self.habits.wants_login && !self.knows && self.turn_away(&message, &mut out) {
            return out;
        }
        if let ClientMsg::Req(sub, _) | ClientMsg::NegOpen(sub, ..) = &message
            && !self.habits.members_only.is_empty()
            && !std::mem::replace(&mut self.has_asked, true)
        {
            // Before the answer to what made it ask, which it does not wait with.
            say(sub.as_str(), &RelayMsg::Auth(&self.connections.to_string()), &mut out);
        }
        match message {
            ClientMsg::Event(event) => self.take(&event, &mut out, rng),
            ClientMsg::Req(sub, filters) => self.answer(&sub, filters, &mut out, rng),
            ClientMsg::Close(sub) => _ = self.live.remove(&sub),
            ClientMsg::NegOpen(sub, filter, hex) => self.open(&sub, &filter, &hex, &mut out),
            ClientMsg::NegMsg(sub, hex) => self.go_on(&sub, &hex, &mut out),
            ClientMsg::NegClose(sub) => _ = self.sessions.remove(&sub),
            ClientMsg::Auth(event) if self.asks() => self.log_in(&event, &mut out),
            ClientMsg::Auth(_) | ClientMsg::Count(..) => panic!("a mirror does not say {text}"),
        }
        out
    }

    /// Refuses what a stranger asks for.
    fn turn_away(&mut self, message: &ClientMsg, out: &mut Vec<Reaction>) -> bool {
        let reason = Reason::new(Prefix::AuthRequired, "who are you?");
        let lane = "door";
        match message {
            ClientMsg::Event(event) => {
                let id = event.view().id().to_string();
                say(lane, &RelayMsg::Ok(&id, Err(reason)), out);
            }
            ClientMsg::Req(sub, _) => say(lane, &RelayMsg::Closed(sub.as_str(), reason), out),
            ClientMsg::NegOpen(sub, ..) => {
                say(lane, &RelayMsg::NegErr(sub.as_str(), reason, None), out);
            }
            _ => return false,
        }
        self.refused_at_door += 1;
        if !std::mem::replace(&mut self.has_asked, true) {
            say(lane, &RelayMsg::Auth(&self.connections.to_string()), out);
        }
        true
    }

    fn asks(&self) -> bool {
        self.habits.wants_login || !self.habits.members_only.is_empty()
    }

    fn log_in(&mut self, login: &Event, out: &mut Vec<Reaction>) {
        self.knows = true;
        say("ok", &RelayMsg::Ok(&login.view().id().to_string(), Ok(None)), out);
    }

    /// A new event of someone else.
    pub(crate) fn publish(&mut self, event: &Event) -> Vec<Reaction> {
        let mut out = Vec::new();
        if matches!(self.store.publish(event), Verdict::Stored | Verdict::Ephemeral) {
            self.fan_out(event, &mut out);
        }
        out
    }

    fn fan_out(&self, event: &Event, out: &mut Vec<Reaction>) {
        for (sub, filters) in &self.live {
            if filters.iter().any(|filter| filter.matches(event.view())) {
                say(sub.as_str(), &RelayMsg::Event(sub, event.json()), out);
            }
        }
    }

    fn take(&mut self, event: &Event, out: &mut Vec<Reaction>, rng: &mut TestRng) {
        let id = event.view().id();
        let outcome = if happens(self.habits.is_too_fast, rng) {
            Err(Reason::new(Prefix::RateLimited, "slow down"))
        } else if self.habits.unwelcome.contains(&id) {
            Err(Reason::blocked("not here"))
        } else if self.habits.swallowed.contains(&id) {
            Ok(None)
        } else {
            match self.store.publish(event) {
                Verdict::Stored | Verdict::Ephemeral => {
                    self.taken_bytes += event.record_bytes();
                    self.fan_out(event, out);
                    Ok(None)
                }
                Verdict::Duplicate => Ok(Some(Reason::new(Prefix::Duplicate, "have it"))),
                Verdict::Superseded => Err(Reason::new(Prefix::Duplicate, "have a newer one")),
                other => Err(Reason::blocked(format!("{other:?}"))),
            }
        };
        say("ok", &RelayMsg::Ok(&id.to_string(), outcome), out);
    }

    fn answer(
        &mut self,
        sub: &SubId,
        filters: Vec<Filter>,
        out: &mut Vec<Reaction>,
        rng: &mut TestRng,
    ) {
        if happens(self.habits.is_busy, rng) {
            let reason = Reason::new(Prefix::RateLimited, "too many requests");
            return say(sub.as_str(), &RelayMsg::Closed(sub.as_str(), reason), out);
        }
        if filters.iter().any(|filter| filter.limit == Some(0)) && !self.habits.takes_limit_zero {
            let reason = Reason::invalid("limit must be positive");
            return say(sub.as_str(), &RelayMsg::Closed(sub.as_str(), reason), out);
        }
        let (events, is_whole) = self.stored(&filters);
        let hint = match (self.habits.gives_hints, is_whole) {
            (false, _) => EoseHint::None,
            (true, true) => EoseHint::Finish,
            (true, false) => EoseHint::More,
        };
        let is_early = happens(self.habits.ends_early, rng);
        if is_early {
            say(sub.as_str(), &RelayMsg::Eose(sub, hint), out);
        }
        for event in events {
            if let Some(lie) = self.lie.clone().filter(|_| happens(self.habits.lies, rng)) {
                say(sub.as_str(), &RelayMsg::Event(sub, lie.json()), out);
            }
            say(sub.as_str(), &RelayMsg::Event(sub, event.json()), out);
        }
        if !is_early {
            say(sub.as_str(), &RelayMsg::Eose(sub, hint), out);
        }
        let is_limited = |filter: &Filter| filter.limit.is_some_and(|limit| limit < 2);
        if self.habits.ends_limited && filters.iter().any(is_limited) {
            let reason = Reason::error("that was all");
            return say(sub.as_str(), &RelayMsg::Closed(sub.as_str(), reason), out);
        }
        self.live.insert(sub.clone(), filters);
    }

    /// What is stored, and whether that is all.
    fn stored(&self, filters: &[Filter]) -> (Vec<Event>, bool) {
        let (mut events, mut is_whole): (Vec<Event>, bool) = (Vec::new(), true);
        for filter in filters {
            let limit = filter.limit.unwrap_or(u64::MAX).min(self.habits.limit_max);
            let all = self.visible(&Filter { limit: None, ..filter.clone() });
            is_whole &= all.len() as u64 <= limit;
            events.extend(all.into_iter().take(usize::try_from(limit).unwrap_or(usize::MAX)));
        }
        events.retain(|event| !self.habits.hidden.contains(&event.view().id()));
        (events, is_whole)
    }

    fn open(&mut self, sub: &SubId, filter: &Filter, hex: &str, out: &mut Vec<Reaction>) {
        self.neg_opens += 1;
        let (cap, states_cap, frame_bytes_max) = match &self.habits.negentropy {
            Negentropy::Serves { cap, states_cap, frame_bytes_max } => {
                (*cap, *states_cap, *frame_bytes_max)
            }
            Negentropy::Says(text) => {
                let text = text.replace("SUB", sub.as_str());
                return out.push(Reaction::Say { lane: sub.to_string(), text });
            }
            Negentropy::Silent => return,
            Negentropy::Drops => return out.push(Reaction::Drop),
        };
        let events = self.visible(filter);
        if events.len() > cap {
            let reason = Reason::blocked("too many query results");
            let stated = states_cap.then_some(cap as u64);
            return say(sub.as_str(), &RelayMsg::NegErr(sub.as_str(), reason, stated), out);
        }
        let mut storage = NegentropyStorageVector::new();
        for event in events {
            let view = event.view();
            storage
                .insert(view.created_at().0, Id::from_byte_array(view.id().0))
                .expect("the storage is open");
        }
        storage.seal().expect("the storage is open");
        let session = negentropy::Negentropy::owned(storage, frame_bytes_max).expect("a limit");
        self.sessions.insert(sub.clone(), session);
        self.go_on(sub, hex, out);
    }

    fn go_on(&mut self, sub: &SubId, hex: &str, out: &mut Vec<Reaction>) {
        let Some(session) = self.sessions.get_mut(sub) else {
            let reason = RelayMsg::NegErr(sub.as_str(), Reason::new(Prefix::Error, "closed"), None);
            return say(sub.as_str(), &reason, out);
        };
        let mut message = vec![0; hex.len() / 2];
        faster_hex::hex_decode(hex.as_bytes(), &mut message).expect("a mirror writes hex");
        let answer = session.reconcile(&message).expect("a mirror writes good frames");
        say(sub.as_str(), &RelayMsg::NegMsg(sub, &answer), out);
    }
}

fn say(lane: &str, message: &RelayMsg<'_>, out: &mut Vec<Reaction>) {
    let mut text = Vec::new();
    message.encode(&mut text);
    let text = String::from_utf8(text).expect("messages are UTF-8");
    out.push(Reaction::Say { lane: lane.to_owned(), text });
}

pub(crate) fn happens(one_in: u32, rng: &mut TestRng) -> bool {
    one_in > 0 && rng.random_ratio(1, one_in)
}
