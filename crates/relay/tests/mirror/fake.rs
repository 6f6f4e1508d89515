//! An upstream that misbehaves as it is told. It keeps count of what it is asked.

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};
use zeolite_proto::{EventId, Timestamp};
use zeolite_reconcile::{FrameLimit, Item, SortedSet, respond};

use crate::guard::{Door, Guard};
use crate::support::{Ids, ids_of};

/// What it does about NIP-77.
#[derive(Clone, Debug)]
pub(crate) enum Neg {
    /// Reconciles.
    Served,
    /// Reconciles sets of at most so many, and says the number in this form.
    Capped(usize, Value),
    /// Answers every NEG-OPEN so; the text `$` in it becomes the session's id.
    Refused(Value),
}

/// What it does besides.
#[derive(Clone, Debug)]
pub(crate) struct Manners {
    pub(crate) neg: Neg,
    /// Results of a REQ, whatever it asks for.
    pub(crate) page: usize,
    /// The answer to every REQ instead of events.
    pub(crate) closed: Option<&'static str>,
    /// The answer to every EVENT that is refused.
    pub(crate) refuse: Option<fn(&Value) -> Option<&'static str>>,
    /// Whom it lets in.
    pub(crate) guard: Option<Guard>,
}

impl Default for Manners {
    fn default() -> Self {
        Self { neg: Neg::Served, page: 500, closed: None, refuse: None, guard: None }
    }
}

#[derive(Default)]
struct State {
    events: Vec<Value>,
    asked: Vec<Value>,
}

/// A relay in a thread of the test; it ends with the process.
#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) url: String,
    state: Arc<Mutex<State>>,
}

impl Fake {
    pub(crate) fn start(neg: Neg) -> Self {
        Self::with(Manners { neg, ..Manners::default() })
    }

    pub(crate) fn with(manners: Manners) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("ws://{}", listener.local_addr().expect("it is bound"));
        let state = Arc::new(Mutex::new(State::default()));
        let (shared, own_url) = (Arc::clone(&state), url.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (state, manners) = (Arc::clone(&shared), manners.clone());
                let door = manners.guard.map(|guard| Door::new(guard, &own_url));
                thread::spawn(move || {
                    // A question about NIP-11 is no WebSocket, and fails here.
                    if let Ok(socket) = tungstenite::accept(stream) {
                        serve(socket, &state, &manners, door);
                    }
                });
            }
        });
        Self { url, state }
    }

    /// Gives it events.
    pub(crate) fn hold(&self, events: &[Value]) {
        self.state.lock().expect("no thread failed").events.extend_from_slice(events);
    }

    /// The ids of what it holds.
    pub(crate) fn ids(&self) -> Ids {
        ids_of(&self.state.lock().expect("no thread failed").events)
    }

    /// How many messages with this verb it got.
    pub(crate) fn asked(&self, verb: &str) -> usize {
        let state = self.state.lock().expect("no thread failed");
        state.asked.iter().filter(|message| message[0] == verb).count()
    }
}

fn serve(
    mut socket: WebSocket<TcpStream>,
    state: &Mutex<State>,
    manners: &Manners,
    mut door: Option<Door>,
) {
    let mut session = None;
    if let Some(greeting) = door.as_ref().and_then(Door::greeting)
        && socket.send(Message::text(greeting.to_string())).is_err()
    {
        return;
    }
    while let Ok(message) = socket.read() {
        let Message::Text(text) = message else { continue };
        let message: Value = serde_json::from_str(&text).expect("the mirror speaks JSON");
        let replies = {
            let mut state = state.lock().expect("no thread failed");
            state.asked.push(message.clone());
            let turned_away = door.as_mut().and_then(|door| door.answer(&message));
            turned_away.unwrap_or_else(|| answer(&message, &mut state, manners, &mut session))
        };
        for reply in replies {
            if socket.send(Message::text(reply.to_string())).is_err() {
                return;
            }
        }
    }
}

fn answer(
    message: &Value,
    state: &mut State,
    manners: &Manners,
    session: &mut Option<SortedSet>,
) -> Vec<Value> {
    let id = &message[1];
    match message[0].as_str() {
        Some("EVENT") => {
            let event = message[1].clone();
            if let Some(why) = manners.refuse.and_then(|refuse| refuse(&event)) {
                return vec![json!(["OK", event["id"], false, why])];
            }
            let reply = json!(["OK", event["id"], true, ""]);
            state.events.push(event);
            vec![reply]
        }
        Some("REQ") => match manners.closed {
            Some(why) => vec![json!(["CLOSED", id, why])],
            None => stored(id, &message[2], &state.events, manners.page),
        },
        Some("NEG-OPEN") => match &manners.neg {
            Neg::Refused(reply) => vec![with_id(reply, id)],
            Neg::Served => open(id, message, state, usize::MAX, &Value::Null, session),
            Neg::Capped(cap, said) => open(id, message, state, *cap, said, session),
        },
        Some("NEG-MSG") => go_on(id, &message[2], session),
        _ => Vec::new(),
    }
}

fn with_id(reply: &Value, id: &Value) -> Value {
    let parts = reply.as_array().expect("a message").iter();
    parts.map(|part| if part == "$" { id.clone() } else { part.clone() }).collect()
}

fn stored(id: &Value, filter: &Value, events: &[Value], page: usize) -> Vec<Value> {
    let mut found = select(filter, events);
    found.sort_by_key(|event| (u64::MAX - at(event), event["id"].to_string()));
    let limit = filter["limit"].as_u64().map_or(page, |limit| page.min(limit as usize));
    let events = found.into_iter().take(limit).map(|event| json!(["EVENT", id, event]));
    events.chain([json!(["EOSE", id])]).collect()
}

fn at(event: &Value) -> u64 {
    event["created_at"].as_u64().expect("an event has a time")
}

fn select<'e>(filter: &Value, events: &'e [Value]) -> Vec<&'e Value> {
    let has = |list: &Value, value: &Value| list.as_array().is_none_or(|list| list.contains(value));
    let fits = |event: &&Value| {
        has(&filter["ids"], &event["id"])
            && has(&filter["kinds"], &event["kind"])
            && has(&filter["authors"], &event["pubkey"])
            && filter["since"].as_u64().is_none_or(|since| at(event) >= since)
            && filter["until"].as_u64().is_none_or(|until| at(event) <= until)
    };
    events.iter().filter(fits).collect()
}

fn open(
    id: &Value,
    message: &Value,
    state: &State,
    cap: usize,
    said: &Value,
    session: &mut Option<SortedSet>,
) -> Vec<Value> {
    let found = select(&message[2], &state.events);
    if found.len() > cap {
        return vec![json!(["NEG-ERR", id, "blocked: this query is too big", said])];
    }
    let item = |event: &Value| Item {
        time: Timestamp(at(event)),
        id: EventId::from_hex(event["id"].as_str().expect("text")).expect("hex"),
    };
    *session = Some(SortedSet::new(found.into_iter().map(item).collect()));
    go_on(id, &message[3], session)
}

fn go_on(id: &Value, hex: &Value, session: &Option<SortedSet>) -> Vec<Value> {
    let Some(set) = session else { return vec![json!(["NEG-ERR", id, "closed: unknown"])] };
    let mut message = vec![0; hex.as_str().expect("hex").len() / 2];
    faster_hex::hex_decode(hex.as_str().expect("hex").as_bytes(), &mut message).expect("hex");
    let answer = respond(set, &message, FrameLimit::NONE).expect("the mirror reconciles");
    vec![json!(["NEG-MSG", id, faster_hex::hex_string(&answer)])]
}
