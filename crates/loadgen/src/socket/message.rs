//! What a relay says, read as cheaply as can be.
//!
//! `EVENT` and `OK` come by the hundred thousand: only the subscription and the id are looked up,
//! and the event stays bytes. Subscription ids are our own, so they hold no escapes.

use zeolite_proto::EventId;

use super::json::{find_member, skip_space, skip_value};

/// One message from a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A stored or live event: the subscription, the id it claims, its JSON.
    Event(&'a str, EventId, &'a [u8]),
    /// The answer to an event: its id, whether it was accepted, the text.
    Ok(EventId, bool, String),
    /// The end of the stored events, and whether NIP-67 says that they were all.
    Eose(&'a str),
    /// A subscription that the relay ended, and why.
    Closed(&'a str, String),
    /// Something that no subscription can be blamed for.
    Notice(String),
    /// A challenge (NIP-42).
    Auth,
    /// The answer to a `COUNT` (NIP-45).
    Count(&'a str, u64),
    /// A reconciliation message as hex (NIP-77).
    NegMsg(&'a str, &'a str),
    /// A refused reconciliation (NIP-77).
    NegErr(&'a str, String),
    /// Not a message of NIP-01, or a verb that nobody here asked for.
    Unknown,
}

impl<'a> Message<'a> {
    /// Reads a message. Whatever makes no sense is [`Message::Unknown`].
    pub fn parse(json: &'a [u8]) -> Self {
        Self::read(json).unwrap_or(Self::Unknown)
    }

    fn read(json: &'a [u8]) -> Option<Self> {
        let mut items = Items::new(json)?;
        match items.text()? {
            "EVENT" => {
                let sub = items.text()?;
                let event = items.next()?;
                Some(Self::Event(sub, event_id(event)?, event))
            }
            "OK" => {
                let id = EventId::from_hex(items.text()?).ok()?;
                let accepted = items.next()? == b"true";
                Some(Self::Ok(id, accepted, items.owned()))
            }
            "EOSE" => Some(Self::Eose(items.text()?)),
            "CLOSED" => Some(Self::Closed(items.text()?, items.owned())),
            "NOTICE" => Some(Self::Notice(items.owned())),
            "AUTH" => Some(Self::Auth),
            "COUNT" => {
                let sub = items.text()?;
                let answer: serde_json::Value = serde_json::from_slice(items.next()?).ok()?;
                Some(Self::Count(sub, answer.get("count")?.as_u64()?))
            }
            "NEG-MSG" => Some(Self::NegMsg(items.text()?, items.text()?)),
            "NEG-ERR" => Some(Self::NegErr(items.text()?, items.owned())),
            _ => None,
        }
    }
}

/// The id that an event's JSON claims.
pub(crate) fn event_id(event: &[u8]) -> Option<EventId> {
    let hex = match event.strip_prefix(b"{\"id\":\"") {
        Some(rest) if rest.get(64) == Some(&b'"') => &rest[..64],
        _ => find_member(event, 0, b"id")?,
    };
    EventId::from_hex(std::str::from_utf8(hex).ok()?).ok()
}

/// The items of an array, one after the other.
struct Items<'a> {
    json: &'a [u8],
    at: usize,
}

impl<'a> Items<'a> {
    fn new(json: &'a [u8]) -> Option<Self> {
        let at = skip_space(json, 0);
        (json.get(at)? == &b'[').then_some(Self { json, at })
    }

    /// The next item as JSON.
    fn next(&mut self) -> Option<&'a [u8]> {
        if !matches!(self.json.get(self.at)?, b'[' | b',') {
            return None;
        }
        let start = skip_space(self.json, self.at + 1);
        let end = self.end(start)?;
        self.at = skip_space(self.json, end);
        Some(&self.json[start..end])
    }

    /// The last item of a message that carries an event is the event: it ends where the message
    /// does, and nobody needs to walk through it.
    fn end(&self, start: usize) -> Option<usize> {
        if self.json.get(start)? == &b'{' && self.json.ends_with(b"}]") {
            return Some(self.json.len() - 1);
        }
        skip_value(self.json, start)
    }

    /// The next item, a string without escapes.
    fn text(&mut self) -> Option<&'a str> {
        let item = self.next()?;
        let inner = item.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        std::str::from_utf8(inner).ok()
    }

    /// The next item, a string that may hold escapes; empty if there is none.
    fn owned(&mut self) -> String {
        let Some(item) = self.next() else { return String::new() };
        if item == b"\"\"" {
            return String::new();
        }
        serde_json::from_slice(item).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "00ffaabbccddeeff00112233445566778899aabbccddeeff0011223344556677";

    fn id() -> EventId {
        EventId::from_hex(ID).unwrap()
    }

    /// Every verb, with and without the white space that other languages' encoders put.
    #[test]
    fn reads_every_verb() {
        let event = format!(r#"{{"content":"\"id\"","id": "{ID}"}}"#);
        let first = format!(r#"{{"id":"{ID}","x":"}}]"}}"#);
        for (json, expected) in [
            (format!(r#"["EVENT", "s", {event}]"#), Message::Event("s", id(), event.as_bytes())),
            (format!(r#"["EVENT","s",{first}]"#), Message::Event("s", id(), first.as_bytes())),
            (format!(r#"["OK","{ID}",true,""]"#), Message::Ok(id(), true, String::new())),
            (format!(r#"["OK", "{ID}", true]"#), Message::Ok(id(), true, String::new())),
            (
                format!(r#"["OK","{ID}",false,"blocked: \"x\""]"#),
                Message::Ok(id(), false, "blocked: \"x\"".into()),
            ),
            (r#"["EOSE","s"]"#.into(), Message::Eose("s")),
            (r#"["EOSE","s",["finish"]]"#.into(), Message::Eose("s")),
            (r#"["CLOSED","s","error: x"]"#.into(), Message::Closed("s", "error: x".into())),
            (r#"["NOTICE","x\n"]"#.into(), Message::Notice("x\n".into())),
            (r#"["AUTH","c"]"#.into(), Message::Auth),
            (r#"["COUNT","s",{"count":7}]"#.into(), Message::Count("s", 7)),
            (r#"["NEG-MSG","n","6100"]"#.into(), Message::NegMsg("n", "6100")),
            (r#"["NEG-ERR","n","blocked: x",9]"#.into(), Message::NegErr("n", "blocked: x".into())),
        ] {
            assert_eq!(Message::parse(json.as_bytes()), expected, "{json}");
        }
    }

    /// What is cut, of another shape or no JSON at all is unknown, and no panic.
    #[test]
    fn nonsense_is_unknown() {
        let event = format!(r#"["EVENT","s",{{"id":"{ID}"}}]"#);
        for cut in 0..event.len() - 1 {
            assert_eq!(Message::parse(&event.as_bytes()[..cut]), Message::Unknown, "{cut}");
        }
        for json in
            ["{}", "[]", "[1]", r#"["EVENT"]"#, r#"["OK","x",true,""]"#, r#"["EVENT","s",{}]"#]
        {
            assert_eq!(Message::parse(json.as_bytes()), Message::Unknown, "{json}");
        }
    }
}
