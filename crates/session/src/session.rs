//! The state machine of one connection.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use zeolite_proto::{
    Blame, ClientMsg, Event, EventId, EventParser, Filter, MsgError, Prefix, PubKey, Reader,
    Reason, RelayMsg, SubId, Timestamp,
};

use crate::event_rules::{Publisher, check_event};
use crate::limits::SessionLimits;
use crate::login::Logins;
use crate::neg_hex;
use crate::subscriptions::{NegKey, SubKey, Subscriptions, count_values};

/// What happens to a session.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A text frame, whole.
    Text(&'a str),
    /// A binary frame, whole. It is read as text if it is UTF-8 (E-08).
    Binary(&'a [u8]),
    /// The relay closed this subscription and sent the `CLOSED` itself: its id is free.
    SubEnded(SubKey),
    /// The relay ended this reconciliation and sent the `NEG-ERR` itself: its id is free.
    NegEnded(NegKey),
    /// What [`Effect::CheckLogin`] came to.
    LoginChecked {
        /// The id of the event.
        id: EventId,
        /// Its author.
        key: PubKey,
        /// Whether its signature is right.
        is_signed: bool,
    },
}

/// What a session wants done, in this order.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Send this JSON text.
    Reply(Vec<u8>),
    /// Send this JSON text, which refuses something until the client has logged in; before it the
    /// challenge, unless that was sent already (R42-01).
    Demand(Vec<u8>),
    /// Check the signature of this login; the answer is [`Input::LoginChecked`].
    CheckLogin(Event),
    /// From here on the client may read what this reader may.
    LoggedIn(Arc<Reader>),
    /// An event was refused: send this JSON text, its `OK`, and before it the challenge as for
    /// [`Effect::Demand`] if the prefix is `auth-required`.
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
    /// Begin a reconciliation (NIP-77) and answer its first message.
    Reconcile {
        /// Names the reconciliation from here on.
        key: NegKey,
        /// Stands in every answer.
        sub: SubId,
        /// What the set consists of.
        filter: Box<Filter>,
        /// The client's first message.
        message: Vec<u8>,
    },
    /// Answer a further message of a reconciliation, after those before it.
    ReconcileMore {
        /// Which one.
        key: NegKey,
        /// The client's message.
        message: Vec<u8>,
    },
    /// Send nothing more for this reconciliation and forget its set.
    ReconcileEnd(NegKey),
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

/// R77-13: what is switched off is told so, and not listed in NIP-11.
const NOT_OFFERED: Reason =
    Reason { prefix: Prefix::Blocked, text: Cow::Borrowed("reconciliation is not offered") };

/// The relay's side of one connection.
///
/// Give it an input, then take effects until there are none. An input has at most two of them, and
/// the first is held in place: an idle session owns nothing on the heap but its subscriptions.
pub struct Session {
    limits: Arc<SessionLimits>,
    logins: Logins,
    subscriptions: Subscriptions<SubKey>,
    /// In a name space of their own (R77-06).
    reconciliations: Subscriptions<NegKey>,
    first: Option<Effect>,
    second: Option<Box<Effect>>,
}

impl Session {
    /// A session of a connection that was just opened.
    pub fn new(limits: Arc<SessionLimits>, logins: Logins) -> Self {
        Self {
            limits,
            logins,
            subscriptions: Subscriptions::default(),
            reconciliations: Subscriptions::default(),
            first: None,
            second: None,
        }
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
            Input::NegEnded(key) => self.reconciliations.remove_key(key),
            Input::LoginChecked { id, key, is_signed } => self.finish_login(id, key, is_signed),
        }
    }

    /// The next effect.
    pub fn poll(&mut self) -> Option<Effect> {
        self.first.take().or_else(|| self.second.take().map(|second| *second))
    }

    /// Open subscriptions.
    pub fn subscriptions(&self) -> usize {
        self.subscriptions.len()
    }

    /// Open reconciliations.
    pub fn reconciliations(&self) -> usize {
        self.reconciliations.len()
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
            Ok(ClientMsg::Auth(event)) => self.handle_auth(now, event),
            Ok(ClientMsg::NegOpen(sub, filter, hex)) => self.handle_neg_open(sub, filter, &hex),
            Ok(ClientMsg::NegMsg(sub, hex)) => self.handle_neg_msg(&sub, &hex),
            Ok(ClientMsg::NegClose(sub)) => self.end_reconciliation(sub.as_str()),
            Err(error) => self.refuse(error),
        }
    }

    fn handle_event(&mut self, now: Timestamp, event: Event) {
        let publisher = Publisher::Client(self.logins.reader());
        let checked = self
            .logins
            .check_let_in()
            .and_then(|()| check_event(&self.limits, event.view(), now, publisher));
        match checked {
            Ok(()) => self.push(Effect::Ingest(event)),
            Err(reason) => self.refuse_event(&event.view().id().to_string(), reason),
        }
    }

    /// R42-03: an AUTH is answered like an EVENT, and one that fails changes nothing.
    fn handle_auth(&mut self, now: Timestamp, event: Event) {
        match self.logins.check(event.view(), now) {
            Ok(()) => self.push(Effect::CheckLogin(event)),
            Err(reason) => self.reply(&RelayMsg::Ok(&event.view().id().to_string(), Err(reason))),
        }
    }

    fn finish_login(&mut self, id: EventId, key: PubKey, is_signed: bool) {
        let added = match is_signed {
            true => self.logins.add(key).map(Arc::clone),
            false => Err(Reason::invalid("the signature is wrong")),
        };
        match added {
            Ok(reader) => {
                self.push(Effect::LoggedIn(reader));
                self.reply(&RelayMsg::Ok(&id.to_string(), Ok(None)));
            }
            Err(reason) => self.reply(&RelayMsg::Ok(&id.to_string(), Err(reason))),
        }
    }

    /// Whatever becomes of it, a REQ ends the subscription that had its id (R01-47, E-27).
    fn handle_req(&mut self, sub: SubId, filters: Vec<Filter>) {
        self.unsubscribe(sub.as_str());
        let values = count_values(&filters);
        let admitted = self
            .check_room(values)
            .and_then(|()| self.check_filters(filters))
            .and_then(|filters| self.logins.check_reach(&filters).map(|()| filters));
        match admitted {
            Ok(filters) => {
                let key = self.subscriptions.insert(sub.clone(), values);
                self.push(Effect::Query { key, sub, filters });
            }
            Err(reason) => self.close_sub(sub.as_str(), reason),
        }
    }

    /// A COUNT may share its id with a subscription; neither knows of the other (R45-04).
    fn handle_count(&mut self, sub: SubId, filters: Vec<Filter>) {
        let admitted = self.check_filters(filters).and_then(|filters| {
            self.logins.check_reach(&filters)?;
            self.logins.check_counts(&filters).map(|()| filters)
        });
        match admitted {
            Ok(filters) => self.push(Effect::Count { sub, filters }),
            Err(reason) => self.close_sub(sub.as_str(), reason),
        }
    }

    /// Whatever becomes of it, a NEG-OPEN ends the reconciliation that had its id (R77-07).
    fn handle_neg_open(&mut self, sub: SubId, filter: Filter, hex: &str) {
        self.end_reconciliation(sub.as_str());
        let values = count_values(std::slice::from_ref(&filter));
        let admitted = self
            .check_neg_room(values)
            .and_then(|()| self.check_filter(filter))
            .and_then(|filter| {
                self.logins.check_reach(std::slice::from_ref(&filter))?;
                Ok((filter, neg_hex::decode(hex)?))
            });
        match admitted {
            Ok((filter, message)) => {
                let key = self.reconciliations.insert(sub.clone(), values);
                self.push(Effect::Reconcile { key, sub, filter: Box::new(filter), message });
            }
            Err(reason) => self.neg_err(sub.as_str(), reason),
        }
    }

    /// A message for an id that is not open is told so (R77-12); a broken one ends it (R77-04).
    fn handle_neg_msg(&mut self, sub: &SubId, hex: &str) {
        let Some(key) = self.reconciliations.key(sub.as_str()) else {
            let reason = match self.limits.reconciliations_max {
                0 => NOT_OFFERED,
                _ => Reason::new(Prefix::Closed, "no reconciliation is open under this id"),
            };
            return self.neg_err(sub.as_str(), reason);
        };
        match neg_hex::decode(hex) {
            Ok(message) => self.push(Effect::ReconcileMore { key, message }),
            Err(reason) => {
                self.end_reconciliation(sub.as_str());
                self.neg_err(sub.as_str(), reason);
            }
        }
    }

    fn end_reconciliation(&mut self, sub: &str) {
        if let Some(key) = self.reconciliations.remove(sub) {
            self.push(Effect::ReconcileEnd(key));
        }
    }

    fn check_neg_room(&self, values: usize) -> Result<(), Reason> {
        let open_max = self.limits.reconciliations_max;
        if open_max == 0 {
            return Err(NOT_OFFERED);
        }
        if self.reconciliations.len() >= open_max {
            return Err(Reason::new(
                Prefix::Closed,
                format!("more than {open_max} open reconciliations"),
            ));
        }
        let values_max = self.limits.filter_values_max;
        if self.reconciliations.values() + values > values_max {
            let text = format!("open reconciliations hold more than {values_max} values");
            return Err(Reason::new(Prefix::Closed, text));
        }
        Ok(())
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

    fn check_filters(&self, filters: Vec<Filter>) -> Result<Arc<[Filter]>, Reason> {
        let filters_max = self.limits.filters_max;
        if filters.len() > filters_max {
            return Err(Reason::invalid(format!("more than {filters_max} filters")));
        }
        let filters = filters.into_iter().map(|filter| self.check_filter(filter));
        filters.collect()
    }

    fn check_filter(&self, mut filter: Filter) -> Result<Filter, Reason> {
        // An empty search is none (R50-06).
        filter.search.take_if(|search| search.trim().is_empty());
        match filter.search {
            None => Ok(filter),
            Some(_) => Err(Reason::unsupported("search is not offered")),
        }
    }

    /// Answers a message that could not be read.
    fn refuse(&mut self, MsgError { blame, reason }: MsgError) {
        match blame {
            Blame::Event(id) => self.refuse_event(&id, reason),
            Blame::Sub(sub) => {
                self.unsubscribe(&sub);
                self.close_sub(&sub, reason);
            }
            Blame::Count(sub) => self.close_sub(&sub, reason),
            Blame::Neg(sub) => {
                self.end_reconciliation(&sub);
                self.neg_err(&sub, reason);
            }
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

    fn close_sub(&mut self, sub: &str, reason: Reason) {
        let prefix = reason.prefix;
        self.refuse_with(prefix, &RelayMsg::Closed(sub, reason));
    }

    fn neg_err(&mut self, sub: &str, reason: Reason) {
        let prefix = reason.prefix;
        self.refuse_with(prefix, &RelayMsg::NegErr(sub, reason, None));
    }

    fn refuse_with(&mut self, prefix: Prefix, refusal: &RelayMsg<'_>) {
        match prefix {
            Prefix::AuthRequired => self.push(Effect::Demand(encode(refusal))),
            _ => self.reply(refusal),
        }
    }

    fn notice(&mut self, reason: &Reason) {
        self.reply(&RelayMsg::Notice(&reason.to_string()));
    }

    fn reply(&mut self, message: &RelayMsg<'_>) {
        self.push(Effect::Reply(encode(message)));
    }

    fn push(&mut self, effect: Effect) {
        if self.first.is_none() {
            self.first = Some(effect);
        } else {
            assert!(self.second.is_none(), "an input has at most two effects");
            self.second = Some(Box::new(effect));
        }
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
