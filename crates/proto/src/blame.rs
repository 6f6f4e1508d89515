//! Whom to tell about a broken message.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::client_msg::Verb;

/// What a broken message can be blamed on, and so how the answer is addressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blame {
    /// An event with this text as id: answer `OK false`.
    Event(String),
    /// A subscription with this text as id, by a REQ or a CLOSE: answer `CLOSED`.
    Sub(String),
    /// A COUNT with this text as id: answer `CLOSED`. It has no part in a subscription that has
    /// the same id.
    Count(String),
    /// A reconciliation with this text as id: answer `NEG-ERR`.
    Neg(String),
    /// Nothing that has a name: answer `NOTICE`.
    Message,
}

impl Blame {
    /// Reads a message only to find its name: a broken one, or one that is refused whatever it says.
    /// What else stands in it is skipped without a look, so that a lone surrogate does not hide the
    /// name (E-02), and the id is what the message claims.
    pub fn find(json: &str) -> Self {
        let envelope = serde_json::from_str::<Envelope>(json);
        envelope.ok().and_then(|envelope| envelope.blame()).unwrap_or(Self::Message)
    }
}

/// The first two elements of a message.
struct Envelope {
    verb: Option<Verb>,
    named: Element,
}

impl Envelope {
    fn blame(self) -> Option<Blame> {
        Some(match self.verb? {
            Verb::Event | Verb::Auth => Blame::Event(self.named.id()?),
            Verb::Req | Verb::Close => Blame::Sub(self.named.text()?),
            Verb::Count => Blame::Count(self.named.text()?),
            Verb::NegOpen | Verb::NegMsg | Verb::NegClose => Blame::Neg(self.named.text()?),
        })
    }
}

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct EnvelopeVisitor;
        impl<'de> Visitor<'de> for EnvelopeVisitor {
            type Value = Envelope;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Envelope, A::Error> {
                let verb = seq.next_element::<Element>()?.and_then(Element::text);
                let named = seq.next_element()?.unwrap_or(Element::Other);
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Envelope { verb: verb.as_deref().and_then(Verb::from_name), named })
            }
        }
        from.deserialize_seq(EnvelopeVisitor)
    }
}

/// A value of which only a text, or the text of its member `id`, is of interest.
enum Element {
    Text(String),
    Object { id: Option<String> },
    Other,
}

impl Element {
    fn text(self) -> Option<String> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    fn id(self) -> Option<String> {
        match self {
            Self::Object { id } => id,
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ElementVisitor)
    }
}

struct ElementVisitor;

impl<'de> Visitor<'de> for ElementVisitor {
    type Value = Element;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Element, E> {
        Ok(Element::Text(text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Element, A::Error> {
        let mut id = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == "id" {
                id = map.next_value::<Element>()?.text();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Element::Object { id })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Element, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Element::Other)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Element, E> {
        Ok(Element::Other)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Element, E> {
        Ok(Element::Other)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Element, E> {
        Ok(Element::Other)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Element, E> {
        Ok(Element::Other)
    }

    fn visit_unit<E: Error>(self) -> Result<Element, E> {
        Ok(Element::Other)
    }
}
