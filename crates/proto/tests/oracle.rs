//! This crate's reading of NIP-01 against the testkit's, over random events and filters.

#![allow(missing_docs, reason = "a test crate has no callers")]

use rand::RngExt;
use serde_json::Value;
use zeolite_proto::{EventParser, Filter};
use zeolite_testkit::{Factory, TestRng, Universe, canonical_id, oracle_matches, run_seeds};

/// R01-70 to R01-76, R01-30 to R01-33: matching and order.
#[test]
fn matches_agree_with_the_oracle() {
    run_seeds("matches_agree_with_the_oracle", 200, |rng| {
        let mut universe = Universe::new(Factory::unsigned(rng.random()));
        let events: Vec<_> = (0..30).map(|_| universe.event(rng)).collect();
        let mut parser = EventParser::new();
        let parsed: Vec<_> = events
            .iter()
            .map(|event| parser.parse(&event.to_string()).expect("the universe has valid events"))
            .collect();
        for _ in 0..30 {
            let filter = universe.filter(rng);
            let ours = Filter::from_json(&filter.to_string()).expect("and valid filters");
            for (event, parsed) in events.iter().zip(&parsed) {
                let expected = oracle_matches(event, &filter);
                assert_eq!(ours.matches(parsed.view()), expected, "{filter} on {event}");
                assert!(!(expected && ours.matches_nothing()), "{filter} on {event}");
            }
        }
        let key = |event: &Value| {
            let time = event["created_at"].as_u64().expect("a time");
            (std::cmp::Reverse(time), event["id"].as_str().expect("an id").to_owned())
        };
        for (event, one) in events.iter().zip(&parsed) {
            let is_before = key(event) < key(&events[0]);
            assert_eq!(one.view().is_before(parsed[0].view()), is_before, "{event}");
        }
    });
}

/// R01-02, R01-06, R01-07, R01-13, case 36: what is served has the same content, and its id is
/// its hash, whatever characters it holds and however they were spelled.
#[test]
fn what_is_served_is_what_came() {
    run_seeds("what_is_served_is_what_came", 500, |rng| {
        let mut factory = Factory::unsigned(1);
        let mut draft = factory.draft(0).kind(rng.random()).at(rng.random_range(0..1 << 40));
        for _ in 0..rng.random_range(0..4) {
            let strings: Vec<_> = (0..rng.random_range(0..4)).map(|_| string(rng)).collect();
            draft = draft.tag(&strings.iter().map(|text| &**text).collect::<Vec<_>>());
        }
        let event = draft.content(&string(rng)).build();
        let spelled = respell(&event.to_string(), rng);
        let parsed = EventParser::new().parse(&spelled).expect("a valid event");
        let served: Value = serde_json::from_slice(parsed.json()).expect("JSON");
        assert_eq!(served, event);
        assert_eq!(served["id"], canonical_id(&served));
        assert!(parsed.view().check().is_ok());
    });
}

/// Characters of every kind, and now and then something that looks like an id.
fn string(rng: &mut TestRng) -> String {
    if rng.random_ratio(1, 6) {
        return "0f".repeat(32);
    }
    let alphabet = [
        '\0',
        '\u{1}',
        '\u{8}',
        '\t',
        '\n',
        '\u{c}',
        '\r',
        '\u{1f}',
        ' ',
        '"',
        '/',
        '\\',
        'a',
        '\u{7f}',
        'é',
        '\u{2028}',
        '\u{fdd1}',
        '\u{ffff}',
        '😀',
        '\u{10ffff}',
    ];
    let length = rng.random_range(0..30);
    (0..length).map(|_| alphabet[rng.random_range(0..alphabet.len())]).collect()
}

/// The same JSON with some characters written as escapes that need not be (R01-08).
fn respell(json: &str, rng: &mut TestRng) -> String {
    let mut out = String::new();
    for character in json.chars() {
        if !character.is_ascii() && rng.random_ratio(1, 2) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else if character == '/' {
            out.push_str("\\/");
        } else {
            out.push(character);
        }
    }
    out
}
