//! One connection from both of its sides: the reader's duties, and the client that reads the bytes.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;
use std::sync::Arc;

use serde_json::Value;
use zeolite_proto::{RelayMsg, Timestamp};
use zeolite_relay::clients::Visitor;
use zeolite_relay::conn::{Conn, ConnId};
use zeolite_relay::login::{Login, LoginDesk};
use zeolite_relay::outbox::{Drained, OutboxBounds, Taken};
use zeolite_relay::subscription::Subscription;
use zeolite_session::{Effect, Input, LoginTerms, Session, SessionLimits, SubKey};

use crate::history::History;
use crate::request::Request;

/// A connection and its client.
pub(crate) struct Client {
    pub(crate) conn: Arc<Conn>,
    session: Session,
    subscriptions: HashMap<SubKey, Arc<Subscription>>,
    /// Which REQ each of the connection's subscriptions stands for.
    pub(crate) requests: BTreeMap<SubKey, usize>,
    /// What the writer took from the outbox, and how much of it the socket took.
    taken: Vec<u8>,
    written: usize,
    /// Bytes that make no whole frame yet.
    unread: Vec<u8>,
    /// Which REQ an id on the wire stands for, at the place where the client reads.
    open: HashMap<String, usize>,
}

/// What the reader has to pass on.
pub(crate) enum Order {
    Query(Arc<Subscription>),
    Detach(SubKey),
}

impl Client {
    pub(crate) fn new(id: u64, bounds: OutboxBounds) -> Self {
        let desk = LoginDesk::new(LoginTerms::default(), Arc::default());
        let logins = Login::new(&desk).logins(ConnId(id));
        Self {
            conn: Arc::new(Conn::new(
                ConnId(id),
                Visitor::free(Ipv4Addr::LOCALHOST.into()),
                &desk,
                bounds,
            )),
            session: Session::new(Arc::new(SessionLimits::default()), logins),
            subscriptions: HashMap::new(),
            requests: BTreeMap::new(),
            taken: Vec::new(),
            written: 0,
            unread: Vec::new(),
            open: HashMap::new(),
        }
    }

    /// What the connection's reader does with a message. `request` is the number of the REQ, if
    /// it is one.
    pub(crate) fn say(&mut self, now: Timestamp, message: &Value, request: usize) -> Vec<Order> {
        for key in self.conn.outbox.take_ended() {
            self.subscriptions.remove(&key);
            self.session.handle(now, Input::SubEnded(key));
        }
        self.session.handle(now, Input::Text(&message.to_string()));
        let mut orders = Vec::new();
        while let Some(effect) = self.session.poll() {
            orders.extend(self.apply(effect, request));
        }
        orders
    }

    /// Marks in the outbox show the client where one REQ of an id ends and the next begins.
    fn apply(&mut self, effect: Effect, request: usize) -> Option<Order> {
        match effect {
            Effect::Query { key, sub, filters } => {
                self.mark(&format!("open {request} {sub}"));
                self.requests.insert(key, request);
                let conn = Arc::clone(&self.conn);
                let subscription = Subscription::new(conn, key, sub, filters);
                self.subscriptions.insert(key, Arc::clone(&subscription));
                Some(Order::Query(subscription))
            }
            Effect::Unsubscribe(key) => {
                let subscription = self.subscriptions.remove(&key)?;
                subscription.end();
                self.conn.lane.cancel(key);
                self.mark(&format!("close {}", subscription.sub()));
                Some(Order::Detach(key))
            }
            other => panic!("the simulation sends nothing that asks for {other:?}"),
        }
    }

    fn mark(&self, text: &str) {
        self.conn.outbox.reply(&RelayMsg::Notice(text));
    }

    /// The socket takes up to `bytes_max` bytes. Says who may go on, and how many bytes it was.
    pub(crate) fn write(&mut self, bytes_max: usize) -> (Drained, usize) {
        if self.written == self.taken.len() {
            self.taken.clear();
            self.written = 0;
            if self.conn.outbox.take(&mut self.taken) != Taken::Frames {
                return (Drained::default(), 0);
            }
        }
        let bytes = bytes_max.min(self.taken.len() - self.written);
        self.unread.extend_from_slice(&self.taken[self.written..self.written + bytes]);
        self.written += bytes;
        (self.conn.outbox.written(bytes), bytes)
    }

    /// The client reads what has arrived.
    pub(crate) fn read(&mut self, requests: &mut [Request], history: &History) {
        while let Some(text) = self.next_text() {
            let message: Value = serde_json::from_slice(&text).expect("JSON");
            self.hear(&message, requests, history);
        }
    }

    fn next_text(&mut self) -> Option<Vec<u8>> {
        let [0x81, short, rest @ ..] = &self.unread[..] else { return None };
        let (length, head) = match short {
            126 => (u16::from_be_bytes(*rest.first_chunk()?).into(), 4),
            127 => (usize::try_from(u64::from_be_bytes(*rest.first_chunk()?)).ok()?, 10),
            short => (usize::from(*short), 2),
        };
        let text = self.unread.get(head..head + length)?.to_vec();
        self.unread.drain(..head + length);
        Some(text)
    }

    fn hear(&mut self, message: &Value, requests: &mut [Request], history: &History) {
        let text = |at: usize| message[at].as_str().unwrap_or_default();
        if text(0) == "NOTICE" {
            return self.hear_mark(text(1), requests);
        }
        let number = self.open.get(text(1)).unwrap_or_else(|| panic!("not open: {message}"));
        let request = &mut requests[*number];
        match text(0) {
            "EVENT" => request.event(&message[2], history),
            "EOSE" => request.eose(message[2][0].as_str().unwrap_or_default().to_owned()),
            "CLOSED" => {
                request.closed(text(2));
                self.open.remove(text(1));
            }
            _ => panic!("nothing asked for {message}"),
        }
    }

    fn hear_mark(&mut self, mark: &str, requests: &mut [Request]) {
        if let Some(sub) = mark.strip_prefix("close ") {
            if let Some(number) = self.open.remove(sub) {
                requests[number].end = Some(crate::request::End::Client);
            }
            return;
        }
        let mut words = mark.splitn(3, ' ').skip(1);
        let number = words.next().and_then(|word| word.parse().ok()).expect("a number");
        let sub = words.next().expect("an id").to_owned();
        assert_eq!(self.open.insert(sub, number), None, "an id stands for one REQ at a time");
    }

    /// The connection is gone, and what the client did not get of its REQs with it.
    pub(crate) fn abandon(&mut self, requests: &mut [Request]) {
        self.conn.outbox.abandon();
        self.conn.lane.clear();
        for &number in self.requests.values() {
            requests[number].end.get_or_insert(crate::request::End::Client);
        }
    }
}
