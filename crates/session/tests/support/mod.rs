//! One `check` that touches the session's API; everything else is data.

#![allow(dead_code, reason = "each test crate uses a part of this module")]

use std::sync::Arc;

use serde_json::Value;
use zeolite_proto::Timestamp;
use zeolite_session::{Effect, Input, NegKey, Session, SessionLimits, SubKey};

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
}

/// A text frame.
pub(crate) fn text(message: impl Into<String>) -> Step {
    Step::Text(message.into())
}

/// A session, and the effects of what is done to it in words.
pub(crate) struct World(Session);

impl World {
    pub(crate) fn new(limits: SessionLimits) -> Self {
        Self(Session::new(Arc::new(limits)))
    }

    /// The effects of one step.
    pub(crate) fn step(&mut self, step: &Step) -> Vec<String> {
        let input = match step {
            Step::Text(message) => Input::Text(message),
            Step::Binary(message) => Input::Binary(message),
            Step::Ended(key) => Input::SubEnded(SubKey(*key)),
            Step::NegEnded(key) => Input::NegEnded(NegKey(*key)),
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
