//! Commands beside a running relay, and what they say when they cannot.

use zeolite_testkit::Factory;

use crate::support::{Place, sorted};

const BASE: u64 = 1_700_000_000;

/// What reads works while a relay runs; what writes names the process that is in the way and the
/// way around it; `import --to` goes that way.
#[test]
fn reading_works_beside_a_relay_and_writing_says_who_is_there() {
    let place = Place::new();
    let mut factory = Factory::new(71);
    let notes: Vec<_> = (0..300).map(|at| factory.note(at % 5, BASE + at as u64, "x")).collect();
    place.write_lines("first.ndjson", &notes[..200]);
    place.write_lines("all.ndjson", &notes);
    place.ok("import first.ndjson --db store");
    let relay = place.serve("store");

    let send = format!("import all.ndjson --to {}", relay.url);
    place.ok(&send).assert_counts(&[("read", 300), ("stored", 100), ("duplicate", 200)]);

    let expected = sorted(notes.iter().map(ToString::to_string).map(canonical).collect());
    assert_eq!(sorted(place.export("store").into_iter().map(canonical).collect()), expected);
    assert_eq!(place.ok("scan {\"kinds\":[1]} --count --db store").stdout, "300\n");
    assert!(place.ok("stats --db store").stdout.starts_with("events 300\n"));
    assert_eq!(place.ok("check --db store").count("problems"), 0);
    assert_eq!(place.ok("delete {} --dry-run --db store").count("of kind 1"), 300);
    place.ok("backup copy --db store");
    assert_eq!(sorted(place.export("copy")), sorted(place.export("store")));
    assert_eq!(place.ok("check --db copy").count("problems"), 0);

    for (line, advice) in [
        ("import all.ndjson", "import --to"),
        ("delete {} --all", "stop it first"),
        ("compact out", "backup copies"),
        ("serve --listen 127.0.0.1:0", "--db"),
    ] {
        let ran = place.run(&format!("{line} --db store"));
        assert_eq!(ran.code, 1, "{line}");
        let holder = format!("in use by process {}", relay.pid());
        assert!(ran.stderr.contains(&holder), "{line}: no {holder:?} in {}", ran.stderr);
        assert!(ran.stderr.contains(advice), "{line}: no {advice:?} in {}", ran.stderr);
    }
    drop(relay);
    place.ok("import all.ndjson --db store").assert_counts(&[("read", 300), ("duplicate", 300)]);
}

/// The same JSON in one order of members.
fn canonical(line: String) -> String {
    let event: serde_json::Value = serde_json::from_str(&line).expect("an event");
    event.to_string()
}
