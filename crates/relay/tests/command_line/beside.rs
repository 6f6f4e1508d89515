//! Commands beside a running relay, and what they say when they cannot.

use zeolite_testkit::Factory;

use crate::round_trip::history;
use crate::support::{Place, Ran, sorted};

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

/// The rules of import are the socket's: the same file has the same fate on both roads, in the
/// same words. A relay does not tell a vanished author from a deletion.
#[test]
fn both_roads_have_the_same_rules() {
    let place = Place::new();
    let mut events = history().events;
    let mut forged = Factory::new(72).note(0, BASE, "forged");
    forged["sig"] = events[0]["sig"].clone();
    events.push(forged);
    let mut altered = Factory::new(72).note(0, BASE, "altered");
    altered["created_at"] = 5.into();
    events.push(altered);
    events.push(Factory::new(72).note(0, 4_000_000_000, "from the future"));
    place.write_lines("all.ndjson", &events);
    let local = place.ok("import all.ndjson --db local");
    let relay = place.serve("remote");
    let remote = place.ok(&format!("import all.ndjson --to {}", relay.url));
    remote.assert_counts(&[
        ("read", 20),
        ("stored", 11),
        ("duplicate", 1),
        ("superseded", 1),
        ("deleted", 2),
        ("expired", 1),
        ("ephemeral", 1),
        ("refused", 3),
    ]);
    let refusals = |ran: &Ran| -> Vec<String> {
        let lines = ran.stderr.lines().filter(|line| line.contains("(line "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(refusals(&remote), refusals(&local));
    assert_eq!(refusals(&remote).len(), 3);
    assert_eq!(sorted(place.export("remote")), sorted(place.export("local")));
}

/// The same JSON in one order of members.
fn canonical(line: String) -> String {
    let event: serde_json::Value = serde_json::from_str(&line).expect("an event");
    event.to_string()
}
