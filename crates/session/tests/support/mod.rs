//! One `check` that touches the session's API; everything else is data.

#![allow(dead_code, reason = "each test crate uses a part of this module")]

use std::sync::Arc;

use serde_json::Value;
use zeolite_proto::{EventId, Gates, Kind, PubKey, Reader, Timestamp};
use zeolite_session::{
    Challenge, Effect, Input, LoginTerms, Logins, NegKey, Session, SessionLimits, SubKey,
};

/// The time of every session under test.
pub(crate) const NOW: u64 = 1_700_000_000;

/// What is done to a session.
pub(crate) enum Step {
    /// A text frame arrives.
    Text(String),
    /// A binary frame arrives.
    Binary(Vec<u8>),
    /// The relay has closed this subscription.
    Ended(u64),
    /// The relay has ended this reconciliation.
    NegEnded(u64),
    /// The relay has checked the signature of a login: by this key, and whether it is right.
    Checked(String, bool),
}

/// What every session under test sends to whoever must log in.
pub(crate) const CHALLENGE: &str = "0102030405060708090a0b0c0d0e0f10";

/// The logins of a connection to relay.example, where direct messages and gift wraps are gated.
pub(crate) fn logins(is_required: bool) -> Logins {
    let own_urls = vec!["wss://relay.example".to_owned(), "ws://127.0.0.1:7447".to_owned()];
    let terms = LoginTerms { own_urls, is_required, is_prompted: false, keys_max: 2 };
    let kinds = [Kind::DIRECT_MESSAGE, Kind::GIFT_WRAP, Kind::EPHEMERAL_GIFT_WRAP];
    let gates = Gates::new(kinds, []);
    let challenge = Challenge([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    Logins::new(Arc::new(terms), challenge, Arc::new(Reader::anonymous(Arc::new(gates))))
}

/// A text frame.
pub(crate) fn text(message: impl Into<String>) -> Step {
    Step::Text(message.into())
}

/// A session, and the effects of what is done to it in words.
pub(crate) struct World(Session);

impl World {
    pub(crate) fn new(limits: SessionLimits) -> Self {
        Self(Session::new(Arc::new(limits), logins(false)))
    }

    /// One that answers only who has logged in.
    pub(crate) fn closed() -> Self {
        Self(Session::new(Arc::new(SessionLimits::default()), logins(true)))
    }

    /// The effects of one step.
    pub(crate) fn step(&mut self, step: &Step) -> Vec<String> {
        let input = match step {
            Step::Text(message) => Input::Text(message),
            Step::Binary(message) => Input::Binary(message),
            Step::Ended(key) => Input::SubEnded(SubKey(*key)),
            Step::NegEnded(key) => Input::NegEnded(NegKey(*key)),
            Step::Checked(key, is_signed) => Input::LoginChecked {
                id: EventId([7; 32]),
                key: PubKey::from_hex(key).expect("a key"),
                is_signed: *is_signed,
            },
        };
        self.0.handle(Timestamp(NOW), input);
        std::iter::from_fn(|| self.0.poll()).map(|effect| in_words(&effect)).collect()
    }

    pub(crate) fn session(&self) -> &Session {
        &self.0
    }
}

/// Does the steps one after the other with these limits; the effects of all of them, in order,
/// must be the expected ones.
pub(crate) fn check(rule: &str, limits: &SessionLimits, steps: &[Step], expected: &[&str]) {
    let mut world = World::new(limits.clone());
    let effects: Vec<_> = steps.iter().flat_map(|step| world.step(step)).collect();
    assert_eq!(effects, expected, "{rule}");
}

/// Replies as they are; everything else by name, with the number of the subscription.
fn in_words(effect: &Effect) -> String {
    match effect {
        Effect::Reply(json) | Effect::Refuse { reply: json, .. } => {
            String::from_utf8(json.clone()).expect("replies are UTF-8")
        }
        Effect::Demand(json) => format!("demand {}", String::from_utf8_lossy(json)),
        Effect::CheckLogin(event) => format!("check login {}", event.view().id()),
        Effect::LoggedIn(reader) => format!("logged in with {}", reader.logins().len()),
        Effect::Ingest(event) => format!("ingest {}", event.view().id()),
        Effect::Query { key, sub, filters } => {
            format!("query #{} {sub} of {}", key.0, filters.len())
        }
        Effect::Count { sub, filters } => format!("count {sub} of {}", filters.len()),
        Effect::Unsubscribe(key) => format!("unsubscribe #{}", key.0),
        Effect::Reconcile { key, sub, filter, message } => {
            let limit = filter.limit.map_or_else(String::new, |limit| format!(" limit {limit}"));
            format!("reconcile #{} {sub}{limit} {message:02x?}", key.0)
        }
        Effect::ReconcileMore { key, message } => format!("more #{} {message:02x?}", key.0),
        Effect::ReconcileEnd(key) => format!("end #{}", key.0),
        Effect::Close { code, reason } => format!("close {code} {reason}"),
    }
}

/// The event as JSON with one member spelled as given; left out if the spelling is empty.
pub(crate) fn spelled(event: &Value, member: &str, spelling: &str) -> String {
    let members = event.as_object().expect("an event is an object");
    let pairs: Vec<_> = members
        .iter()
        .map(|(name, value)| {
            (name, if name == member { spelling.into() } else { value.to_string() })
        })
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!("{{{}}}", pairs.join(","))
}
