//! What the child answers.

use serde::Deserialize;
use zeolite_proto::{EventId, Prefix, Reason};

use super::desk::Ruling;

#[derive(Deserialize)]
struct Line {
    id: String,
    action: String,
    #[serde(default)]
    msg: Option<String>,
}

/// Bytes of a message that reach a client; the rest is cut.
const MESSAGE_BYTES_MAX: usize = 512;

/// Reads a line; `None` if it is no answer.
pub(super) fn read(line: &[u8]) -> Option<(EventId, Ruling)> {
    let line: Line = serde_json::from_slice(line).ok()?;
    let id = EventId::from_hex(&line.id).ok()?;
    let ruling = match line.action.as_str() {
        "accept" => Ruling::Accept,
        "reject" => Ruling::Reject(reason(line.msg.as_deref().unwrap_or_default())),
        "shadowReject" => Ruling::ShadowReject,
        _ => return None,
    };
    Some((id, ruling))
}

/// R01-55, R01-56: what a client is told begins with a standard word. Policies mostly give one.
fn reason(message: &str) -> Reason {
    const WORDS: [Prefix; 8] = [
        Prefix::Duplicate,
        Prefix::Pow,
        Prefix::Blocked,
        Prefix::RateLimited,
        Prefix::Invalid,
        Prefix::Restricted,
        Prefix::Error,
        Prefix::AuthRequired,
    ];
    let message = message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)].trim();
    let split = message.split_once(':');
    let known = split.and_then(|(word, text)| {
        let prefix = WORDS.into_iter().find(|prefix| prefix.as_str() == word)?;
        Some(Reason::new(prefix, text.trim_start().to_owned()))
    });
    known.unwrap_or_else(|| match message {
        "" => Reason::blocked("refused by policy"),
        text => Reason::blocked(text.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let id = "ab".repeat(32);
        let reject = |reason: Reason| Some(Ruling::Reject(reason));
        for (rest, expected) in [
            (r#""action":"accept""#, Some(Ruling::Accept)),
            (r#""action":"accept","msg":null,"more":[1]"#, Some(Ruling::Accept)),
            (r#""action":"shadowReject","msg":"x""#, Some(Ruling::ShadowReject)),
            (
                r#""action":"reject","msg":"blocked: not on white-list""#,
                reject(Reason::blocked("not on white-list")),
            ),
            (
                r#""action":"reject","msg":"rate-limited: slow down""#,
                reject(Reason::new(Prefix::RateLimited, "slow down")),
            ),
            (r#""action":"reject","msg":"go away""#, reject(Reason::blocked("go away"))),
            (r#""action":"reject","msg":"no: you""#, reject(Reason::blocked("no: you"))),
            (r#""action":"reject""#, reject(Reason::blocked("refused by policy"))),
            (r#""action":"maybe""#, None),
            (r#""msg":"accept""#, None),
        ] {
            let line = format!(r#"{{"id":"{id}",{rest}}}"#);
            assert_eq!(read(line.as_bytes()).map(|(_, ruling)| ruling), expected, "{line}");
        }
        for line in ["", "accept", "{}", "[]", r#"{"id":"x","action":"accept"}"#, "\u{0}"] {
            assert_eq!(read(line.as_bytes()), None, "{line:?}");
        }
    }
}
