//! Authorisation of HTTP requests by a signed event (NIP-98).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use zeolite_proto::{
    Event, EventParser, EventRef, Kind, TagRef, TagStr, Timestamp, normalise_relay_url,
};

use crate::limits::HTTP_AUTH_AGE_S_MAX;

const HTTP_AUTH: Kind = Kind(27_235);

/// A request as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'a> {
    /// `POST`.
    pub method: &'a str,
    /// The URLs by which this relay is known, normalised. The request's own idea of its host is not
    /// among them: whoever sends it chooses it.
    pub own_urls: &'a [String],
    /// The body, whole.
    pub body: &'a [u8],
}

/// Why a request is not authorised. The text goes to the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpAuthFault {
    /// No header, or one of another scheme.
    #[error("an Authorization header \"Nostr <base64 of an event>\" is needed (NIP-98)")]
    Missing,
    /// What follows the scheme is not an event in base64.
    #[error("the authorisation is not an event in base64")]
    NotAnEvent,
    /// The event is of another kind.
    #[error("the authorisation must be of kind 27235")]
    Kind,
    /// Too old or too new.
    #[error("the authorisation's created_at must be within {HTTP_AUTH_AGE_S_MAX} s of now")]
    Time,
    /// It is for another URL.
    #[error("the authorisation's u tag is not a URL of this relay: {}", .expected.join(", "))]
    Url {
        /// Those that would have been right.
        expected: Vec<String>,
    },
    /// It is for another method.
    #[error("the authorisation's method tag is not the method of the request")]
    Method,
    /// It is for another body.
    #[error("the authorisation's payload tag is not the SHA-256 of the body")]
    Payload,
}

/// Reads the authorisation of a request and checks everything but its signature and whether it was
/// used before: those are the caller's. `payload` is required, as NIP-86 asks.
pub fn read_http_auth(
    header: Option<&str>,
    request: HttpRequest<'_>,
    now: Timestamp,
) -> Result<Event, HttpAuthFault> {
    let event = decode(header)?;
    let view = event.view();
    if view.kind() != HTTP_AUTH {
        return Err(HttpAuthFault::Kind);
    }
    if view.created_at().0.abs_diff(now.0) > HTTP_AUTH_AGE_S_MAX {
        return Err(HttpAuthFault::Time);
    }
    if !is_for_url(view, request.own_urls) {
        return Err(HttpAuthFault::Url { expected: request.own_urls.to_vec() });
    }
    if tag_value(view, b"method") != Some(TagStr::Text(request.method.as_bytes())) {
        return Err(HttpAuthFault::Method);
    }
    let hash: [u8; 32] = Sha256::digest(request.body).into();
    if tag_value(view, b"payload") != Some(TagStr::Hex(&hash)) {
        return Err(HttpAuthFault::Payload);
    }
    Ok(event)
}

fn decode(header: Option<&str>) -> Result<Event, HttpAuthFault> {
    let (scheme, token) =
        header.and_then(|header| header.trim().split_once(' ')).ok_or(HttpAuthFault::Missing)?;
    if !scheme.eq_ignore_ascii_case("Nostr") {
        return Err(HttpAuthFault::Missing);
    }
    let json = STANDARD.decode(token.trim()).map_err(|_| HttpAuthFault::NotAnEvent)?;
    let json = std::str::from_utf8(&json).map_err(|_| HttpAuthFault::NotAnEvent)?;
    EventParser::new().parse(json).map_err(|_| HttpAuthFault::NotAnEvent)
}

/// R98-03: any spelling of one of our own URLs; `ws` and `http` are the same.
fn is_for_url(event: EventRef<'_>, own_urls: &[String]) -> bool {
    let Some(TagStr::Text(url)) = tag_value(event, b"u") else { return false };
    let url = std::str::from_utf8(url).ok().and_then(normalise_relay_url);
    url.is_some_and(|url| own_urls.contains(&url))
}

/// The value of the first tag of this name.
fn tag_value<'a>(event: EventRef<'a>, name: &[u8]) -> Option<TagStr<'a>> {
    event.tags().find(|tag| tag.name() == Some(TagStr::Text(name))).and_then(TagRef::value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use zeolite_testkit::Factory;

    use super::*;

    const NOW: u64 = 1_700_000_000;
    const BODY: &[u8] = br#"{"method":"supportedmethods","params":[]}"#;

    fn good_tags() -> Value {
        let hash: [u8; 32] = Sha256::digest(BODY).into();
        let payload = zeolite_proto::EventId(hash).to_string();
        json!([["u", "https://relay.example/"], ["method", "POST"], ["payload", payload]])
    }

    fn header(kind: u16, at: u64, tags: &Value) -> String {
        let mut event = Factory::unsigned(1).draft(0).at(at).kind(kind).build();
        event["tags"] = tags.clone();
        Factory::unsigned(1).seal(0, &mut event);
        format!("Nostr {}", STANDARD.encode(event.to_string()))
    }

    fn check(header: Option<&str>) -> Result<Event, HttpAuthFault> {
        let own_urls = ["wss://relay.example".to_owned()];
        let request = HttpRequest { method: "POST", own_urls: &own_urls, body: BODY };
        read_http_auth(header, request, Timestamp(NOW))
    }

    /// R98-01, R98-02, R98-03: every check by itself.
    #[test]
    fn each_fault_is_found() {
        use HttpAuthFault::{Kind, Method, Missing, NotAnEvent, Payload, Time, Url};
        let with = |at: usize, value: &str| {
            let mut tags = good_tags();
            tags[at][1] = value.into();
            header(27_235, NOW, &tags)
        };
        let without = |at: usize| {
            let mut tags = good_tags();
            tags.as_array_mut().expect("a list").remove(at);
            header(27_235, NOW, &tags)
        };
        let wrong_url = || Some(Url { expected: vec!["wss://relay.example".to_owned()] });
        for (name, header, fault) in [
            ("good", header(27_235, NOW, &good_tags()), None),
            (
                "scheme in any case",
                header(27_235, NOW, &good_tags()).replace("Nostr", "nostr"),
                None,
            ),
            ("ws spelling", with(0, "wss://RELAY.example:443"), None),
            ("60 s old", header(27_235, NOW - 60, &good_tags()), None),
            ("61 s old", header(27_235, NOW - 61, &good_tags()), Some(Time)),
            ("61 s ahead", header(27_235, NOW + 61, &good_tags()), Some(Time)),
            ("a login", header(22_242, NOW, &good_tags()), Some(Kind)),
            ("another relay", with(0, "https://other.example/"), wrong_url()),
            ("another path", with(0, "https://relay.example/admin"), wrong_url()),
            ("no url", without(0), wrong_url()),
            ("another method", with(1, "GET"), Some(Method)),
            ("lower-case method", with(1, "post"), Some(Method)),
            ("no method", without(1), Some(Method)),
            ("another body", with(2, &"0".repeat(64)), Some(Payload)),
            ("no payload", without(2), Some(Payload)),
            ("another scheme", "Basic abc".to_owned(), Some(Missing)),
            ("no token", "Nostr".to_owned(), Some(Missing)),
            ("no base64", "Nostr ***".to_owned(), Some(NotAnEvent)),
            ("no event", format!("Nostr {}", STANDARD.encode("{}")), Some(NotAnEvent)),
        ] {
            assert_eq!(check(Some(&header)).err(), fault, "{name}");
        }
        assert_eq!(check(None).err(), Some(Missing));
    }

    /// R01-04: the sample of NIP-98 itself is signed, but its id is not its hash.
    #[test]
    fn ids_are_recomputed() {
        let token = header(27_235, NOW, &good_tags());
        let json = STANDARD.decode(&token[6..]).expect("base64");
        let mut event: Value = serde_json::from_slice(&json).expect("an event");
        event["content"] = "changed".into();
        let header = format!("Nostr {}", STANDARD.encode(event.to_string()));
        assert_eq!(check(Some(&header)).err(), Some(HttpAuthFault::NotAnEvent));
    }
}
