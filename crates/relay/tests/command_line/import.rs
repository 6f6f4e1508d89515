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
