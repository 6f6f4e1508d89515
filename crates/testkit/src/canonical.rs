//! The id of an event, computed from its JSON value.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// NIP-01's preimage of the id: `[0,pubkey,created_at,kind,tags,content]` without white space,
/// with the seven short escapes, and with `\u00xx` for the other control characters (E-04).
///
/// # Panics
/// If a member is missing or has the wrong type: factories make no such events.
pub fn canonical_form(event: &Value) -> String {
    let mut out = String::from("[0,");
    push_value(&event["pubkey"], &mut out);
    for member in ["created_at", "kind", "tags", "content"] {
        out.push(',');
        push_value(&event[member], &mut out);
    }
    out.push(']');
    out
}

/// The SHA-256 of [`canonical_form`], as hex.
pub fn canonical_id(event: &Value) -> String {
    faster_hex::hex_string(&Sha256::digest(canonical_form(event).as_bytes()))
}

fn push_value(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => push_string(text, out),
        Value::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                push_value(value, out);
            }
            out.push(']');
        }
        other => panic!("an event has no place for {other}"),
    }
}

fn push_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", control as u32)),
            plain => out.push(plain),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// R01-05, R01-06: seven short escapes, everything else raw, no white space.
    #[test]
    fn the_form_has_seven_escapes() {
        let event = json!({
            "pubkey": "ab", "created_at": 1, "kind": 2, "tags": [["t", "/"], []],
            "content": "\n\"\\\r\t\u{8}\u{c}\u{1}\u{7f}\u{2028}😀",
        });
        let form =
            "[0,\"ab\",1,2,[[\"t\",\"/\"],[]],\"\\n\\\"\\\\\\r\\t\\b\\f\\u0001\u{7f}\u{2028}😀\"]";
        assert_eq!(canonical_form(&event), form);
    }
}
