//! What import makes of bad input.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use zeolite_testkit::Factory;

use crate::support::Place;

const BASE: u64 = 1_700_000_000;

/// Every bad line is counted by its reason, with its line number; the good ones are in.
#[test]
fn bad_lines_are_counted_by_reason() {
    let place = Place::new();
    let mut factory = Factory::new(51);
    let mut forged = factory.note(0, BASE, "signed by another");
    forged["sig"] = factory.note(1, BASE, "x")["sig"].clone();
    let mut altered = factory.note(0, BASE, "altered");
    altered["content"] = "altered later".into();
    let future = factory.note(0, 4_000_000_000, "from the future");
    let note = |factory: &mut Factory, at| factory.note(0, at, "good").to_string();
    let lines = [
        note(&mut factory, BASE),
        "no JSON".to_owned(),
        forged.to_string(),
        String::new(),
        altered.to_string(),
        "{}".to_owned(),
        forged.to_string(),
        future.to_string(),
        format!("{{\"content\":\"{}\"}}", "x".repeat(600_000)),
        note(&mut factory, BASE + 1),
    ];
    place.write("bad.ndjson", lines.join("\n").as_bytes());
    let ran = place.ok("import bad.ndjson --db store");
    ran.assert_counts(&[("read", 9), ("stored", 2), ("refused", 7)]);
    for (reason, places) in [
        ("1 invalid: event id does not match its content", "(line 5)"),
        ("1 invalid: event has no id", "(line 6)"),
        ("2 invalid: the signature is wrong", "(line 3, line 7)"),
        ("1 invalid: created_at is too far in the future", "(line 8)"),
        ("1 invalid: event is longer than 524288 bytes", "(line 9)"),
    ] {
        let expected = format!("{reason} {places}");
        assert!(ran.stderr.contains(&expected), "no {expected:?} in {}", ran.stderr);
    }
    assert!(ran.stderr.contains("(line 2)"), "{}", ran.stderr);
    assert_eq!(place.run("import bad.ndjson --db store --strict").code, 3);
    assert_eq!(place.run("import bad.ndjson --db other --no-verify").count("stored"), 3);
}

/// With `--policy` the relay's rules and what its administrators decided hold for files too, each
/// refusal by its reason; without it a file is taken as before.
#[test]
fn the_policy_is_asked_by_choice() {
    let place = Place::new();
    let mut factory = Factory::new(54);
    let banned = factory.pubkey(1);
    let mut events: Vec<_> = (0..6).map(|at| factory.note(0, BASE + at, "x")).collect();
    events.extend((0..3).map(|at| factory.note(1, BASE + at, "of one who is banned")));
    events.extend((0..2).map(|at| factory.draft(2).kind(7).at(BASE + at).build()));
    events.push(factory.note(2, 5, "from the first day"));
    events.push(factory.draft(1).kind(62).at(9).tag(&["relay", "ws://other.example"]).build());
    place.write_lines("events.ndjson", &events);
    place.write(
        "rules.toml",
        b"policy.kinds_denied = [7]\n[[retention]]\nkinds = [1]\nage_s_max = 1000000000\n",
    );
    place.ok("import --db store").assert_counts(&[]);
    let moderation = format!("{{\"banned_pubkeys\":[{{\"what\":\"{banned}\"}}]}}");
    place.write("store/moderation.json", moderation.as_bytes());
    let ran = place.ok("import events.ndjson --db store --config rules.toml --policy");
    ran.assert_counts(&[("read", 13), ("stored", 7), ("refused", 6)]);
    for reason in [
        "3 blocked: this author may not write here (line 7, line 8, line 9)",
        "2 blocked: events of kind 7 are not taken here (line 10, line 11)",
        "1 blocked: older than this relay keeps (line 12)",
    ] {
        assert!(ran.stderr.contains(reason), "no {reason:?} in {}", ran.stderr);
    }
    let line = "import events.ndjson --db store --config rules.toml";
    place.ok(line).assert_counts(&[("read", 13), ("stored", 6), ("duplicate", 7)]);
}

/// Arrays and relay messages hold events too.
#[test]
fn arrays_and_messages_are_read() {
    let place = Place::new();
    let mut factory = Factory::new(52);
    let notes: Vec<_> = (0..4).map(|at| factory.note(0, BASE + at, "[{\"")).collect();
    let array = format!("[\n{},\n{}\n]\n", notes[0], notes[1]);
    let messages = format!("[\"EVENT\",{}]\n[\"EVENT\",\"sub\",{}]\n", notes[2], notes[3]);
    place.write("array.json", array.as_bytes());
    place.write("messages.ndjson", messages.as_bytes());
    let ran = place.ok("import array.json messages.ndjson --db store --strict");
    ran.assert_counts(&[("read", 4), ("stored", 4)]);
}

/// An input that cannot be read fails the command, and costs nothing of the others.
#[test]
fn unreadable_inputs_are_named() {
    let place = Place::new();
    let mut factory = Factory::new(53);
    let notes: Vec<_> = (0..200).map(|at| factory.note(0, BASE + at, "x").to_string()).collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(notes[..100].join("\n").as_bytes()).expect("memory can be written");
    let mut cut = encoder.finish().expect("memory can be written");
    cut.truncate(cut.len() / 2);
    place.write("cut.gz", &cut);
    place.write("good.ndjson", notes[100..].join("\n").as_bytes());
    let ran = place.run("import missing.ndjson cut.gz good.ndjson . --db store");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    for name in ["missing.ndjson: ", "cut.gz: ", ".: is a directory", "3 of 4 inputs"] {
        assert!(ran.stderr.contains(name), "no {name} in {}", ran.stderr);
    }
    let stored = ran.count("stored");
    assert!((110..199).contains(&stored), "{stored} of one whole and one half file");
    assert_eq!(place.export("store").len() as u64, stored);
}
