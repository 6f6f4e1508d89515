//! What the child is asked.

use core::net::IpAddr;

use zeolite_proto::{Event, PubKey, Timestamp};

/// Where an event came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginSource<'a> {
    /// A client, by its address.
    Client(IpAddr),
    /// A file.
    Import,
    /// A mirrored relay, by its URL.
    Mirror(&'a str),
}

/// Appends the question about an event: one line.
pub fn push_question(
    out: &mut Vec<u8>,
    event: &Event,
    received_at: Timestamp,
    source: PluginSource<'_>,
    login: Option<&PubKey>,
) {
    out.extend_from_slice(br#"{"type":"new","event":"#);
    event.view().push_json(out);
    let (kind, info) = match source {
        PluginSource::Client(address) => match address.to_canonical() {
            IpAddr::V4(v4) => ("IP4", v4.to_string()),
            IpAddr::V6(v6) => ("IP6", v6.to_string()),
        },
        PluginSource::Import => ("Import", String::new()),
        PluginSource::Mirror(url) => ("Sync", url.to_owned()),
    };
    let info = serde_json::Value::from(info);
    let rest = format!(r#","receivedAt":{received_at},"sourceType":"{kind}","sourceInfo":{info}"#);
    out.extend_from_slice(rest.as_bytes());
    if let Some(login) = login {
        out.extend_from_slice(format!(r#","authed":"{login}""#).as_bytes());
    }
    out.extend_from_slice(b"}\n");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use zeolite_proto::EventParser;
    use zeolite_testkit::Factory;

    use super::*;

    /// A question is one line of JSON with the members that existing policies read, whatever the
    /// event holds.
    #[test]
    fn questions_have_the_known_members() {
        let note = Factory::unsigned(1).note(0, 1_700_000_000, "line\n\"quoted\" \u{2028} é");
        let event = EventParser::new().parse(&note.to_string()).expect("an event");
        let login = event.view().pubkey();
        let v4 = PluginSource::Client("::ffff:192.0.2.1".parse().expect("an address"));
        let v6 = PluginSource::Client("2001:db8::1".parse().expect("an address"));
        for (source, login, kind, info) in [
            (v4, None, "IP4", "192.0.2.1"),
            (v6, Some(&login), "IP6", "2001:db8::1"),
            (PluginSource::Import, None, "Import", ""),
            (PluginSource::Mirror("wss://a.example/\"x"), None, "Sync", "wss://a.example/\"x"),
        ] {
            let mut line = Vec::new();
            push_question(&mut line, &event, Timestamp(1_700_000_007), source, login);
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            assert_eq!(line.last(), Some(&b'\n'));
            let question: Value = serde_json::from_slice(&line).expect("JSON");
            let mut expected = json!({
                "type": "new", "event": note, "receivedAt": 1_700_000_007,
                "sourceType": kind, "sourceInfo": info,
            });
            if let Some(login) = login {
                expected["authed"] = login.to_string().into();
            }
            assert_eq!(question, expected);
        }
    }
}
