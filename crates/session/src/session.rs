//! The state machine of one connection.

use std::cell::RefCell;
use std::sync::Arc;

use zeolite_proto::{
    Blame, ClientMsg, Event, EventParser, Filter, MsgError, Prefix, Reason, RelayMsg, SubId,
    Timestamp,
};

use crate::event_rules::check_event;
use crate::limits::SessionLimits;
use crate::subscriptions::{SubKey, Subscriptions, count_values};

/// What happens to a session.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A text frame, whole.
    Text(&'a str),
    /// A binary frame, whole. It is read as text if it is UTF-8 (E-08).
    Binary(&'a [u8]),
    /// The relay closed this subscription and sent the `CLOSED` itself: its id is free.
    SubEnded(SubKey),
}

/// What a session wants done, in this order.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Send this JSON text.
    Reply(Vec<u8>),
    /// An event was refused: send this JSON text, its `OK`.
    Refuse {
        /// What to send.
        reply: Vec<u8>,
        /// Why, as far as a counter wants to know.
        prefix: Prefix,
    },
    /// Check the signature of this event and store it or pass it on; then answer its `OK`.
    Ingest(Event),
    /// Answer with stored events and `EOSE`, then with live ones, until [`Effect::Unsubscribe`].
    Query {
        /// Names the subscription from here on.
        key: SubKey,
        /// Stands in every answer.
        sub: SubId,
        /// At least one.
        filters: Arc<[Filter]>,
    },
    /// Answer with the number of stored events that match any of the filters. No subscription.
    Count {
        /// Stands in the answer; need not differ from that of a subscription.
        sub: SubId,
        /// At least one.
        filters: Arc<[Filter]>,
    },
    /// Send nothing more for this subscription.
    Unsubscribe(SubKey),
    /// Close the connection with this WebSocket status.
    Close {
        /// RFC 6455, section 7.4.1.
        code: u16,
        /// At most 123 bytes.
        reason: &'static str,
    },
}

/// WebSocket status "message too big".
const CLOSE_TOO_BIG: u16 = 1009;

/// The relay's side of one connection.
///
/// Give it an input, then take effects until there are none. An input has at most two of them,
/// and they are held in place: an idle session owns nothing on the heap but its subscriptions.
pub struct Session {
    limits: Arc<SessionLimits>,
    subscriptions: Subscriptions,
    first: Option<Effect>,
    second: Option<Effect>,
}

impl Session {
    /// A session of a connection that was just opened.
    pub fn new(limits: Arc<SessionLimits>) -> Self {
        Self { limits, subscriptions: Subscriptions::default(), first: None, second: None }
    }

    /// Takes one input.
    ///
    /// # Panics
    /// If effects of the input before are still there.
    pub fn handle(&mut self, now: Timestamp, input: Input<'_>) {
        assert!(self.first.is_none() && self.second.is_none(), "effects are taken first");
        match input {
            Input::Text(text) => self.handle_text(now, text),
            Input::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.handle_text(now, text),
                Err(_) => self.notice(&Reason::invalid("message is not UTF-8")),
            },
            Input::SubEnded(key) => self.subscriptions.remove_key(key),
        }
    }

    /// The next effect.
    pub fn poll(&mut self) -> Option<Effect> {
        self.first.take().or_else(|| self.second.take())
    }

    /// Open subscriptions.
    pub fn subscriptions(&self) -> usize {
        self.subscriptions.len()
    }

    fn handle_text(&mut self, now: Timestamp, text: &str) {
        if text.len() > self.limits.message_bytes_max {
            return self.push(Effect::Close { code: CLOSE_TOO_BIG, reason: "message is too big" });
        }
        match parse(text) {
            Ok(ClientMsg::Event(event)) => self.handle_event(now, event),
            Ok(ClientMsg::Req(sub, filters)) => self.handle_req(sub, filters),
            Ok(ClientMsg::Close(sub)) => self.unsubscribe(sub.as_str()),
            Ok(ClientMsg::Count(sub, filters)) => self.handle_count(sub, filters),
            Ok(ClientMsg::Auth(event)) => {
                let reason = Reason::blocked("authentication is not offered");
                let id = event.view().id().to_string();
                self.reply(&RelayMsg::Ok(&id, Err(reason)));
            }
            Ok(ClientMsg::NegOpen(sub, ..) | ClientMsg::NegMsg(sub, _)) => {
                let reason = Reason::blocked("reconciliation is not offered");
                self.reply(&RelayMsg::NegErr(sub.as_str(), reason, None));
            }
            Ok(ClientMsg::NegClose(_)) => {}
            Err(error) => self.refuse(error),
        }
    }

    fn handle_event(&mut self, now: Timestamp, event: Event) {
        match check_event(&self.limits, event.view(), now) {
            Ok(()) => self.push(Effect::Ingest(event)),
            Err(reason) => self.refuse_event(&event.view().id().to_string(), reason),
        }
    }

    /// Whatever becomes of it, a REQ ends the subscription that had its id (R01-47, E-27).
    fn handle_req(&mut self, sub: SubId, filters: Vec<Filter>) {
        self.unsubscribe(sub.as_str());
        let values = count_values(&filters);
        let admitted = self.check_room(values).and_then(|()| self.check_filters(filters));
        match admitted {
            Ok(filters) => {
                let key = self.subscriptions.insert(sub.clone(), values);
                self.push(Effect::Query { key, sub, filters });
            }
            Err(reason) => self.reply(&RelayMsg::Closed(sub.as_str(), reason)),
        }
    }

    /// A COUNT may share its id with a subscription; neither knows of the other (R45-04).
    fn handle_count(&mut self, sub: SubId, filters: Vec<Filter>) {
        match self.check_filters(filters) {
            Ok(filters) => self.push(Effect::Count { sub, filters }),
            Err(reason) => self.reply(&RelayMsg::Closed(sub.as_str(), reason)),
        }
    }

    fn check_room(&self, values: usize) -> Result<(), Reason> {
        let open_max = self.limits.subscriptions_max;
        let values_max = self.limits.filter_values_max;
        if self.subscriptions.len() >= open_max {
            Err(Reason::blocked(format!("more than {open_max} open subscriptions")))
        } else if self.subscriptions.values() + values > values_max {
            Err(Reason::blocked(format!("open subscriptions hold more than {values_max} values")))
        } else {
            Ok(())
        }
    }

    fn check_filters(&self, mut filters: Vec<Filter>) -> Result<Arc<[Filter]>, Reason> {
        let filters_max = self.limits.filters_max;
        if filters.len() > filters_max {
            return Err(Reason::invalid(format!("more than {filters_max} filters")));
        }
        for filter in &mut filters {
            // An empty search is none (R50-06).
            filter.search.take_if(|search| search.trim().is_empty());
            if filter.search.is_some() {
                return Err(Reason::unsupported("search is not offered"));
            }
        }
        Ok(filters.into())
    }

    /// Answers a message that could not be read.
    fn refuse(&mut self, MsgError { blame, reason }: MsgError) {
        match blame {
            Blame::Event(id) => self.refuse_event(&id, reason),
            Blame::Sub(sub) => {
                self.unsubscribe(&sub);
                self.reply(&RelayMsg::Closed(&sub, reason));
            }
            Blame::Count(sub) => self.reply(&RelayMsg::Closed(&sub, reason)),
            Blame::Neg(sub) => self.reply(&RelayMsg::NegErr(&sub, reason, None)),
            Blame::Message => self.notice(&reason),
        }
    }

    fn refuse_event(&mut self, id: &str, reason: Reason) {
        let prefix = reason.prefix;
        let reply = encode(&RelayMsg::Ok(id, Err(reason)));
        self.push(Effect::Refuse { reply, prefix });
    }

    fn unsubscribe(&mut self, sub: &str) {
        if let Some(key) = self.subscriptions.remove(sub) {
            self.push(Effect::Unsubscribe(key));
        }
    }

    fn notice(&mut self, reason: &Reason) {
        self.reply(&RelayMsg::Notice(&reason.to_string()));
    }

    fn reply(&mut self, message: &RelayMsg<'_>) {
        self.push(Effect::Reply(encode(message)));
    }

    fn push(&mut self, effect: Effect) {
        let slot = if self.first.is_none() { &mut self.first } else { &mut self.second };
        assert!(slot.is_none(), "an input has at most two effects");
        *slot = Some(effect);
    }
}

fn encode(message: &RelayMsg<'_>) -> Vec<u8> {
    let mut json = Vec::new();
    message.encode(&mut json);
    json
}

/// Parses with scratch space that all sessions of a thread share, so that an idle one has none.
fn parse(text: &str) -> Result<ClientMsg, MsgError> {
    thread_local! {
        static PARSER: RefCell<EventParser> = RefCell::new(EventParser::new());
    }
    PARSER.with_borrow_mut(|parser| ClientMsg::parse(text, parser))
}
