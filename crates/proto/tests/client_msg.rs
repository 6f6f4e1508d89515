//! Client messages, and whom a broken one is blamed on, as data.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use proptest::prelude::*;
use support::{event, id_of};
use zeolite_proto::{Blame, ClientMsg, EventParser, Filter, MsgError, SubId};

fn parse(json: &str) -> Result<ClientMsg, MsgError> {
    ClientMsg::parse(json, &mut EventParser::new())
}

fn sub(text: &str) -> SubId {
    SubId::new(text).expect("a legal id")
}

/// R01-42, R01-43, R01-45, E-07, E-08, E-26: every verb, with spaces, extra elements and odd ids.
#[test]
fn every_verb_parses() {
    let json = event(9, 1, "[]", "\"\"");
    let parsed = EventParser::new().parse(&json).unwrap();
    let kinds = |kinds: &str| Filter::from_json(&format!("{{\"kinds\":{kinds}}}")).unwrap();
    for (text, msg) in [
        (format!("[\"EVENT\",{json}]"), ClientMsg::Event(parsed.clone())),
        (format!(" [ \"EVENT\" ,\n{json} , 5, {{}} ] "), ClientMsg::Event(parsed.clone())),
        (format!("[\"AUTH\",{json}]"), ClientMsg::Auth(parsed)),
        (r#"["REQ","s",{}]"#.into(), ClientMsg::Req(sub("s"), vec![Filter::default()])),
        (
            r#"["REQ","s",{"kinds":[1]},{"kinds":[2]}]"#.into(),
            ClientMsg::Req(sub("s"), vec![kinds("[1]"), kinds("[2]")]),
        ),
        (
            r#"["\u0052EQ","\"\n😀",{}]"#.into(),
            ClientMsg::Req(sub("\"\n😀"), vec![Filter::default()]),
        ),
        (r#"["CLOSE","s"]"#.into(), ClientMsg::Close(sub("s"))),
        (r#"["CLOSE","s",{"x":[1]},null]"#.into(), ClientMsg::Close(sub("s"))),
        (r#"["COUNT","s",{"kinds":[1]}]"#.into(), ClientMsg::Count(sub("s"), vec![kinds("[1]")])),
        (
            r#"["NEG-OPEN","n",{"kinds":[1]},"6100"]"#.into(),
            ClientMsg::NegOpen(sub("n"), kinds("[1]"), "6100".into()),
        ),
        (r#"["NEG-MSG","n","61"]"#.into(), ClientMsg::NegMsg(sub("n"), "61".into())),
        (r#"["NEG-CLOSE","n"]"#.into(), ClientMsg::NegClose(sub("n"))),
    ] {
        assert_eq!(parse(&text), Ok(msg), "{text}");
    }
}

/// A message of many tiny filters does not become many times its size.
#[test]
fn filters_of_one_message_are_bounded() {
    let message = |filters: usize| format!("[\"REQ\",\"s\"{}]", ",{}".repeat(filters));
    let Ok(ClientMsg::Req(_, filters)) = parse(&message(1_000)) else { panic!("1,000 are read") };
    assert_eq!(filters.len(), 1_000);
    let error = parse(&message(100_000)).expect_err("more are not");
    assert_eq!(error.blame, Blame::Sub("s".to_owned()));
    assert_eq!(error.reason.to_string(), "invalid: message has more than 1000 filters");
}

/// R01-60, R01-59, R01-81, E-02, E-05 to E-07, E-25, E-27, E-33, case 35, case 42: broken messages.
#[test]
fn broken_messages_are_blamed_on_what_they_name() {
    let good = event(9, 1, "[]", "\"\"");
    let id = id_of(9, 1, "[]", "\"\"");
    let on_event = |id: &str| Blame::Event(id.to_owned());
    let on_sub = |id: &str| Blame::Sub(id.to_owned());
    let on_neg = |id: &str| Blame::Neg(id.to_owned());
    let none = Blame::Message;
    for (text, blame, reason) in [
        ("".into(), none.clone(), "invalid: EOF while parsing a value"),
        ("x".into(), none.clone(), "invalid: expected value"),
        ("\u{feff}[\"CLOSE\",\"s\"]".into(), none.clone(), "invalid: expected value"),
        (
            "{}".into(),
            none.clone(),
            "invalid: invalid type: map, expected a message, which is a JSON array",
        ),
        ("[]".into(), none.clone(), "invalid: message ends before a verb"),
        (
            "[1]".into(),
            none.clone(),
            "invalid: invalid type: integer `1`, expected a string as verb",
        ),
        (r#"["FOO","s"]"#.into(), none.clone(), r#"invalid: unknown message type "FOO""#),
        (r#"["EVENT"]"#.into(), none.clone(), "invalid: message ends before an event"),
        (r#"["EVENT",{}]"#.into(), none.clone(), "invalid: event has no id"),
        (
            r#"["EVENT",{"id":5}]"#.into(),
            none.clone(),
            "invalid: invalid type: integer `5`, expected a string as id",
        ),
        (
            r#"["EVENT",{"id":"xy"}]"#.into(),
            on_event("xy"),
            "invalid: id is not 64 lower-case hex digits",
        ),
        (
            format!("[\"EVENT\",{}]", good.replace("\"kind\":1", "\"kind\":2")),
            on_event(&id),
            "invalid: event id does not match its content",
        ),
        (
            format!("[\"EVENT\",{}]", good.replace("\"kind\":1", "\"kind\":-2")),
            on_event(&id),
            "invalid: kind is negative",
        ),
        (format!("[\"EVENT\",{good}"), none.clone(), "invalid: EOF while parsing a list"),
        (format!("[\"EVENT\",{good}]]"), none.clone(), "invalid: trailing characters"),
        (format!("[\"AUTH\",{{\"id\":\"{id}\"}}]"), on_event(&id), "invalid: event has no pubkey"),
        (
            r#"["AUTH","challenge"]"#.into(),
            none.clone(),
            "invalid: invalid type: string \"challenge\", expected an event object",
        ),
        (
            r#"["EVENT",{"id":"xy","content":"\ud800"}]"#.into(),
            on_event("xy"),
            "invalid: id is not 64 lower-case hex digits",
        ),
        (
            r#"["EVENT",{"content":"\ud800","id":"xy"}]"#.into(),
            on_event("xy"),
            "invalid: unexpected end of hex escape",
        ),
        (
            r##"["REQ","s",{"#t":["\ud800"]}]"##.into(),
            on_sub("s"),
            "invalid: unexpected end of hex escape",
        ),
        (r#"["REQ"]"#.into(), none.clone(), "invalid: message ends before a subscription id"),
        (r#"["REQ",""]"#.into(), none.clone(), "invalid: subscription id is empty"),
        (
            r#"["REQ",5,{}]"#.into(),
            none.clone(),
            "invalid: invalid type: integer `5`, expected a string as subscription id",
        ),
        (
            format!("[\"REQ\",\"{}\",{{}}]", "x".repeat(65)),
            on_sub(&"x".repeat(65)),
            "invalid: subscription id is longer than 64 characters",
        ),
        (r#"["REQ","s"]"#.into(), on_sub("s"), "invalid: message ends before a filter"),
        (
            r#"["REQ","s",5]"#.into(),
            on_sub("s"),
            "invalid: invalid type: integer `5`, expected a filter object",
        ),
        (
            r#"["REQ","s",{},{"foo":1}]"#.into(),
            on_sub("s"),
            r#"unsupported: unknown filter member "foo""#,
        ),
        (
            r#"["COUNT","c",{"limit":-1}]"#.into(),
            Blame::Count("c".into()),
            "invalid: invalid type: integer `-1`, expected a non-negative integer as limit",
        ),
        (r#"["CLOSE"]"#.into(), none.clone(), "invalid: message ends before a subscription id"),
        (
            r#"["NEG-OPEN","n",[],"61"]"#.into(),
            on_neg("n"),
            "invalid: invalid type: sequence, expected a filter object",
        ),
        (
            r#"["NEG-OPEN","n",{}]"#.into(),
            on_neg("n"),
            "invalid: message ends before a hex message",
        ),
        (
            r#"["NEG-MSG","n",5]"#.into(),
            on_neg("n"),
            "invalid: invalid type: integer `5`, expected a string",
        ),
    ] {
        let error = parse(&text).expect_err(&text);
        assert_eq!((&error.blame, &*error.reason.to_string()), (&blame, reason), "{text}");
    }
}

/// A string in the wrong place, which serde_json repeats with escapes, made refusals several times
/// longer than the message that they refused. They are short, however long it is.
#[test]
fn refusals_do_not_repeat_long_strings() {
    let long = "\\\"\u{200b}".repeat(10_000);
    for text in [
        format!("\"{long}\""),
        format!("[\"{long}\"]"),
        format!("[\"REQ\",\"s\",\"{long}\"]"),
        format!("[\"REQ\",\"s\",{{\"{long}\":1}}]"),
        format!("[\"REQ\",\"s\",{{\"since\":\"{long}\"}}]"),
        format!("[\"REQ\",\"s\",{{\"ids\":[\"{long}\"]}}]"),
        format!("[\"EVENT\",\"{long}\"]"),
        format!("[\"EVENT\",{{\"kind\":\"{long}\"}}]"),
        format!("[\"EVENT\",{{\"tags\":\"{long}\"}}]"),
    ] {
        let error = parse(&text).expect_err("broken");
        assert!(error.reason.to_string().len() < 1_000, "{}", error.reason);
    }
}

proptest! {
    /// No text makes the parser panic, and nothing it says is much longer than the text.
    #[test]
    fn any_text_gets_an_answer(text in "\\PC{0,200}") {
        if let Err(error) = parse(&text) {
            prop_assert!(error.reason.to_string().len() < 300);
        }
    }

    /// Nor does a message with one byte changed.
    #[test]
    fn any_change_to_a_message_gets_an_answer(at in 0_usize..400, byte in 0_u8..128) {
        let mut text = format!(
            "[\"EVENT\",{}]",
            event(9, 1, r#"[["e","x"],["t","\"\\"]]"#, "\"\\n\\u0000\"")
        ).into_bytes();
        let at = at % text.len();
        text[at] = byte;
        let _ = parse(&String::from_utf8(text).unwrap());
    }
}
