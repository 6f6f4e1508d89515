//! The two JSON forms of an event: the preimage of its id and the form that clients receive.

use sha2::{Digest, Sha256};

use crate::ids::push_hex;
use crate::record::{EventRef, TagStr};

/// How control characters outside NIP-01's seven escapes appear in the preimage of an id.
///
/// The text of NIP-01 says raw; every JSON library in use writes `\u00xx`, and real events are
/// signed over that. Both are tried (see [`id_matches`]); the signature binds the id either way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Controls {
    Escaped,
    Raw,
}

/// True if the record's id is the hash of its preimage. `preimage` is scratch space.
pub(crate) fn id_matches(event: EventRef<'_>, preimage: &mut Vec<u8>) -> bool {
    let claimed = event.id().0;
    let escaped_any = push_preimage(event, Controls::Escaped, preimage);
    if Sha256::digest(&*preimage)[..] == claimed {
        return true;
    }
    if !escaped_any {
        return false;
    }
    push_preimage(event, Controls::Raw, preimage);
    Sha256::digest(&*preimage)[..] == claimed
}

/// Replaces `out` by `[0,pubkey,created_at,kind,tags,content]`; true if a control character
/// without a short escape occurred.
fn push_preimage(event: EventRef<'_>, controls: Controls, out: &mut Vec<u8>) -> bool {
    out.clear();
    out.extend_from_slice(b"[0,\"");
    push_hex(out, &event.pubkey().0);
    out.extend_from_slice(b"\",");
    push_decimal(out, event.created_at().0);
    out.push(b',');
    push_decimal(out, event.kind().0.into());
    out.push(b',');
    let mut escaped_any = push_tags(event, controls, out);
    out.extend_from_slice(b",\"");
    escaped_any |= push_escaped(event.content(), controls, out);
    out.extend_from_slice(b"\"]");
    escaped_any
}

/// Appends the event as a JSON object.
pub(crate) fn push_event(event: EventRef<'_>, out: &mut Vec<u8>) {
    // Names, quotes and hex take 480 bytes; the rest is at most the record again, but for escapes.
    out.reserve(480 + 2 * event.record().len());
    out.extend_from_slice(b"{\"id\":\"");
    push_hex(out, &event.id().0);
    out.extend_from_slice(b"\",\"pubkey\":\"");
    push_hex(out, &event.pubkey().0);
    out.extend_from_slice(b"\",\"created_at\":");
    push_decimal(out, event.created_at().0);
    out.extend_from_slice(b",\"kind\":");
    push_decimal(out, event.kind().0.into());
    out.extend_from_slice(b",\"tags\":");
    push_tags(event, Controls::Escaped, out);
    out.extend_from_slice(b",\"content\":\"");
    push_escaped(event.content(), Controls::Escaped, out);
    out.extend_from_slice(b"\",\"sig\":\"");
    push_hex(out, &event.sig().0);
    out.extend_from_slice(b"\"}");
}

/// Appends `text` as a JSON string with its quotes.
pub(crate) fn push_json_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    push_escaped(text.as_bytes(), Controls::Escaped, out);
    out.push(b'"');
}

fn push_tags(event: EventRef<'_>, controls: Controls, out: &mut Vec<u8>) -> bool {
    let mut escaped_any = false;
    out.push(b'[');
    for (tag_at, tag) in event.tags().enumerate() {
        if tag_at > 0 {
            out.push(b',');
        }
        out.push(b'[');
        for (string_at, string) in tag.strings().enumerate() {
            out.extend_from_slice(if string_at > 0 { b",\"" } else { b"\"" });
            match string {
                TagStr::Hex(bytes) => push_hex(out, bytes),
                TagStr::Text(text) => escaped_any |= push_escaped(text, controls, out),
            }
            out.push(b'"');
        }
        out.push(b']');
    }
    out.push(b']');
    escaped_any
}

/// Appends `text` with NIP-01's seven escapes, and other control characters as `controls` says;
/// true if there was one of the latter.
fn push_escaped(text: &[u8], controls: Controls, out: &mut Vec<u8>) -> bool {
    let mut escaped_any = false;
    let mut rest = text;
    while let Some(at) = find_special(rest) {
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
                escaped_any = true;
                match controls {
                    Controls::Raw => out.push(control),
                    Controls::Escaped => {
                        out.extend_from_slice(b"\\u00");
                        push_hex(out, &[control]);
                    }
                }
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    escaped_any
}

/// The first byte that cannot stand for itself in a JSON string.
fn find_special(text: &[u8]) -> Option<usize> {
    // No early exit inside a chunk, so that the compiler compares all of it at once.
    const CHUNK: usize = 32;
    let is_special = |byte: u8| (byte < 0x20) | (byte == b'"') | (byte == b'\\');
    let mut at = 0;
    while let Some(chunk) = text[at..].first_chunk::<CHUNK>() {
        if chunk.iter().fold(false, |any, byte| any | is_special(*byte)) {
            break;
        }
        at += CHUNK;
    }
    text[at..].iter().position(|byte| is_special(*byte)).map(|offset| at + offset)
}

fn push_decimal(out: &mut Vec<u8>, mut value: u64) {
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
