//! Messages from client to relay.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

use crate::blame::Blame;
use crate::event::Event;
use crate::filter::Filter;
use crate::filter_parse::{FilterError, cut};
use crate::ids::SubId;
use crate::limits::MESSAGE_FILTERS_MAX;
use crate::parse::EventParser;
use crate::reason::Reason;

/// One message from client to relay (NIP-01, 42, 45, 77).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientMsg {
    /// `["EVENT",<event>]`; the id is checked, the signature is not.
    Event(Event),
    /// `["REQ",<sub>,<filter>..]`, with at least one filter.
    Req(SubId, Vec<Filter>),
    /// `["CLOSE",<sub>]`.
    Close(SubId),
    /// `["COUNT",<sub>,<filter>..]`, with at least one filter.
    Count(SubId, Vec<Filter>),
    /// `["AUTH",<event>]`.
    Auth(Event),
    /// `["NEG-OPEN",<sub>,<filter>,<hex>]`; the hex is not decoded.
    NegOpen(SubId, Filter, String),
    /// `["NEG-MSG",<sub>,<hex>]`; the hex is not decoded.
    NegMsg(SubId, String),
    /// `["NEG-CLOSE",<sub>]`.
    NegClose(SubId),
}

/// Why a text is not a message, and whom to tell.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct MsgError {
    /// Whom to tell.
    pub blame: Blame,
    /// What to say.
    pub reason: Reason,
}

impl ClientMsg {
    /// Parses one message. Elements after a complete command are ignored (E-07).
    pub fn parse(json: &str, events: &mut EventParser) -> Result<Self, MsgError> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let seed = MsgSeed { events };
        let parsed = seed.deserialize(&mut deserializer);
        let parsed = parsed.and_then(|msg| deserializer.end().map(|()| msg));
        match parsed {
            Ok(Draft::Msg(msg)) => Ok(msg),
            Ok(Draft::Event(verb)) => match events.finish(Ok(())) {
                Ok(event) if verb == Verb::Auth => Ok(Self::Auth(event)),
                Ok(event) => Ok(Self::Event(event)),
                Err(error) => Err(explain(json, error.into())),
            },
            Err(error) => Err(explain_serde(json, &error, events)),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Event,
    Req,
    Close,
    Count,
    Auth,
    NegOpen,
    NegMsg,
    NegClose,
}

impl Verb {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "EVENT" => Self::Event,
            "REQ" => Self::Req,
            "CLOSE" => Self::Close,
            "COUNT" => Self::Count,
            "AUTH" => Self::Auth,
            "NEG-OPEN" => Self::NegOpen,
            "NEG-MSG" => Self::NegMsg,
            "NEG-CLOSE" => Self::NegClose,
            _ => return None,
        })
    }
}

/// A message whose event, if it has one, still lies in the parser.
enum Draft {
    Msg(ClientMsg),
    Event(Verb),
}

struct MsgSeed<'p> {
    events: &'p mut EventParser,
}

impl<'de> DeserializeSeed<'de> for MsgSeed<'_> {
    type Value = Draft;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Draft, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for MsgSeed<'_> {
    type Value = Draft;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message, which is a JSON array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Draft, A::Error> {
        let draft = match next(&mut seq, VerbSeed, "a verb")? {
            verb @ (Verb::Event | Verb::Auth) => {
                next(&mut seq, EventSeed(self.events), "an event")?;
                Draft::Event(verb)
            }
            Verb::Req => {
                let sub = sub_id(&mut seq)?;
                Draft::Msg(ClientMsg::Req(sub, filters(&mut seq)?))
            }
            Verb::Count => {
                let sub = sub_id(&mut seq)?;
                Draft::Msg(ClientMsg::Count(sub, filters(&mut seq)?))
            }
            Verb::Close => Draft::Msg(ClientMsg::Close(sub_id(&mut seq)?)),
            Verb::NegOpen => {
                let sub = sub_id(&mut seq)?;
                let filter = required(seq.next_element()?, "a filter")?;
                let message = required(seq.next_element()?, "a hex message")?;
                Draft::Msg(ClientMsg::NegOpen(sub, filter, message))
            }
            Verb::NegMsg => {
                let sub = sub_id(&mut seq)?;
                let message = required(seq.next_element()?, "a hex message")?;
                Draft::Msg(ClientMsg::NegMsg(sub, message))
            }
            Verb::NegClose => Draft::Msg(ClientMsg::NegClose(sub_id(&mut seq)?)),
        };
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(draft)
    }
}

fn next<'de, A: SeqAccess<'de>, S: DeserializeSeed<'de>>(
    seq: &mut A,
    seed: S,
    what: &str,
) -> Result<S::Value, A::Error> {
    required(seq.next_element_seed(seed)?, what)
}

fn required<T, E: Error>(element: Option<T>, what: &str) -> Result<T, E> {
    element.ok_or_else(|| E::custom(format_args!("message ends before {what}")))
}

fn sub_id<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<SubId, A::Error> {
    struct SubIdSeed;
    impl<'de> DeserializeSeed<'de> for SubIdSeed {
        type Value = SubId;

        fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<SubId, D::Error> {
            from.deserialize_str(self)
        }
    }
    impl Visitor<'_> for SubIdSeed {
        type Value = SubId;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string as subscription id")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<SubId, E> {
            SubId::new(text).map_err(E::custom)
        }
    }
    next(seq, SubIdSeed, "a subscription id")
}

fn filters<'de, A: SeqAccess<'de>>(seq: &mut A) -> Result<Vec<Filter>, A::Error> {
    let mut filters = vec![required(seq.next_element()?, "a filter")?];
    while let Some(filter) = seq.next_element()? {
        if filters.len() == MESSAGE_FILTERS_MAX {
            return Err(A::Error::custom(format_args!(
                "message has more than {MESSAGE_FILTERS_MAX} filters"
            )));
        }
        filters.push(filter);
    }
    Ok(filters)
}

struct VerbSeed;

impl<'de> DeserializeSeed<'de> for VerbSeed {
    type Value = Verb;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Verb, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for VerbSeed {
    type Value = Verb;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string as verb")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Verb, E> {
        Verb::from_name(name)
            .ok_or_else(|| E::custom(format_args!("unknown message type {:?}", cut(name))))
    }
}

struct EventSeed<'p>(&'p mut EventParser);

impl<'de> DeserializeSeed<'de> for EventSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.0.deserialize(from)
    }
}

/// The error of a message that serde gave up on.
fn explain_serde(json: &str, error: &serde_json::Error, events: &mut EventParser) -> MsgError {
    let reason = match (error.is_data(), events.finish_fault()) {
        (true, Some(fault)) => fault.into(),
        _ => FilterError::from_serde(error).into(),
    };
    explain(json, reason)
}

/// Finds out whom to tell.
fn explain(json: &str, reason: Reason) -> MsgError {
    MsgError { blame: Blame::find(json), reason }
}
