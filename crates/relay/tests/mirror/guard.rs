//! The door of an upstream that wants to know who comes (NIP-42).

use serde_json::{Value, json};
use zeolite_proto::{ClientMsg, EventParser, Kind, TagStr};
use zeolite_schnorr::Verifier;

const CHALLENGE: &str = "who is \"there\"?";

/// How a door is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    /// It asks at once; otherwise when it turns someone away.
    pub(crate) asks_first: bool,
    /// What it says to whoever logs in, if not "come in".
    pub(crate) refuses: Option<&'static str>,
    /// What it says to whoever logged in and asks for something.
    pub(crate) restricts: Option<&'static str>,
}

impl Guard {
    /// It lets in whoever logs in.
    pub(crate) const KIND: Self = Self { asks_first: true, refuses: None, restricts: None };
}

/// The door as one connection meets it.
pub(crate) struct Door {
    guard: Guard,
    url: String,
    is_open: bool,
}

impl Door {
    pub(crate) fn new(guard: Guard, url: &str) -> Self {
        Self { guard, url: url.to_owned(), is_open: false }
    }

    pub(crate) fn greeting(&self) -> Option<Value> {
        self.guard.asks_first.then(|| json!(["AUTH", CHALLENGE]))
    }

    /// What is said at the door; `None` for whoever is in.
    pub(crate) fn answer(&mut self, message: &Value) -> Option<Vec<Value>> {
        if message[0] == "AUTH" {
            let id = &message[1]["id"];
            if !self.knows(message) {
                return Some(vec![json!(["OK", id, false, "invalid: no login for this relay"])]);
            }
            if let Some(why) = self.guard.refuses {
                return Some(vec![json!(["OK", id, false, why])]);
            }
            self.is_open = true;
            return Some(vec![json!(["OK", id, true, ""])]);
        }
        let why = match self.is_open {
            true => self.guard.restricts?,
            false => "auth-required: we only serve those we know",
        };
        let refusal = match message[0].as_str() {
            Some("EVENT") => json!(["OK", message[1]["id"], false, why]),
            Some("REQ") => json!(["CLOSED", message[1], why]),
            Some("NEG-OPEN") => json!(["NEG-ERR", message[1], why]),
            _ => return Some(Vec::new()),
        };
        let asks = !self.is_open && !self.guard.asks_first;
        let question = asks.then(|| json!(["AUTH", CHALLENGE]));
        Some(question.into_iter().chain([refusal]).collect())
    }

    /// Whether this is a login of kind 22242 to this very question, well signed.
    fn knows(&self, message: &Value) -> bool {
        let parsed = ClientMsg::parse(&message.to_string(), &mut EventParser::new());
        let Ok(ClientMsg::Auth(event)) = parsed else { return false };
        let event = event.view();
        let has = |name: &'static str, value: &str| {
            event.tags().any(|tag| {
                tag.name() == Some(TagStr::Text(name.as_bytes()))
                    && tag.value() == Some(TagStr::Text(value.as_bytes()))
            })
        };
        event.kind() == Kind::AUTH
            && has("relay", &self.url)
            && has("challenge", CHALLENGE)
            && Verifier::new(1).verify(&event.pubkey(), &event.id(), &event.sig())
    }
}
