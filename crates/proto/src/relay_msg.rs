//! Messages from relay to client, encoded into a caller's buffer.

use crate::canonical::push_json_string;
use crate::hll::Hll;
use crate::ids::SubId;
use crate::reason::Reason;

/// What an `EOSE` says of the stored answer (NIP-67).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EoseHint {
    /// Nothing certain.
    None,
    /// Every stored match was sent.
    Finish,
    /// There are more stored matches than were sent.
    More,
}

/// One message from relay to client.
#[derive(Clone, Debug)]
pub enum RelayMsg<'a> {
    /// `["EVENT",<sub>,<event>]`, with the event as JSON.
    Event(&'a SubId, &'a [u8]),
    /// `["OK",<id>,<accepted>,<text>]`; the id is the client's own text.
    Ok(&'a str, Result<Option<Reason>, Reason>),
    /// `["EOSE",<sub>]`, with hints (NIP-67).
    Eose(&'a SubId, EoseHint),
    /// `["CLOSED",<sub>,<text>]`; the id is the client's own text, which may not be a [`SubId`].
    Closed(&'a str, Reason),
    /// `["NOTICE",<text>]`, for what no event or subscription can be blamed for.
    Notice(&'a str),
    /// `["AUTH",<challenge>]` (NIP-42).
    Auth(&'a str),
    /// `["COUNT",<sub>,{"count":<n>}]`, with `"hll"` where there are registers (NIP-45).
    Count(&'a SubId, u64, Option<&'a Hll>),
    /// `["NEG-MSG",<sub>,<hex>]` (NIP-77).
    NegMsg(&'a SubId, &'a [u8]),
    /// `["NEG-ERR",<sub>,<text>,<records>?]` (NIP-77).
    NegErr(&'a str, Reason, Option<u64>),
}

impl RelayMsg<'_> {
    /// Appends the message's JSON.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Event(sub, event) => {
                push_event_head(sub, out);
                out.extend_from_slice(event);
            }
            Self::Ok(id, outcome) => {
                push_head("OK", id, out);
                match outcome {
                    Ok(None) => out.extend_from_slice(b",true,\"\""),
                    Ok(Some(reason)) => {
                        out.extend_from_slice(b",true,");
                        push_json_string(&reason.to_string(), out);
                    }
                    Err(reason) => {
                        out.extend_from_slice(b",false,");
                        push_json_string(&reason.to_string(), out);
                    }
                }
            }
            Self::Eose(sub, hint) => {
                push_head("EOSE", sub.as_str(), out);
                out.extend_from_slice(match hint {
                    EoseHint::None => b"",
                    EoseHint::Finish => b",[\"finish\"]",
                    EoseHint::More => b",[\"more\"]",
                });
            }
            Self::Closed(sub, reason) => {
                push_head("CLOSED", sub, out);
                out.push(b',');
                push_json_string(&reason.to_string(), out);
            }
            Self::Notice(text) => push_head("NOTICE", text, out),
            Self::Auth(challenge) => push_head("AUTH", challenge, out),
            Self::Count(sub, count, hll) => {
                push_head("COUNT", sub.as_str(), out);
                out.extend_from_slice(format!(",{{\"count\":{count}").as_bytes());
                if let Some(hll) = hll {
                    out.extend_from_slice(b",\"hll\":\"");
                    hll.push_hex(out);
                    out.push(b'"');
                }
                out.push(b'}');
            }
            Self::NegMsg(sub, message) => {
                push_head("NEG-MSG", sub.as_str(), out);
                out.extend_from_slice(b",\"");
                crate::ids::push_hex(out, message);
                out.push(b'"');
            }
            Self::NegErr(sub, reason, records) => {
                push_head("NEG-ERR", sub, out);
                out.push(b',');
                push_json_string(&reason.to_string(), out);
                if let Some(records) = records {
                    out.extend_from_slice(format!(",{records}").as_bytes());
                }
            }
        }
        out.push(b']');
    }
}

/// Appends what stands before the event's JSON in an `EVENT`; a `]` closes the message. Live
/// fan-out and stored answers write it once per subscription and copy it from then on.
fn push_event_head(sub: &SubId, out: &mut Vec<u8>) {
    push_head("EVENT", sub.as_str(), out);
    out.push(b',');
}

fn push_head(verb: &str, text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"[\"");
    out.extend_from_slice(verb.as_bytes());
    out.extend_from_slice(b"\",");
    push_json_string(text, out);
}

impl SubId {
    /// What stands before the event's JSON in an `EVENT` for this subscription; `]` ends it.
    pub fn event_head(&self) -> Box<[u8]> {
        let mut head = Vec::new();
        push_event_head(self, &mut head);
        head.into_boxed_slice()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R01-44, R67-01, E-26: the shape of every message, with text that needs escaping.
    #[test]
    fn messages_have_the_shape_of_their_nip() {
        let sub = SubId::new("s\"\n😀").expect("a legal id");
        let n = SubId::new("n").expect("a legal id");
        let with_hll = format!(r#"["COUNT","n",{{"count":3,"hll":"{}"}}]"#, "00".repeat(256));
        let blocked = || Reason::blocked("no \"x\"");
        for (message, json) in [
            (RelayMsg::Event(&sub, b"{}"), "[\"EVENT\",\"s\\\"\\n😀\",{}]"),
            (RelayMsg::Ok("ab", Ok(None)), r#"["OK","ab",true,""]"#),
            (RelayMsg::Ok("ab", Ok(Some(blocked()))), r#"["OK","ab",true,"blocked: no \"x\""]"#),
            (RelayMsg::Ok("ab", Err(blocked())), r#"["OK","ab",false,"blocked: no \"x\""]"#),
            (RelayMsg::Eose(&sub, EoseHint::None), "[\"EOSE\",\"s\\\"\\n😀\"]"),
            (RelayMsg::Eose(&sub, EoseHint::Finish), "[\"EOSE\",\"s\\\"\\n😀\",[\"finish\"]]"),
            (RelayMsg::Eose(&sub, EoseHint::More), "[\"EOSE\",\"s\\\"\\n😀\",[\"more\"]]"),
            (RelayMsg::Closed("", blocked()), r#"["CLOSED","","blocked: no \"x\""]"#),
            (RelayMsg::Notice("a\u{1}"), "[\"NOTICE\",\"a\\u0001\"]"),
            (RelayMsg::Auth("c"), r#"["AUTH","c"]"#),
            (RelayMsg::Count(&sub, 3, None), "[\"COUNT\",\"s\\\"\\n😀\",{\"count\":3}]"),
            (RelayMsg::Count(&n, 3, Some(&Hll::default())), &with_hll),
            (RelayMsg::NegMsg(&sub, &[0x61]), "[\"NEG-MSG\",\"s\\\"\\n😀\",\"61\"]"),
            (RelayMsg::NegErr("n", blocked(), None), r#"["NEG-ERR","n","blocked: no \"x\""]"#),
            (RelayMsg::NegErr("n", blocked(), Some(9)), r#"["NEG-ERR","n","blocked: no \"x\"",9]"#),
        ] {
            let mut out = Vec::new();
            message.encode(&mut out);
            assert_eq!(String::from_utf8(out).expect("UTF-8"), json);
        }
    }
}
