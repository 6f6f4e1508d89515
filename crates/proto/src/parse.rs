//! From JSON to [`Event`]: one pass, strict, no allocation but the record itself.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};

use crate::canonical;
use crate::event::Event;
use crate::ids::decode_hex;
use crate::limits::{CREATED_AT_MAX, ERROR_BYTES_MAX};
use crate::reason::Reason;
use crate::record::{EventRef, RecordBuilder};

/// Why a JSON text is not an event (NIP-01).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The text is not JSON, or a value has the wrong type.
    #[error("{0}")]
    Json(String),
    /// A member is missing.
    #[error("event has no {0}")]
    Missing(&'static str),
    /// A member stands there twice, so that two readers may see two events.
    #[error("event has {0} twice")]
    Twice(&'static str),
    /// A member has the right JSON type and a value that NIP-01 does not allow.
    #[error("{0}")]
    Value(&'static str),
    /// The id is not the SHA-256 of the canonical form.
    #[error("event id does not match its content")]
    WrongId,
}

impl From<EventError> for Reason {
    fn from(error: EventError) -> Self {
        Reason::invalid(error.to_string())
    }
}

/// Parses events; keeps its buffers from one event to the next.
#[derive(Default)]
pub struct EventParser {
    builder: RecordBuilder,
    preimage: Vec<u8>,
    fault: Option<EventError>,
}

/// Scratch buffers above this size are given back after use, so that one large event does not
/// make every connection large for ever.
const SCRATCH_BYTES_MAX: usize = 16 * 1024;

impl EventParser {
    /// A parser with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses one event and checks that its id is its hash. The signature is not looked at.
    pub fn parse(&mut self, json: &str) -> Result<Event, EventError> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let parsed = self.deserialize(&mut deserializer);
        let ended = parsed.and_then(|()| deserializer.end());
        self.finish(ended)
    }

    /// Reads the fields of an event from a deserializer that stands before it.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        &mut self,
        from: D,
    ) -> Result<(), D::Error> {
        self.fault = None;
        from.deserialize_map(EventVisitor { parser: self })
    }

    /// Turns the fields read by [`Self::deserialize`] into an event.
    pub(crate) fn finish(
        &mut self,
        parsed: Result<(), serde_json::Error>,
    ) -> Result<Event, EventError> {
        let result = match parsed {
            Ok(()) => self.build(),
            Err(error) => Err(self.fault.take().unwrap_or_else(|| json_error(&error))),
        };
        self.shrink();
        result
    }

    /// The typed reason why the last event was refused, if an event was at fault.
    pub(crate) fn finish_fault(&mut self) -> Option<EventError> {
        let fault = self.fault.take();
        self.shrink();
        fault
    }

    /// An event that is refused before it has a preimage may have filled the builder.
    fn shrink(&mut self) {
        if self.preimage.capacity().max(self.builder.capacity()) > SCRATCH_BYTES_MAX {
            *self = Self::default();
        }
    }

    fn build(&mut self) -> Result<Event, EventError> {
        let record =
            self.builder.finish().ok_or(EventError::Value("tags are longer than 4 GiB"))?;
        let view = EventRef::new(&record).expect("the builder writes whole records");
        if canonical::id_matches(view, &mut self.preimage) {
            Ok(Event::from_checked(record))
        } else {
            Err(EventError::WrongId)
        }
    }

    /// Notes the typed reason, which serde's errors cannot carry, and stops the parse.
    fn fail<E: Error>(&mut self, fault: EventError) -> E {
        let error = E::custom(&fault);
        self.fault = Some(fault);
        error
    }
}

fn json_error(error: &serde_json::Error) -> EventError {
    EventError::Json(json_error_text(error))
}

/// serde_json's message without its own position, which means nothing inside an envelope, and
/// without the end of what it quotes of a long value.
pub(crate) fn json_error_text(error: &serde_json::Error) -> String {
    let mut text = error.to_string();
    text.truncate(text.rfind(" at line ").unwrap_or(text.len()));
    text.truncate(text.floor_char_boundary(ERROR_BYTES_MAX));
    text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Member {
    Id,
    Pubkey,
    CreatedAt,
    Kind,
    Tags,
    Content,
    Sig,
    Other,
}

impl Member {
    const NAMES: [&'static str; 7] =
        ["id", "pubkey", "created_at", "kind", "tags", "content", "sig"];
}

struct MemberSeed;

impl<'de> DeserializeSeed<'de> for MemberSeed {
    type Value = Member;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Member, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for MemberSeed {
    type Value = Member;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Member, E> {
        Ok(match name {
            "id" => Member::Id,
            "pubkey" => Member::Pubkey,
            "created_at" => Member::CreatedAt,
            "kind" => Member::Kind,
            "tags" => Member::Tags,
            "content" => Member::Content,
            "sig" => Member::Sig,
            _ => Member::Other,
        })
    }
}

struct EventVisitor<'p> {
    parser: &'p mut EventParser,
}

impl<'de> Visitor<'de> for EventVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let parser = self.parser;
        let mut seen = [false; Member::NAMES.len()];
        while let Some(member) = map.next_key_seed(MemberSeed)? {
            if let Some(seen) = seen.get_mut(member as usize)
                && std::mem::replace(seen, true)
            {
                return Err(parser.fail(EventError::Twice(Member::NAMES[member as usize])));
            }
            match member {
                Member::Id => map.next_value_seed(Field(parser, FieldKind::Id))?,
                Member::Pubkey => map.next_value_seed(Field(parser, FieldKind::Pubkey))?,
                Member::Sig => map.next_value_seed(Field(parser, FieldKind::Sig))?,
                Member::Content => map.next_value_seed(Field(parser, FieldKind::Content))?,
                Member::CreatedAt => map.next_value_seed(Field(parser, FieldKind::CreatedAt))?,
                Member::Kind => map.next_value_seed(Field(parser, FieldKind::Kind))?,
                Member::Tags => map.next_value_seed(TagsSeed(parser))?,
                Member::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        match seen.iter().position(|seen| !seen) {
            Some(missing) => Err(parser.fail(EventError::Missing(Member::NAMES[missing]))),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Copy)]
enum FieldKind {
    Id,
    Pubkey,
    Sig,
    Content,
    CreatedAt,
    Kind,
}

/// A member whose value is a string or a number.
struct Field<'p>(&'p mut EventParser, FieldKind);

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        match self.1 {
            FieldKind::CreatedAt | FieldKind::Kind => from.deserialize_u64(self),
            _ => from.deserialize_str(self),
        }
    }
}

impl Visitor<'_> for Field<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.1 {
            FieldKind::Id => "a string as id",
            FieldKind::Pubkey => "a string as pubkey",
            FieldKind::Sig => "a string as sig",
            FieldKind::Content => "a string as content",
            FieldKind::CreatedAt => "whole seconds as created_at",
            FieldKind::Kind => "an integer as kind",
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let Field(parser, kind) = self;
        let builder = &mut parser.builder;
        let hex = text.as_bytes();
        let fault = match kind {
            FieldKind::Id => match decode_hex(hex) {
                Ok(id) => {
                    return {
                        builder.id = id;
                        Ok(())
                    };
                }
                Err(_) => "id is not 64 lower-case hex digits",
            },
            FieldKind::Pubkey => match decode_hex(hex) {
                Ok(pubkey) => {
                    return {
                        builder.pubkey = pubkey;
                        Ok(())
                    };
                }
                Err(_) => "pubkey is not 64 lower-case hex digits",
            },
            FieldKind::Sig => match decode_hex(hex) {
                Ok(sig) => {
                    return {
                        builder.sig = sig;
                        Ok(())
                    };
                }
                Err(_) => "sig is not 128 lower-case hex digits",
            },
            FieldKind::Content => {
                builder.content.clear();
                builder.content.extend_from_slice(hex);
                return Ok(());
            }
            FieldKind::CreatedAt | FieldKind::Kind => {
                return Err(E::invalid_type(Unexpected::Str(text), &Field(parser, kind)));
            }
        };
        Err(parser.fail(EventError::Value(fault)))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        let Field(parser, kind) = self;
        match kind {
            FieldKind::CreatedAt if value <= CREATED_AT_MAX => parser.builder.created_at = value,
            FieldKind::CreatedAt => {
                return Err(parser.fail(EventError::Value("created_at is too far in the future")));
            }
            FieldKind::Kind => match u16::try_from(value) {
                Ok(kind) => parser.builder.kind = kind,
                Err(_) => return Err(parser.fail(EventError::Value("kind is above 65535"))),
            },
            _ => return Err(E::invalid_type(Unexpected::Unsigned(value), &Field(parser, kind))),
        }
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        let fault = match self.1 {
            FieldKind::Kind => "kind is negative",
            _ => "created_at is negative",
        };
        Err(self.0.fail(EventError::Value(fault)))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        let fault = match self.1 {
            FieldKind::Kind => "kind is not an integer from 0 to 65535",
            _ => "created_at is not a whole number of seconds",
        };
        Err(self.0.fail(EventError::Value(fault)))
    }
}

struct TagsSeed<'p>(&'p mut EventParser);

impl<'de> DeserializeSeed<'de> for TagsSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for TagsSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of arrays of strings as tags")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let builder = &mut self.0.builder;
        builder.start_tags();
        while seq.next_element_seed(TagSeed(builder))?.is_some() {}
        Ok(())
    }
}

struct TagSeed<'p>(&'p mut RecordBuilder);

impl<'de> DeserializeSeed<'de> for TagSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for TagSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of strings as tag")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.start_tag();
        while seq.next_element_seed(TagStringSeed(self.0))?.is_some() {}
        self.0.end_tag();
        Ok(())
    }
}

struct TagStringSeed<'p>(&'p mut RecordBuilder);

impl<'de> DeserializeSeed<'de> for TagStringSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for TagStringSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string inside a tag")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.push_string(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_msg::ClientMsg;

    /// R01-34, E-35: whatever a large event breaks off at, its buffers go.
    #[test]
    fn large_events_leave_no_large_buffers() {
        let long = "x".repeat(100_000);
        for rest in [
            format!(r#""content":"{long}"}}"#),
            format!(r#""content":"{long}","kind":-1}}"#),
            format!(r#""content":"{long}","#),
            format!(r#""tags":[["{long}"]],"kind":-1}}"#),
            format!(r#""tags":[["{long}",1]]}}"#),
        ] {
            let mut parser = EventParser::new();
            parser.parse(&format!("{{{rest}")).expect_err("an incomplete event");
            assert!(parser.builder.capacity() <= SCRATCH_BYTES_MAX, "alone");
            ClientMsg::parse(&format!(r#"["EVENT",{{{rest}]"#), &mut parser).expect_err("broken");
            assert!(parser.builder.capacity() <= SCRATCH_BYTES_MAX, "in a message");
        }
    }
}
