//! Writes the JSON of events by hand, in the one form that gives back the same bytes.

use sha2::{Digest, Sha256};
use zeolite_proto::{EventId, Kind, PubKey, Timestamp};

/// What stands before the event in a message.
pub(crate) const MESSAGE_HEAD: &[u8] = b"[\"EVENT\",";
/// What stands behind the event in a message.
pub(crate) const MESSAGE_TAIL: &[u8] = b"]";
/// Hex digits of a signature.
pub(crate) const SIG_DIGITS: usize = 128;
/// From the end of a message back to the first digit of the signature.
pub(crate) const SIG_FROM_END: usize = SIG_DIGITS + b"\"}]".len();

/// The fields of an event that are not its body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) pubkey: PubKey,
    pub(crate) created_at: Timestamp,
    pub(crate) kind: Kind,
}

/// The tags and the content of an event, as the JSON that goes into its id and onto the wire.
#[derive(Debug, Default)]
pub(crate) struct Body {
    /// The tags without the outer brackets.
    tags: Vec<u8>,
    content: Vec<u8>,
    scratch: Vec<u8>,
}

impl Body {
    /// Starts the next event.
    pub(crate) fn clear(&mut self) {
        self.tags.clear();
        self.content.clear();
    }

    /// Bytes of the tags and the content so far.
    pub(crate) fn len(&self) -> usize {
        self.tags.len() + self.content.len()
    }

    /// Starts a tag; its strings follow, then [`Self::end_tag`].
    pub(crate) fn start_tag(&mut self, name: &str) {
        self.tags.extend_from_slice(if self.tags.is_empty() { b"[\"" } else { b",[\"" });
        push_escaped(&mut self.tags, name.as_bytes());
        self.tags.push(b'"');
    }

    /// Adds a string to the tag.
    pub(crate) fn value(&mut self, text: &[u8]) {
        self.tags.extend_from_slice(b",\"");
        push_escaped(&mut self.tags, text);
        self.tags.push(b'"');
    }

    /// Adds a string of hex digits to the tag.
    pub(crate) fn hex_value(&mut self, bytes: &[u8]) {
        self.tags.extend_from_slice(b",\"");
        push_hex(&mut self.tags, bytes);
        self.tags.push(b'"');
    }

    /// Ends the tag.
    pub(crate) fn end_tag(&mut self) {
        self.tags.push(b']');
    }

    /// Adds a tag of a name and one value.
    pub(crate) fn tag(&mut self, name: &str, value: &[u8]) {
        self.start_tag(name);
        self.value(value);
        self.end_tag();
    }

    /// Adds a tag of a name and an id or key.
    pub(crate) fn hex_tag(&mut self, name: &str, bytes: &[u8; 32]) {
        self.start_tag(name);
        self.hex_value(bytes);
        self.end_tag();
    }

    /// Adds to the content.
    pub(crate) fn content(&mut self, text: &[u8]) {
        push_escaped(&mut self.content, text);
    }

    /// Appends the event as `["EVENT",{...}]` with zeros for a signature, and returns its id.
    pub(crate) fn push_message(&mut self, head: &Head, out: &mut Vec<u8>) -> EventId {
        let id = self.id(head);
        out.reserve(512 + self.len());
        out.extend_from_slice(MESSAGE_HEAD);
        out.extend_from_slice(b"{\"id\":\"");
        push_hex(out, &id.0);
        out.extend_from_slice(b"\",\"pubkey\":\"");
        push_hex(out, &head.pubkey.0);
        out.extend_from_slice(b"\",\"created_at\":");
        push_decimal(out, head.created_at.0);
        out.extend_from_slice(b",\"kind\":");
        push_decimal(out, head.kind.0.into());
        out.extend_from_slice(b",\"tags\":[");
        out.extend_from_slice(&self.tags);
        out.extend_from_slice(b"],\"content\":\"");
        out.extend_from_slice(&self.content);
        out.extend_from_slice(b"\",\"sig\":\"");
        out.resize(out.len() + SIG_DIGITS, b'0');
        out.extend_from_slice(b"\"}");
        out.extend_from_slice(MESSAGE_TAIL);
        id
    }

    /// The SHA-256 of `[0,pubkey,created_at,kind,tags,content]` (NIP-01).
    fn id(&mut self, head: &Head) -> EventId {
        let start = &mut self.scratch;
        start.clear();
        start.extend_from_slice(b"[0,\"");
        push_hex(start, &head.pubkey.0);
        start.extend_from_slice(b"\",");
        push_decimal(start, head.created_at.0);
        start.push(b',');
        push_decimal(start, head.kind.0.into());
        start.extend_from_slice(b",[");
        let mut hash = Sha256::new();
        for part in [&start[..], &self.tags, b"],\"", &self.content, b"\"]"] {
            hash.update(part);
        }
        EventId(hash.finalize().into())
    }
}

/// Appends lower-case hex.
pub(crate) fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + 2 * bytes.len(), 0);
    faster_hex::hex_encode(bytes, &mut out[start..]).expect("the output has twice the room");
}

/// Appends a number.
pub(crate) fn push_decimal(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends text as the inside of a JSON string: NIP-01's seven escapes, and `\u00xx` for the other
/// control characters, as every JSON library writes them.
pub(crate) fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| is_special(byte)) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            control => {
                out.extend_from_slice(b"\\u00");
                push_hex(out, &[control]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

#[cfg(test)]
mod tests {
    use zeolite_proto::EventParser;

    use super::*;

    /// R01-02, R01-06: the product's parser finds the id that was computed here, and writes the same
    /// bytes again.
    #[test]
    fn what_is_written_is_canonical() {
        let mut body = Body::default();
        let head =
            Head { pubkey: PubKey([0xab; 32]), created_at: Timestamp(17), kind: Kind(30_023) };
        let mut out = Vec::new();
        body.push_message(&head, &mut out);
        body.hex_tag("e", &[1; 32]);
        body.tag("d", "a \"b\" \\ \n\r\t\u{8}\u{c}\u{1} ж 漢 😀".as_bytes());
        body.start_tag("x");
        body.end_tag();
        body.content("line\n\"quoted\" \\ / \u{7f}\u{2028}".as_bytes());
        let second = out.len();
        let id = body.push_message(&head, &mut out);
        let json = &out[second + MESSAGE_HEAD.len()..out.len() - MESSAGE_TAIL.len()];
        let text = std::str::from_utf8(json).expect("UTF-8");
        let event = EventParser::new().parse(text).expect("an event");
        assert_eq!((event.view().id(), event.json()), (id, json));
        let first = &out[MESSAGE_HEAD.len()..second - MESSAGE_TAIL.len()];
        assert!(EventParser::new().parse(std::str::from_utf8(first).expect("UTF-8")).is_ok());
        assert_eq!(
            &out[out.len() - SIG_FROM_END..][..SIG_DIGITS],
            "0".repeat(SIG_DIGITS).as_bytes()
        );
    }
}
