//! NIP-01's rules for filters, as data.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod support;

use support::{PUBKEY, event, id_of};
use zeolite_proto::{EventParser, Filter, Prefix, Reason};

const OTHER: &str = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

fn parse(json: &str) -> Filter {
    Filter::from_json(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// R01-70, R01-72 to R01-74, R01-30 to R01-33, E-20, E-21, E-24, case 33, case 35.
#[test]
fn filters_match_what_nip_01_says() {
    let tags = format!(
        r#"[["e","{PUBKEY}"],["t","a","hidden"],["t","b"],["T","Case"],["d",""],["x"],["long","v"],["r","é😀"],["n","1"],["n","1"]]"#
    );
    let json = event(100, 7, &tags, "\"\"");
    let id = id_of(100, 7, &tags, "\"\"");
    let parsed = EventParser::new().parse(&json).unwrap();
    for (filter, matches) in [
        ("{}", true),
        (&*format!(r#"{{"ids":["{id}"]}}"#), true),
        (&*format!(r#"{{"ids":["{OTHER}","{id}"]}}"#), true),
        (&*format!(r#"{{"ids":["{OTHER}"]}}"#), false),
        (r#"{"ids":[]}"#, false),
        (&*format!(r#"{{"authors":["{PUBKEY}"]}}"#), true),
        (&*format!(r#"{{"authors":["{OTHER}"]}}"#), false),
        (r#"{"authors":[]}"#, false),
        (r#"{"kinds":[1,7]}"#, true),
        (r#"{"kinds":[1]}"#, false),
        (r#"{"kinds":[]}"#, false),
        (r#"{"kinds":[70000]}"#, false),
        (r#"{"kinds":[70000,7]}"#, true),
        (r#"{"since":100}"#, true),
        (r#"{"since":101}"#, false),
        (r#"{"until":100}"#, true),
        (r#"{"until":99}"#, false),
        (r#"{"since":-5,"until":100}"#, true),
        (r#"{"until":-5}"#, false),
        (r#"{"since":101,"until":99}"#, false),
        (&*format!(r##"{{"#e":["{PUBKEY}"]}}"##), true),
        (&*format!(r##"{{"#q":["{PUBKEY}"]}}"##), false),
        (&*format!(r##"{{"#E":["{PUBKEY}"]}}"##), false),
        (r##"{"#t":["a"]}"##, true),
        (r##"{"#t":["c","b"]}"##, true),
        (r##"{"#t":["c"]}"##, false),
        (r##"{"#t":["hidden"]}"##, false),
        (r##"{"#t":[]}"##, false),
        (r##"{"#t":["a"],"#n":["1"]}"##, true),
        (r##"{"#t":["a"],"#n":["2"]}"##, false),
        (r##"{"#T":["Case"]}"##, true),
        (r##"{"#T":["case"]}"##, false),
        (r##"{"#t":["Case"]}"##, false),
        (r##"{"#d":[""]}"##, true),
        (r##"{"#x":[""]}"##, false),
        (r##"{"#r":["\u00e9\ud83d\ude00"]}"##, true),
        (r##"{"&t":["a","b"]}"##, true),
        (r##"{"&t":["a","c"]}"##, false),
        (r##"{"&t":[]}"##, false),
        (r##"{"&t":["a"],"#t":["b"]}"##, true),
        (r##"{"&n":["1"]}"##, true),
        (r##"{"limit":0}"##, true),
        (&*format!(r##"{{"kinds":[7],"authors":["{PUBKEY}"],"#t":["a"],"since":1}}"##), true),
        (&*format!(r##"{{"kinds":[7],"authors":["{OTHER}"],"#t":["a"],"since":1}}"##), false),
    ] {
        let filter_parsed = parse(filter);
        assert_eq!(filter_parsed.matches(parsed.view()), matches, "{filter}");
        assert!(!(matches && filter_parsed.matches_nothing()), "{filter}");
    }
}

/// An addressable event without a `d` tag is not found by `#d:[""]`: filters see tags, not
/// addresses (E-24, case 11).
#[test]
fn a_missing_d_tag_is_not_an_empty_one() {
    let parsed = EventParser::new().parse(&event(100, 30_000, "[]", "\"\"")).unwrap();
    assert!(!parse(r##"{"#d":[""]}"##).matches(parsed.view()));
}

/// E-28: lists are sorted and free of doubles.
#[test]
fn lists_lose_their_doubles() {
    let filter =
        parse(&format!(r#"{{"authors":["{OTHER}","{PUBKEY}","{OTHER}"],"kinds":[7,1,7]}}"#));
    assert_eq!(filter.authors.unwrap().len(), 2);
    assert_eq!(filter.kinds.unwrap().len(), 2);
}

/// R01-71, R01-79, E-06, E-12, E-13, E-23, case 37, case 41: what is refused, and in which words.
#[test]
fn bad_filters_are_refused_with_the_reason() {
    use Prefix::{Invalid, Unsupported};
    for (json, prefix, text) in [
        ("[]", Invalid, "invalid type: sequence, expected a filter object"),
        ("null", Invalid, "invalid type: null, expected a filter object"),
        (
            r#"{"ids":["ab"]}"#,
            Invalid,
            r#"invalid value: string "ab", expected 64 lower-case hex digits"#,
        ),
        (r#"{"ids":[7]}"#, Invalid, "invalid type: integer `7`, expected 64 lower-case hex digits"),
        (r#"{"ids":"ab"}"#, Invalid, r#"invalid type: string "ab", expected a list"#),
        (r#"{"ids":null}"#, Invalid, "invalid type: null, expected a list"),
        (
            r#"{"authors":["npub1x"]}"#,
            Invalid,
            r#"invalid value: string "npub1x", expected 64 lower-case hex digits"#,
        ),
        (
            r##"{"#p":["x"]}"##,
            Invalid,
            r#"invalid value: string "x", expected 64 lower-case hex digits"#,
        ),
        (
            r##"{"&e":["x"]}"##,
            Invalid,
            r#"invalid value: string "x", expected 64 lower-case hex digits"#,
        ),
        (r##"{"#t":[1]}"##, Invalid, "invalid type: integer `1`, expected a string"),
        (
            r#"{"kinds":[-1]}"#,
            Invalid,
            "invalid type: integer `-1`, expected a non-negative integer as kind",
        ),
        (
            r#"{"kinds":[1.5]}"#,
            Invalid,
            "invalid type: floating point `1.5`, expected a non-negative integer as kind",
        ),
        (
            r#"{"kinds":["1"]}"#,
            Invalid,
            r#"invalid value: string "1", expected a non-negative integer as kind"#,
        ),
        (
            r#"{"since":1.5}"#,
            Invalid,
            "invalid type: floating point `1.5`, expected whole seconds as since or until",
        ),
        (
            r#"{"until":"1"}"#,
            Invalid,
            r#"invalid type: string "1", expected whole seconds as since or until"#,
        ),
        (
            r#"{"until":null}"#,
            Invalid,
            "invalid type: null, expected whole seconds as since or until",
        ),
        (
            r#"{"limit":-1}"#,
            Invalid,
            "invalid type: integer `-1`, expected a non-negative integer as limit",
        ),
        (
            r#"{"limit":1e3}"#,
            Invalid,
            "invalid type: floating point `1000.0`, expected a non-negative integer as limit",
        ),
        (r#"{"kinds":[1],"kinds":[2]}"#, Invalid, "filter has kinds twice"),
        (r##"{"#t":["a"],"#t":["b"]}"##, Invalid, "filter has a tag member twice"),
        (r#"{"foo":1}"#, Unsupported, r#"unknown filter member "foo""#),
        (r##"{"#name":["v"]}"##, Unsupported, r##"unknown filter member "#name""##),
        (r##"{"#1":["v"]}"##, Unsupported, r##"unknown filter member "#1""##),
        (r##"{"#":["v"]}"##, Unsupported, r##"unknown filter member "#""##),
        (r##"{"#é":["v"]}"##, Unsupported, r##"unknown filter member "#é""##),
        (r#"{"":1}"#, Unsupported, r#"unknown filter member """#),
    ] {
        let reason = Reason::from(Filter::from_json(json).expect_err(json));
        assert_eq!((reason.prefix, &*reason.text), (prefix, text), "{json}");
    }
    let long = format!(r#"{{"ids":["{}"]}}"#, "x".repeat(100_000));
    assert!(Filter::from_json(&long).unwrap_err().to_string().len() < 200);
}
