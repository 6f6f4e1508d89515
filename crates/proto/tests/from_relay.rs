//! Relay messages as data: what a client makes of what relays write.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use proptest::prelude::*;
use support::event;
use zeolite_proto::{
    EoseHint, EventError, EventId, EventParser, FromRelay, FromRelayError, Reason, RelayMsg, SubId,
};

fn parse(json: &str) -> Result<FromRelay, FromRelayError> {
    FromRelay::parse(json, &mut EventParser::new())
}

fn eose(hint: EoseHint) -> FromRelay {
    FromRelay::Eose { sub: "s".into(), hint }
}

fn neg_err(text: &str, cap: Option<u64>) -> FromRelay {
    FromRelay::NegErr { sub: "n".into(), text: text.into(), cap }
}

fn ok(accepted: bool, text: &str) -> FromRelay {
    FromRelay::Ok { id: EventId([0xab; 32]), accepted, text: text.into() }
}

/// R67-01, R67-07, R77-04, case 15: every message, and what relays make of them.
#[test]
fn every_message_parses() {
    let hex = "ab".repeat(32);
    let upper = hex.to_uppercase();
    let json = event(9, 1, "[]", "\"\"");
    let parsed = EventParser::new().parse(&json).unwrap();
    for (text, expected) in [
        (
            format!("[\"EVENT\",\"s\",{json}]"),
            FromRelay::Event { sub: "s".into(), event: parsed.clone() },
        ),
        (
            format!(" [ \"EVENT\", \"\", {json} , 1, {{}} ]"),
            FromRelay::Event { sub: "".into(), event: parsed },
        ),
        (format!(r#"["OK","{hex}",true,""]"#), ok(true, "")),
        (format!(r#"["OK","{upper}",false,"blocked: no",9]"#), ok(false, "blocked: no")),
        (format!(r#"["OK","{hex}","true"]"#), ok(true, "")),
        (format!(r#"["OK","{hex}",0,null]"#), ok(false, "")),
        (r#"["EOSE","s"]"#.into(), eose(EoseHint::None)),
        (r#"["EOSE","s",[]]"#.into(), eose(EoseHint::None)),
        (r#"["EOSE","s",["finish"]]"#.into(), eose(EoseHint::Finish)),
        (r#"["EOSE","s",["new","more",7]]"#.into(), eose(EoseHint::More)),
        (r#"["EOSE","s",["more","finish"]]"#.into(), eose(EoseHint::Finish)),
        (r#"["EOSE","s","finish",{}]"#.into(), eose(EoseHint::Finish)),
        (r#"["EOSE","s",{"finish":true}]"#.into(), eose(EoseHint::None)),
        (r#"["EOSE","s",1.5,null]"#.into(), eose(EoseHint::None)),
        (
            r#"["CLOSED","s","error: no"]"#.into(),
            FromRelay::Closed { sub: "s".into(), text: "error: no".into() },
        ),
        (r#"["CLOSED","s"]"#.into(), FromRelay::Closed { sub: "s".into(), text: "".into() }),
        (r#"["NOTICE","hello"]"#.into(), FromRelay::Notice { text: "hello".into() }),
        (r#"["NOTICE",{"text":1}]"#.into(), FromRelay::Notice { text: "".into() }),
        (r#"["AUTH","c"]"#.into(), FromRelay::Auth { challenge: "c".into() }),
        (
            r#"["COUNT","s",{"count":3,"approximate":true}]"#.into(),
            FromRelay::Count { sub: "s".into(), count: Some(3) },
        ),
        (r#"["COUNT","s",{}]"#.into(), FromRelay::Count { sub: "s".into(), count: None }),
        (
            r#"["NEG-MSG","n","6Aff"]"#.into(),
            FromRelay::NegMsg { sub: "n".into(), hex: "6Aff".into() },
        ),
        (r#"["NEG-ERR","n","blocked: x"]"#.into(), neg_err("blocked: x", None)),
        (r#"["NEG-ERR","n","blocked: x",1000]"#.into(), neg_err("blocked: x", Some(1000))),
        (r#"["NEG-ERR","n","blocked: x","1000"]"#.into(), neg_err("blocked: x", Some(1000))),
        (r#"["NEG-ERR","n","blocked: x",1e3]"#.into(), neg_err("blocked: x", Some(1000))),
        (
            r#"["NEG-ERR","n","blocked: x",{"why":"size","max":1000}]"#.into(),
            neg_err("blocked: x", Some(1000)),
        ),
        (r#"["NEG-ERR","n","blocked: x",{"a":[{}]}]"#.into(), neg_err("blocked: x", None)),
        (r#"["NEG-ERR","n","blocked: x",-4,[[]]]"#.into(), neg_err("blocked: x", None)),
        (r#"["NEG-ERR","n"]"#.into(), neg_err("", None)),
    ] {
        assert_eq!(parse(&text), Ok(expected), "{text}");
    }
}

/// What is no message says so, and a wrong event says what is wrong with it.
#[test]
fn broken_messages_are_named() {
    let forged = event(9, 1, "[]", "\"\"").replace("\"content\":\"\"", "\"content\":\"x\"");
    assert_eq!(
        parse(&format!("[\"EVENT\",\"s\",{forged}]")),
        Err(FromRelayError::Event(EventError::WrongId))
    );
    assert_eq!(
        parse(r#"["EVENT","s",{"id":"ab"}]"#),
        Err(FromRelayError::Event(EventError::Value("id is not 64 lower-case hex digits")))
    );
    for text in [
        "",
        "[]",
        "{}",
        "[1]",
        "null",
        "[\"EVENT\"]",
        "[\"EVENT\",\"s\"]",
        "[\"OK\"]",
        "[\"OK\",\"ab\",true,\"\"]",
        "[\"EOSE\"]",
        "[\"NEG-MSG\",\"n\"]",
        "[\"PING\",1]",
        "[\"EOSE\",\"s\"",
        "[\"EOSE\",\"s\"]x",
    ] {
        assert!(matches!(parse(text), Err(FromRelayError::Json(_))), "{text}");
    }
}

/// What our own relay writes is what this parser reads.
#[test]
fn our_own_messages_are_read() {
    let sub = SubId::new("s\"1").expect("a legal id");
    let blocked = || Reason::blocked("no");
    for message in [
        RelayMsg::Eose(&sub, EoseHint::Finish),
        RelayMsg::Closed("x", blocked()),
        RelayMsg::Notice("n"),
        RelayMsg::Auth("c"),
        RelayMsg::Count(&sub, 3, None),
        RelayMsg::NegMsg(&sub, &[0x61]),
        RelayMsg::NegErr("n", blocked(), Some(9)),
        RelayMsg::Ok(&"ab".repeat(32), Err(blocked())),
    ] {
        let mut json = Vec::new();
        message.encode(&mut json);
        let json = String::from_utf8(json).expect("UTF-8");
        parse(&json).unwrap_or_else(|error| panic!("{json}: {error}"));
    }
}

proptest! {
    /// No text makes the parser panic.
    #[test]
    fn no_text_panics(
        verb in "(EVENT|OK|EOSE|CLOSED|NOTICE|AUTH|COUNT|NEG-MSG|NEG-ERR|[A-Z]{0,4})",
        rest in r#"(,("[a-f0-9é\\]{0,70}"|[0-9.e+-]{1,5}|true|null|\[\]|\{"[a-z]{0,3}":[0-9]{1,3}\}|[\[\]{}:,"]{0,4})){0,5}"#,
    ) {
        _ = parse(&format!("[\"{verb}\"{rest}]"));
    }
}
