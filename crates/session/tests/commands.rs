//! REQ, CLOSE, COUNT and what is no message, as data.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use support::{Step, check, text};
use zeolite_session::SessionLimits;

/// One row: rule, what the client sends, what comes of it.
type Row<'r> = (&'r str, Vec<Step>, &'r [&'r str]);

fn check_all(limits: &SessionLimits, rows: &[Row<'_>]) {
    for (rule, steps, expected) in rows {
        check(rule, limits, steps, expected);
    }
}

fn texts(messages: &[&str]) -> Vec<Step> {
    messages.iter().map(|&message| text(message)).collect()
}

#[test]
fn subscriptions_open_and_close() {
    check_all(
        &SessionLimits::default(),
        &[
            ("R01-43", texts(&[r#"["REQ","a",{}]"#]), &["query #0 a of 1"]),
            (
                "R01-43, R01-78",
                texts(&[r#"["REQ","a",{"kinds":[1]},{"ids":[]},{"limit":0}]"#]),
                &["query #0 a of 3"],
            ),
            (
                "R01-47, E-25, case 42: the same id replaces, and the old one ends first",
                texts(&[r#"["REQ","a",{}]"#, r#"["REQ","a",{"kinds":[1]}]"#]),
                &["query #0 a of 1", "unsubscribe #0", "query #1 a of 1"],
            ),
            (
                "R01-48",
                texts(&[r#"["REQ","a",{}]"#, r#"["CLOSE","a"]"#, r#"["CLOSE","a"]"#]),
                &["query #0 a of 1", "unsubscribe #0"],
            ),
            ("R01-48: an unknown id", texts(&[r#"["CLOSE","a"]"#]), &[]),
            (
                "R01-80: two ids are two subscriptions",
                texts(&[r#"["REQ","b",{}]"#, r#"["REQ","a",{}]"#, r#"["CLOSE","b"]"#]),
                &["query #0 b of 1", "query #1 a of 1", "unsubscribe #0"],
            ),
            (
                "R01-52: what the relay closed is free, and CLOSE says nothing more",
                vec![text(r#"["REQ","a",{}]"#), Step::Ended(0), text(r#"["CLOSE","a"]"#)],
                &["query #0 a of 1"],
            ),
            (
                "R01-47 with R01-52: the end of a replaced one does not touch its successor",
                vec![
                    text(r#"["REQ","a",{}]"#),
                    text(r#"["REQ","a",{}]"#),
                    Step::Ended(0),
                    text(r#"["CLOSE","a"]"#),
                ],
                &["query #0 a of 1", "unsubscribe #0", "query #1 a of 1", "unsubscribe #1"],
            ),
            (
                "E-20, E-21, E-22: odd filters are filters",
                texts(&[r#"["REQ","a",{"ids":[]},{"since":9,"until":1},{"limit":99999999999}]"#]),
                &["query #0 a of 3"],
            ),
            (
                "R50-06: an empty search is none",
                texts(&[r#"["REQ","a",{"search":" "}]"#]),
                &["query #0 a of 1"],
            ),
            (
                "E-26: any characters, echoed with escapes",
                texts(&["[\"REQ\",\"\\\"\\n\\\\😀\",{\"limit\":-1}]"]),
                &[concat!(
                    "[\"CLOSED\",\"\\\"\\n\\\\😀\",\"invalid: invalid type: integer `-1`, expected ",
                    "a non-negative integer as limit\"]"
                )],
            ),
            (
                "R01-45: 64 characters, not bytes",
                vec![text(format!("[\"REQ\",\"{}\",{{}}]", "é".repeat(64)))],
                &[&format!("query #0 {} of 1", "é".repeat(64))],
            ),
        ],
    );
}

#[test]
fn bad_requests_are_closed() {
    let long = "x".repeat(65);
    let closed_long = format!(
        "[\"CLOSED\",\"{long}\",\"invalid: subscription id is longer than 64 characters\"]"
    );
    check_all(
        &SessionLimits::default(),
        &[
            (
                "R01-81",
                texts(&[r#"["REQ","a"]"#, r#"["REQ","a",[]]"#, r#"["REQ","a",{},"x"]"#]),
                &[
                    r#"["CLOSED","a","invalid: message ends before a filter"]"#,
                    r#"["CLOSED","a","invalid: invalid type: sequence, expected a filter object"]"#,
                    concat!(
                        r#"["CLOSED","a","invalid: invalid type: string \"x\", expected "#,
                        r#"a filter object"]"#
                    ),
                ],
            ),
            (
                "E-25, case 42: too long is answered under its own name",
                vec![
                    text(format!("[\"REQ\",\"{long}\",{{}}]")),
                    text(format!("[\"CLOSE\",\"{long}\"]")),
                ],
                &[&closed_long, &closed_long],
            ),
            (
                "E-25: what is no name is told by NOTICE",
                texts(&[r#"["REQ","",{}]"#, r#"["REQ",5,{}]"#, r#"["REQ"]"#, r#"["CLOSE",null]"#]),
                &[
                    r#"["NOTICE","invalid: subscription id is empty"]"#,
                    concat!(
                        r#"["NOTICE","invalid: invalid type: integer `5`, expected "#,
                        r#"a string as subscription id"]"#
                    ),
                    r#"["NOTICE","invalid: message ends before a subscription id"]"#,
                    concat!(
                        r#"["NOTICE","invalid: invalid type: null, expected "#,
                        r#"a string as subscription id"]"#
                    ),
                ],
            ),
            (
                "R01-79, case 41: unknown members and long tag names",
                texts(&[
                    r#"["REQ","a",{"foo":1}]"#,
                    r##"["REQ","a",{"#name":["v"]}]"##,
                    r##"["REQ","a",{"#":["v"]}]"##,
                    r##"["REQ","a",{"#1":["v"]}]"##,
                ]),
                &[
                    r#"["CLOSED","a","unsupported: unknown filter member \"foo\""]"#,
                    r##"["CLOSED","a","unsupported: unknown filter member \"#name\""]"##,
                    r##"["CLOSED","a","unsupported: unknown filter member \"#\""]"##,
                    r##"["CLOSED","a","unsupported: unknown filter member \"#1\""]"##,
                ],
            ),
            (
                "E-27: one bad filter closes the whole, and the id is free",
                texts(&[r#"["REQ","a",{}]"#, r#"["REQ","a",{},{"foo":1}]"#, r#"["CLOSE","a"]"#]),
                &[
                    "query #0 a of 1",
                    "unsubscribe #0",
                    r#"["CLOSED","a","unsupported: unknown filter member \"foo\""]"#,
                ],
            ),
            (
                "R50-06",
                texts(&[r#"["REQ","a",{}]"#, r#"["REQ","a",{"search":"x"}]"#]),
                &[
                    "query #0 a of 1",
                    "unsubscribe #0",
                    r#"["CLOSED","a","unsupported: search is not offered"]"#,
                ],
            ),
            (
                "E-02: a lone surrogate does not hide the name",
                texts(&[r##"["REQ","a",{"#t":["\ud800"]}]"##]),
                &[r#"["CLOSED","a","invalid: unexpected end of hex escape"]"#],
            ),
        ],
    );
}

/// R01-71, E-06, E-12, E-13, E-23, case 37: values that a filter refuses, and those it takes.
#[test]
fn filter_values_are_strict() {
    let hex = "ab".repeat(32);
    for (filter, taken) in [
        (format!("{{\"ids\":[\"{hex}\"]}}"), true),
        (format!("{{\"ids\":[\"{}\"]}}", hex.to_uppercase()), false),
        (format!("{{\"ids\":[\"{}\"]}}", &hex[1..]), false),
        (format!("{{\"authors\":[\"{hex}0\"]}}"), false),
        (format!("{{\"#e\":[\"{hex}\"]}}"), true),
        (r##"{"#e":["abc"]}"##.into(), false),
        (format!("{{\"#p\":[\"{}\"]}}", hex.to_uppercase()), false),
        (r##"{"#E":["abc"],"#P":[""],"#a":["x"]}"##.into(), true),
        (r##"{"&t":["a","b"],"#t":["c"]}"##.into(), true),
        (r##"{"#t":"a"}"##.into(), false),
        (r##"{"#t":[1]}"##.into(), false),
        (r##"{"#t":[null]}"##.into(), false),
        (r#"{"ids":"x"}"#.into(), false),
        (r#"{"kinds":[65536]}"#.into(), true),
        (r#"{"kinds":[-1]}"#.into(), false),
        (r#"{"kinds":[1.0]}"#.into(), false),
        (r#"{"kinds":["1"]}"#.into(), false),
        (r#"{"kinds":1}"#.into(), false),
        (r#"{"since":-5,"until":-1}"#.into(), true),
        (r#"{"since":1.5}"#.into(), false),
        (r#"{"until":"5"}"#.into(), false),
        (r#"{"limit":0}"#.into(), true),
        (r#"{"limit":-1}"#.into(), false),
        (r#"{"limit":1e3}"#.into(), false),
        (r#"{"limit":true}"#.into(), false),
        (r#"{"limit":1,"limit":2}"#.into(), false),
        (r##"{"#t":["a"],"#t":["b"]}"##.into(), false),
        (r#"{"search":5}"#.into(), false),
    ] {
        let mut world = support::World::new(SessionLimits::default());
        let effects = world.step(&text(format!("[\"REQ\",\"a\",{filter}]")));
        let [effect] = &effects[..] else { panic!("{filter}: {effects:?}") };
        if taken {
            assert_eq!(effect, "query #0 a of 1", "{filter}");
        } else {
            assert!(effect.starts_with(r#"["CLOSED","a","invalid: "#), "{filter}: {effect}");
        }
    }
}

#[test]
fn counts_are_no_subscriptions() {
    check_all(
        &SessionLimits::default(),
        &[
            ("R45-01", texts(&[r#"["COUNT","c",{},{"limit":1}]"#]), &["count c of 2"]),
            (
                "R45-04: nor do they touch the one with their id",
                texts(&[
                    r#"["REQ","a",{}]"#,
                    r#"["COUNT","a",{}]"#,
                    r#"["COUNT","a",{"foo":1}]"#,
                    r#"["COUNT","a",{"search":"x"}]"#,
                    r#"["CLOSE","a"]"#,
                ]),
                &[
                    "query #0 a of 1",
                    "count a of 1",
                    r#"["CLOSED","a","unsupported: unknown filter member \"foo\""]"#,
                    r#"["CLOSED","a","unsupported: search is not offered"]"#,
                    "unsubscribe #0",
                ],
            ),
            (
                "R45-03",
                texts(&[r#"["COUNT","c"]"#]),
                &[r#"["CLOSED","c","invalid: message ends before a filter"]"#],
            ),
        ],
    );
}

/// Limits and their edges; R11-12, E-25, case 51.
#[test]
fn limits_hold_and_free_themselves() {
    let limits = SessionLimits {
        subscriptions_max: 2,
        filters_max: 2,
        filter_values_max: 4,
        message_bytes_max: 60,
        ..SessionLimits::default()
    };
    let too_many = r#"["CLOSED","c","blocked: more than 2 open subscriptions"]"#;
    let too_full = r#"["CLOSED","b","blocked: open subscriptions hold more than 4 values"]"#;
    check_all(
        &limits,
        &[
            (
                "E-25: one too many; CLOSE, CLOSED and replacement make room",
                vec![
                    text(r#"["REQ","a",{}]"#),
                    text(r#"["REQ","b",{}]"#),
                    text(r#"["REQ","c",{}]"#),
                    text(r#"["REQ","b",{}]"#),
                    text(r#"["CLOSE","a"]"#),
                    text(r#"["REQ","c",{}]"#),
                    Step::Ended(2),
                    text(r#"["REQ","d",{}]"#),
                ],
                &[
                    "query #0 a of 1",
                    "query #1 b of 1",
                    too_many,
                    "unsubscribe #1",
                    "query #2 b of 1",
                    "unsubscribe #0",
                    "query #3 c of 1",
                    "query #4 d of 1",
                ],
            ),
            (
                "filters in one message",
                texts(&[
                    r#"["REQ","a",{},{}]"#,
                    r#"["REQ","a",{},{},{}]"#,
                    r#"["COUNT","a",{},{},{}]"#,
                ]),
                &[
                    "query #0 a of 2",
                    "unsubscribe #0",
                    r#"["CLOSED","a","invalid: more than 2 filters"]"#,
                    r#"["CLOSED","a","invalid: more than 2 filters"]"#,
                ],
            ),
            (
                "values of all open subscriptions together, doubles not counted",
                texts(&[
                    r#"["REQ","a",{"kinds":[1,2,3,3]}]"#,
                    r#"["REQ","b",{"kinds":[4],"ids":[]},{"kinds":[4]}]"#,
                    r#"["REQ","b",{"kinds":[6],"ids":[]}]"#,
                    r#"["REQ","b",{"kinds":[6,5]}]"#,
                    r#"["CLOSE","a"]"#,
                    r##"["REQ","b",{"kinds":[6,5],"#t":["a","b"]}]"##,
                ]),
                &[
                    "query #0 a of 1",
                    too_full,
                    "query #1 b of 1",
                    "unsubscribe #1",
                    too_full,
                    "unsubscribe #0",
                    "query #2 b of 1",
                ],
            ),
            (
                "E-35: a message of the greatest length, and one byte more",
                vec![
                    text(format!("[\"CLOSE\",\"a\"]{}", " ".repeat(47))),
                    text(format!("[\"CLOSE\",\"a\"]{}", " ".repeat(48))),
                ],
                &["close 1009 message is too big"],
            ),
        ],
    );
}

/// R01-60 and its neighbours: the connection lives, and a NOTICE says why.
#[test]
fn what_is_no_message_gets_a_notice() {
    let bom = "\u{feff}[\"CLOSE\",\"a\"]";
    check_all(
        &SessionLimits::default(),
        &[
            (
                "R01-60: no JSON, no array, no verb",
                texts(&["", "hello", "{}", "[]", "[5]", r#"["HELLO","a"]"#, "[[\"REQ\"]]"]),
                &[
                    r#"["NOTICE","invalid: EOF while parsing a value"]"#,
                    r#"["NOTICE","invalid: expected value"]"#,
                    concat!(
                        r#"["NOTICE","invalid: invalid type: map, expected "#,
                        r#"a message, which is a JSON array"]"#
                    ),
                    r#"["NOTICE","invalid: message ends before a verb"]"#,
                    r#"["NOTICE","invalid: invalid type: integer `5`, expected a string as verb"]"#,
                    r#"["NOTICE","invalid: unknown message type \"HELLO\""]"#,
                    r#"["NOTICE","invalid: invalid type: sequence, expected a string as verb"]"#,
                ],
            ),
            (
                "E-05: a byte order mark",
                texts(&[bom]),
                &[r#"["NOTICE","invalid: expected value"]"#],
            ),
            (
                "E-07: more elements are ignored, more bytes are not",
                texts(&[r#"["REQ","a",{}]"#, r#"["CLOSE","a",1,{"x":2}]"#, r#"["CLOSE","a"] x"#]),
                &[
                    "query #0 a of 1",
                    "unsubscribe #0",
                    r#"["NOTICE","invalid: trailing characters"]"#,
                ],
            ),
            (
                "E-08: white space, and binary frames that are UTF-8",
                vec![
                    text(" \n[ \"REQ\" ,\t\"a\" , { } ]\r\n"),
                    Step::Binary(br#"["CLOSE","a"]"#.to_vec()),
                    Step::Binary(vec![b'[', 0xff, b']']),
                ],
                &[
                    "query #0 a of 1",
                    "unsubscribe #0",
                    r#"["NOTICE","invalid: message is not UTF-8"]"#,
                ],
            ),
            (
                "E-01: encoded surrogates and overlong forms are not UTF-8",
                vec![
                    Step::Binary(b"[\"REQ\",\"\xed\xa0\x80\",{}]".to_vec()),
                    Step::Binary(b"[\"REQ\",\"\xc0\xaf\",{}]".to_vec()),
                ],
                &[
                    r#"["NOTICE","invalid: message is not UTF-8"]"#,
                    r#"["NOTICE","invalid: message is not UTF-8"]"#,
                ],
            ),
        ],
    );
}
