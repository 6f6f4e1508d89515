//! Messages from relay to client, as a client reads them.
//!
//! Relays differ in what they write. What can only be meant one way is accepted: flags written as
//! strings, missing texts, extra elements, a cap that is a number, a string or an object.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use crate::event::Event;
use crate::filter_parse::cut;
use crate::ids::EventId;
use crate::parse::{EventError, EventParser, json_error_text};
use crate::relay_msg::EoseHint;

/// One message from relay to client (NIP-01, 42, 45, 67, 77).
///
/// Subscription ids are the peer's text: they need not be ids that this side ever gave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromRelay {
    /// `["EVENT",<sub>,<event>]`; the id is checked, the signature is not.
    Event {
        /// Whom it is for.
        sub: Box<str>,
        /// The event.
        event: Event,
    },
    /// `["OK",<id>,<accepted>,<text>]`.
    Ok {
        /// The event that is answered.
        id: EventId,
        /// Whether the relay has it.
        accepted: bool,
        /// Why, with a standard prefix or without.
        text: Box<str>,
    },
    /// `["EOSE",<sub>,[<hints>]]`.
    Eose {
        /// Whose stored answer ended.
        sub: Box<str>,
        /// What NIP-67 says of it; hints that are not known are no hint.
        hint: EoseHint,
    },
    /// `["CLOSED",<sub>,<text>]`.
    Closed {
        /// What ended.
        sub: Box<str>,
        /// Why.
        text: Box<str>,
    },
    /// `["NOTICE",<text>]`.
    Notice {
        /// What the relay says.
        text: Box<str>,
    },
    /// `["AUTH",<challenge>]`.
    Auth {
        /// The challenge.
        challenge: Box<str>,
    },
    /// `["COUNT",<sub>,{"count":<n>}]`.
    Count {
        /// Whose count it is.
        sub: Box<str>,
        /// The count; `None` if the object has none.
        count: Option<u64>,
    },
    /// `["NEG-MSG",<sub>,<hex>]`; the hex is not decoded.
    NegMsg {
        /// The session.
        sub: Box<str>,
        /// The message, in hex.
        hex: Box<str>,
    },
    /// `["NEG-ERR",<sub>,<text>,<cap>?]`; the session is closed.
    NegErr {
        /// The session.
        sub: Box<str>,
        /// Why.
        text: Box<str>,
        /// The largest number of records that the relay reconciles, if it says one.
        cap: Option<u64>,
    },
}

/// Why a text is not a message that a client understands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FromRelayError {
    /// It is not JSON, or not an array with a verb and what belongs to it.
    #[error("{0}")]
    Json(String),
    /// An `EVENT` whose event is none.
    #[error("{0}")]
    Event(EventError),
}

impl FromRelay {
    /// Parses one message.
    pub fn parse(json: &str, events: &mut EventParser) -> Result<Self, FromRelayError> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let parsed = MessageSeed { events }.deserialize(&mut deserializer);
        let parsed = parsed.and_then(|draft| deserializer.end().map(|()| draft));
        match parsed {
            Ok(Draft::Message(message)) => Ok(message),
            Ok(Draft::Event(sub)) => match events.finish(Ok(())) {
                Ok(event) => Ok(Self::Event { sub, event }),
                Err(error) => Err(FromRelayError::Event(error)),
            },
            Err(error) => Err(match (error.is_data(), events.finish_fault()) {
                (true, Some(fault)) => FromRelayError::Event(fault),
                _ => FromRelayError::Json(json_error_text(&error)),
            }),
        }
    }
}

/// A message whose event, if it has one, still lies in the parser.
enum Draft {
    Message(FromRelay),
    Event(Box<str>),
}

struct MessageSeed<'p> {
    events: &'p mut EventParser,
}

impl<'de> DeserializeSeed<'de> for MessageSeed<'_> {
    type Value = Draft;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Draft, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for MessageSeed<'_> {
    type Value = Draft;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message, which is a JSON array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Draft, A::Error> {
        let verb = text(&mut seq)?;
        let draft = if &*verb == "EVENT" {
            let sub = text(&mut seq)?;
            let found = seq.next_element_seed(EventSeed(self.events))?;
            required(found, "an event")?;
            Draft::Event(sub)
        } else {
            Draft::Message(plain_message(&verb, &mut seq)?)
        };
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(draft)
    }
}

/// Every message but `EVENT`.
fn plain_message<'de, A: SeqAccess<'de>>(verb: &str, seq: &mut A) -> Result<FromRelay, A::Error> {
    Ok(match verb {
        "OK" => {
            let id = text(seq)?.to_ascii_lowercase();
            let id = EventId::from_hex(&id).map_err(A::Error::custom)?;
            let accepted = required(loose(seq)?.is_true(), "a flag")?;
            FromRelay::Ok { id, accepted, text: optional_text(seq)? }
        }
        "EOSE" => {
            let sub = text(seq)?;
            let hint = seq.next_element::<Hints>()?.map_or(EoseHint::None, |hints| hints.0);
            FromRelay::Eose { sub, hint }
        }
        "CLOSED" => FromRelay::Closed { sub: text(seq)?, text: optional_text(seq)? },
        "NOTICE" => FromRelay::Notice { text: optional_text(seq)? },
        "AUTH" => FromRelay::Auth { challenge: optional_text(seq)? },
        "COUNT" => FromRelay::Count { sub: text(seq)?, count: loose(seq)?.number() },
        "NEG-MSG" => FromRelay::NegMsg { sub: text(seq)?, hex: text(seq)? },
        "NEG-ERR" => {
            let (sub, text) = (text(seq)?, optional_text(seq)?);
            FromRelay::NegErr { sub, text, cap: loose(seq)?.number() }
        }
        _ => {
            let verb = cut(verb);
            return Err(A::Error::custom(format_args!("unknown message type {verb:?}")));
        }
    })
}

fn required<T, E: Error>(element: Option<T>, what: &str) -> Result<T, E> {
    element.ok_or_else(|| E::custom(format_args!("message ends before {what}")))
}

/// A string that must be there.
fn text<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<Box<str>, A::Error> {
    required(seq.next_element()?, "a string")
}

/// A string that relays sometimes leave out, or replace by something else.
fn optional_text<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<Box<str>, A::Error> {
    Ok(match loose(seq)? {
        Loose::Text(text) => text,
        _ => "".into(),
    })
}

/// The next element whatever it is; nothing at the end.
fn loose<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<Loose, A::Error> {
    Ok(seq.next_element()?.unwrap_or(Loose::Nothing))
}

struct EventSeed<'p>(&'p mut EventParser);

impl<'de> DeserializeSeed<'de> for EventSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.0.deserialize(from)
    }
}

/// Any JSON value, as far as a client cares.
enum Loose {
    Nothing,
    Flag(bool),
    Number(u64),
    Text(Box<str>),
    /// An object, by its first member that can be read as a number.
    Object(Option<u64>),
}

impl Loose {
    fn is_true(&self) -> Option<bool> {
        match self {
            Self::Flag(flag) => Some(*flag),
            Self::Number(number) => Some(*number != 0),
            Self::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
            Self::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
            Self::Text(_) | Self::Object(_) | Self::Nothing => None,
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
            Self::Object(number) => *number,
            Self::Flag(_) | Self::Nothing => None,
        }
    }
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E: Error>(self) -> Result<Loose, E> {
        Ok(Loose::Nothing)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Loose, E> {
        Ok(Loose::Flag(flag))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Loose, E> {
        Ok(Loose::Number(number))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Loose, E> {
        Ok(Loose::Nothing)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Loose, E> {
        let is_whole = (0.0..1e15).contains(&number) && number.fract() == 0.0;
        Ok(if is_whole { Loose::Number(number as u64) } else { Loose::Nothing })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Loose, E> {
        Ok(Loose::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Loose, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Loose::Nothing)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Loose, A::Error> {
        let mut number = None;
        while let Some((_, value)) = map.next_entry::<IgnoredAny, Loose>()? {
            number = number.or(value.number());
        }
        Ok(Loose::Object(number))
    }
}

/// The third element of `EOSE`: a list of hints, by rights.
struct Hints(EoseHint);

impl Hints {
    /// `finish` is a promise and wins.
    fn note(&mut self, hint: &str) {
        match hint {
            "finish" => self.0 = EoseHint::Finish,
            "more" if self.0 == EoseHint::None => self.0 = EoseHint::More,
            _ => {}
        }
    }
}

impl<'de> Deserialize<'de> for Hints {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(HintsVisitor)
    }
}

struct HintsVisitor;

impl<'de> Visitor<'de> for HintsVisitor {
    type Value = Hints;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hints")
    }

    fn visit_unit<E: Error>(self) -> Result<Hints, E> {
        Ok(Hints(EoseHint::None))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Hints, E> {
        self.visit_unit()
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Hints, E> {
        self.visit_unit()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Hints, E> {
        self.visit_unit()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Hints, E> {
        self.visit_unit()
    }

    fn visit_str<E: Error>(self, hint: &str) -> Result<Hints, E> {
        let mut hints = Hints(EoseHint::None);
        hints.note(hint);
        Ok(hints)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Hints, A::Error> {
        let mut hints = Hints(EoseHint::None);
        while let Some(hint) = seq.next_element::<Loose>()? {
            if let Loose::Text(hint) = hint {
                hints.note(&hint);
            }
        }
        Ok(hints)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Hints, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.visit_unit()
    }
}
