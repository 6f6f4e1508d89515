//! What the machine sends, as text.

use zeolite_proto::{Event, EventId, Filter};

/// `["REQ",<sub>,<filter>..]`.
pub(super) fn req(sub: &str, filters: &[Filter]) -> String {
    let mut out = head("REQ", sub);
    for filter in filters {
        out.push(b',');
        filter.push_json(&mut out);
    }
    end(out)
}

/// `["REQ",<sub>,{"ids":[..],"limit":<n>}]`. No `limit` would do as well, but some relays answer
/// requests without one only up to a default.
pub(super) fn req_ids(sub: &str, ids: impl ExactSizeIterator<Item = EventId>) -> String {
    let mut out = head("REQ", sub);
    out.reserve(ids.len() * 67 + 40);
    let limit = ids.len();
    out.extend_from_slice(b",{\"ids\":[");
    for (at, id) in ids.enumerate() {
        out.extend_from_slice(if at > 0 { b",\"" } else { b"\"" });
        id.push_hex(&mut out);
        out.push(b'"');
    }
    out.extend_from_slice(format!("],\"limit\":{limit}}}").as_bytes());
    end(out)
}

/// `["CLOSE",<sub>]`.
pub(super) fn close(sub: &str) -> String {
    end(head("CLOSE", sub))
}

/// `["EVENT",<event>]`.
pub(super) fn event(event: &Event) -> String {
    let json = event.json();
    let mut out = Vec::with_capacity(json.len() + 12);
    out.extend_from_slice(b"[\"EVENT\",");
    out.extend_from_slice(json);
    end(out)
}

/// `["AUTH",<event>]`.
pub(super) fn auth(json: &str) -> String {
    format!("[\"AUTH\",{json}]")
}

/// `["NEG-OPEN",<sub>,<filter>,<hex>]`.
pub(super) fn neg_open(sub: &str, filter: &Filter, message: &[u8]) -> String {
    let mut out = head("NEG-OPEN", sub);
    out.push(b',');
    filter.push_json(&mut out);
    push_hex(message, &mut out);
    end(out)
}

/// `["NEG-MSG",<sub>,<hex>]`.
pub(super) fn neg_msg(sub: &str, message: &[u8]) -> String {
    let mut out = head("NEG-MSG", sub);
    push_hex(message, &mut out);
    end(out)
}

/// `["NEG-CLOSE",<sub>]`.
pub(super) fn neg_close(sub: &str) -> String {
    end(head("NEG-CLOSE", sub))
}

/// Reads a message's hex, of either case (R77-01).
pub(super) fn unhex(hex: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![0; hex.len() / 2];
    faster_hex::hex_decode(hex.as_bytes(), &mut bytes).ok()?;
    Some(bytes)
}

/// Subscription ids are our own and need no escaping.
fn head(verb: &str, sub: &str) -> Vec<u8> {
    format!("[\"{verb}\",\"{sub}\"").into_bytes()
}

fn push_hex(message: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"");
    let start = out.len();
    out.resize(start + 2 * message.len(), 0);
    faster_hex::hex_encode(message, &mut out[start..]).expect("sized for twice the message");
    out.push(b'"');
}

fn end(mut out: Vec<u8>) -> String {
    out.push(b']');
    String::from_utf8(out).expect("JSON that was written as UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R77-01..R77-03, M-03: the shape of every message.
    #[test]
    fn messages_have_the_shape_of_their_nip() {
        let filter = Filter::from_json(r#"{"kinds":[1]}"#).expect("a filter");
        let hex = "0a".repeat(32);
        for (text, expected) in [
            (req("s", &[filter.clone(), Filter::default()]), r#"["REQ","s",{"kinds":[1]},{}]"#),
            (
                req_ids("s", [EventId([10; 32]); 2].into_iter()),
                &format!(r#"["REQ","s",{{"ids":["{hex}","{hex}"],"limit":2}}]"#),
            ),
            (close("s"), r#"["CLOSE","s"]"#),
            (neg_open("n", &filter, b"a\0"), r#"["NEG-OPEN","n",{"kinds":[1]},"6100"]"#),
            (neg_msg("n", b"a"), r#"["NEG-MSG","n","61"]"#),
            (neg_close("n"), r#"["NEG-CLOSE","n"]"#),
        ] {
            assert_eq!(text, expected);
        }
        assert_eq!(unhex("61Aa"), Some(vec![0x61, 0xaa]));
        assert_eq!(unhex("6"), None);
        assert_eq!(unhex("6g"), None);
    }
}
