//! NIP-01's rules for events, and the edge cases of JSON, as data.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use support::{PUBKEY, event, id_of, spelled};
use zeolite_proto::{Address, Event, EventError, EventParser, EventRef, Kind, TagStr, Timestamp};

fn parse(json: &str) -> Result<Event, EventError> {
    EventParser::new().parse(json)
}

/// The event is accepted, and served again it is byte for byte `canonical`.
fn check_served(wire: &str, canonical: &str) {
    let parsed = parse(wire).unwrap_or_else(|error| panic!("{wire}: {error}"));
    assert_eq!(std::str::from_utf8(parsed.json()), Ok(canonical));
    assert_eq!(parsed.view().check(), Ok(()));
    assert_eq!(parse(canonical).as_ref(), Ok(&parsed), "what is served parses to the same event");
}

/// R01-01, R01-02, R01-05: a plain event, and every field of it.
#[test]
fn a_plain_event_keeps_every_field() {
    let tags = format!(r#"[["e","{PUBKEY}","wss://x"],["t","zeolite"],["alone"]]"#);
    let json = event(1_700_000_000, 1, &tags, "\"hello\"");
    check_served(&json, &json);
    let parsed = parse(&json).unwrap();
    let view = parsed.view();
    assert_eq!(view.id().to_string(), id_of(1_700_000_000, 1, &tags, "\"hello\""));
    assert_eq!(view.pubkey().to_string(), PUBKEY);
    assert_eq!(view.sig().to_string(), "5a".repeat(64));
    assert_eq!(view.created_at(), Timestamp(1_700_000_000));
    assert_eq!(view.kind(), Kind(1));
    assert_eq!(view.content(), b"hello");
    let strings: Vec<Vec<String>> = view
        .tags()
        .map(|tag| tag.strings().map(|s| String::from_utf8(s.to_bytes()).unwrap()).collect())
        .collect();
    assert_eq!(strings, [vec!["e", PUBKEY, "wss://x"], vec!["t", "zeolite"], vec!["alone"]]);
}

/// R01-06, R01-07, R01-08, R01-13, E-03, E-05, case 36: however a character is spelled on the
/// wire, the id is taken over NIP-01's form, and that form is served.
#[test]
fn text_is_decoded_and_escaped_as_nip_01_says() {
    for (wire, canonical) in [
        (r#""\n\"\\\r\t\b\f""#, r#""\n\"\\\r\t\b\f""#),
        (r#""\u000a\u0022\u005c\u000d\u0009\u0008\u000c""#, r#""\n\"\\\r\t\b\f""#),
        (r#""a\/b""#, "\"a/b\""),
        (r#""\u0041""#, "\"A\""),
        (r#""\ud83d\ude00""#, "\"😀\""),
        ("\"\u{7f}\u{2028}\u{2029}\"", "\"\u{7f}\u{2028}\u{2029}\""),
        (r#""\u007f\u2028""#, "\"\u{7f}\u{2028}\""),
        ("\"\u{fdd1}\u{10ffff}\"", "\"\u{fdd1}\u{10ffff}\""),
        (r#""\u0000x\u001f""#, r#""\u0000x\u001f""#),
        ("\"12345678\u{e9}\\\"12345678\"", "\"12345678\u{e9}\\\"12345678\""),
        ("\"\"", "\"\""),
    ] {
        let id = id_of(9, 1, "[]", canonical);
        check_served(&spelled(&id, "9", "1", "[]", wire), &event(9, 1, "[]", canonical));
        let (wire, canonical) = (format!("[[\"t\",{wire}]]"), format!("[[\"t\",{canonical}]]"));
        let id = id_of(9, 1, &canonical, "\"\"");
        check_served(&spelled(&id, "9", "1", &wire, "\"\""), &event(9, 1, &canonical, "\"\""));
    }
}

/// R01-09, E-04: an id over raw control characters is accepted too; what is served is JSON.
#[test]
fn an_id_over_raw_control_characters_is_accepted() {
    let id = id_of(9, 1, "[]", "\"a\u{1}b\"");
    let served = spelled(&id, "9", "1", "[]", r#""a\u0001b""#);
    check_served(&served, &served);
}

/// R01-12, E-08: member order, white space and unknown members do not matter.
#[test]
fn order_space_and_unknown_members_do_not_matter() {
    let id = id_of(9, 1, "[]", "\"x\"");
    let wire = format!(
        " {{ \"sig\":\"{}\" ,\n\"foo\":{{\"id\":[1,2]}}, \"content\":\"x\",\"tags\":[ ],\"kind\":1,\
         \"created_at\":9,\"pubkey\":\"{PUBKEY}\",\"\\u0069d\":\"{id}\"}}\n",
        "5a".repeat(64)
    );
    check_served(&wire, &event(9, 1, "[]", "\"x\""));
}

/// R01-11, case 35: empty tags and empty strings are kept as they are.
#[test]
fn empty_tags_and_strings_are_kept() {
    for tags in [r#"[[]]"#, r#"[[""]]"#, r#"[["d",""],["alone"],[],["","v"]]"#] {
        check_served(&event(9, 1, tags, "\"\""), &event(9, 1, tags, "\"\""));
    }
}

/// R01-01, R01-10, E-02, E-03, E-06, E-10, E-12, case 37: what is not an event, and why.
#[test]
fn what_is_not_an_event_is_refused_with_the_reason() {
    let good = event(9, 1, "[]", "\"\"");
    let id = id_of(9, 1, "[]", "\"\"");
    let with = |created_at, kind, tags, content| spelled(&id, created_at, kind, tags, content);
    let edge = "created_at is too far in the future";
    let float = "created_at is not a whole number of seconds";
    let cases = [
        (good.replace("\"kind\":1,", ""), "event has no kind"),
        (good.replace("\"kind\":1,", "\"kind\":1,\"kind\":1,"), "event has kind twice"),
        (good.replace(PUBKEY, &PUBKEY.to_uppercase()), "pubkey is not 64 lower-case hex digits"),
        (good.replace(PUBKEY, &PUBKEY[1..]), "pubkey is not 64 lower-case hex digits"),
        (good.replace("5a5a\"", "5a5\""), "sig is not 128 lower-case hex digits"),
        (good.replace(&id, &format!("{id}0")), "id is not 64 lower-case hex digits"),
        (good.replace(&id, &"0".repeat(64)), "event id does not match its content"),
        (with("1.0", "1", "[]", "\"\""), float),
        (with("1e3", "1", "[]", "\"\""), float),
        (with("-0", "1", "[]", "\"\""), float),
        (with("-1", "1", "[]", "\"\""), "created_at is negative"),
        (
            with("\"9\"", "1", "[]", "\"\""),
            "invalid type: string \"9\", expected whole seconds as created_at",
        ),
        (with("18446744073709551615", "1", "[]", "\"\""), edge),
        (with("9223372036854775808", "1", "[]", "\"\""), edge),
        (with("1099511627776", "1", "[]", "\"\""), edge),
        (with("99999999999999999999", "1", "[]", "\"\""), float),
        (with("9", "65536", "[]", "\"\""), "kind is above 65535"),
        (with("9", "-1", "[]", "\"\""), "kind is negative"),
        (with("9", "1.0", "[]", "\"\""), "kind is not an integer from 0 to 65535"),
        (
            with("9", "1", "[[1]]", "\"\""),
            "invalid type: integer `1`, expected a string inside a tag",
        ),
        (with("9", "1", "[[null]]", "\"\""), "invalid type: null, expected a string inside a tag"),
        (
            with("9", "1", "[[[\"x\"]]]", "\"\""),
            "invalid type: sequence, expected a string inside a tag",
        ),
        (
            with("9", "1", "[\"x\"]", "\"\""),
            "invalid type: string \"x\", expected an array of strings as tag",
        ),
        (
            with("9", "1", "null", "\"\""),
            "invalid type: null, expected an array of arrays of strings as tags",
        ),
        (with("9", "1", "[]", "{}"), "invalid type: map, expected a string as content"),
        (with("9", "1", "[]", "5"), "invalid type: integer `5`, expected a string as content"),
        (
            with("true", "1", "[]", "\"\""),
            "invalid type: boolean `true`, expected whole seconds as created_at",
        ),
        (
            with("9", "1", "[]", "\"\u{1}\""),
            "control character (\\u0000-\\u001F) found while parsing a string",
        ),
        (with("9", "1", "[]", r#""\ud800""#), "unexpected end of hex escape"),
        (with("9", "1", "[]", r#""\ude00\ud83d""#), "lone leading surrogate in hex escape"),
        (format!("{good}x"), "trailing characters"),
        (good[..good.len() - 1].to_owned(), "EOF while parsing an object"),
        ("[]".to_owned(), "invalid type: sequence, expected an event object"),
        ("[".repeat(1000), "invalid type: sequence, expected an event object"),
        (
            with("9", "1", &"[".repeat(1000), "\"\""),
            "invalid type: sequence, expected a string inside a tag",
        ),
    ];
    for (json, reason) in cases {
        let error = parse(&json).expect_err(&json);
        assert_eq!(error.to_string(), reason, "{json}");
    }
}

/// A refused event leaves nothing behind for the next one in the same parser.
#[test]
fn a_parser_forgets_the_event_before() {
    let mut parser = EventParser::new();
    let long = event(9, 1, &format!("[[\"t\",\"{}\"]]", "x".repeat(50_000)), "\"y\"");
    assert!(parser.parse(&long).is_ok());
    assert!(parser.parse(&long[..long.len() - 1]).is_err());
    let short = event(9, 1, "[]", "\"\"");
    assert_eq!(parser.parse(&short).unwrap().json(), short.as_bytes());
    let no_content = short.replace("\"content\":\"\",", "");
    assert_eq!(parser.parse(&no_content), Err(EventError::Missing("content")));
}

/// R40-01, R40-05, R40-06, case 44: the first expiration tag, if it is a number.
#[test]
fn expiration_is_the_first_readable_tag() {
    for (kind, tags, expiration) in [
        (1, r#"[["expiration","100"]]"#, Some(100)),
        (1, r#"[["expiration","100"],["expiration","5"]]"#, Some(100)),
        (1, r#"[["expiration","abc"]]"#, None),
        (1, r#"[["expiration","-1"]]"#, None),
        (1, r#"[["expiration",""]]"#, None),
        (1, r#"[["expiration","99999999999999999999999"]]"#, None),
        (1, r#"[["expiration"]]"#, None),
        (1, r#"[["x","expiration"]]"#, None),
        (20_001, r#"[["expiration","100"]]"#, None),
    ] {
        let parsed = parse(&event(9, kind, tags, "\"\"")).unwrap();
        assert_eq!(parsed.view().expiration(), expiration.map(Timestamp), "{kind} {tags}");
    }
    let parsed = parse(&event(9, 1, r#"[["expiration","100"]]"#, "\"\"")).unwrap();
    assert!(!parsed.view().is_expired(Timestamp(99)));
    assert!(parsed.view().is_expired(Timestamp(100)), "reached is over");
}

/// R01-28, R01-29, case 11: the first `d` tag names an addressable event, none names a
/// replaceable one.
#[test]
fn addresses_follow_the_first_d_tag() {
    for (kind, tags, d) in [
        (30_000, r#"[["d","b"],["d","a"]]"#, Some("b")),
        (30_000, r#"[["d"],["d","a"]]"#, Some("")),
        (30_000, "[]", Some("")),
        (30_000, r#"[["d",""]]"#, Some("")),
        (30_000, &format!(r#"[["d","{PUBKEY}"]]"#), Some(PUBKEY)),
        (0, r#"[["d","a"]]"#, Some("")),
        (10_002, "[]", Some("")),
        (1, r#"[["d","a"]]"#, None),
        (20_000, r#"[["d","a"]]"#, None),
    ] {
        let parsed = parse(&event(9, kind, tags, "\"\"")).unwrap();
        let found = parsed.view().address();
        let expected = d.map(|d| Address {
            kind: Kind(kind),
            author: parsed.view().pubkey(),
            d: d.as_bytes().into(),
        });
        assert_eq!(found, expected, "{kind} {tags}");
    }
}

/// R01-29, E-45, E-46: the value of an `a` tag.
#[test]
fn a_tags_are_split_on_their_first_two_colons() {
    let addressed = |kind, d: &str| {
        let author = zeolite_proto::PubKey::from_hex(PUBKEY).unwrap();
        Some(Address { kind: Kind(kind), author, d: d.as_bytes().into() })
    };
    for (value, address) in [
        (format!("30023:{PUBKEY}:x"), addressed(30_023, "x")),
        (format!("30023:{PUBKEY}:x:y:"), addressed(30_023, "x:y:")),
        (format!("30023:{PUBKEY}:"), addressed(30_023, "")),
        (format!("0:{PUBKEY}:"), addressed(0, "")),
        (format!("0:{PUBKEY}:x"), addressed(0, "")),
        (format!("30023:{PUBKEY}"), None),
        (format!("1:{PUBKEY}:x"), None),
        (format!("x:{PUBKEY}:x"), None),
        (format!("+30023:{PUBKEY}:x"), None),
        (format!(":{PUBKEY}:x"), None),
        (format!("99999:{PUBKEY}:x"), None),
        (format!("30023:{}:x", &PUBKEY[1..]), None),
        (format!("30023:{}:x", PUBKEY.to_uppercase()), None),
        (PUBKEY.to_owned(), None),
    ] {
        assert_eq!(Address::parse(TagStr::Text(value.as_bytes())), address, "{value}");
    }
}

/// A damaged record is an error or a shorter walk, never a panic.
#[test]
fn damaged_records_never_panic() {
    let tags = format!(r#"[["e","{PUBKEY}","x"],["expiration","7"],["d","{PUBKEY}"]]"#);
    let parsed = parse(&event(9, 30_000, &tags, "\"hello\"")).unwrap();
    let record = parsed.view().record();
    for cut in 0..record.len() {
        assert!(Event::from_record(&record[..cut]).is_err(), "cut at {cut}");
    }
    for at in 0..record.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = record.to_vec();
            damaged[at] ^= flip;
            if let Ok(view) = EventRef::new(&damaged) {
                let _ = (view.expiration(), view.address(), view.letter_tags().count());
                view.push_json(&mut Vec::new());
            }
            // The id does not cover the signature and the flags; all else it does.
            let is_covered = !(64..128).contains(&at) && at != 138;
            assert_eq!(Event::from_record(&damaged).is_err(), is_covered, "byte {at} ^ {flip}");
        }
    }
}
