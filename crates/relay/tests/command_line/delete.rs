//! The operator's delete and scan.

use zeolite_testkit::Factory;

use crate::support::Place;

const BASE: u64 = 1_700_000_000;

fn store(place: &Place) {
    let mut factory = Factory::new(61);
    let notes = (0..30).map(|at| factory.draft(at % 3).kind(1).at(BASE + at as u64).build());
    let mut events: Vec<_> = notes.collect();
    events.extend((0..5).map(|at| factory.draft(0).kind(7).at(BASE + at).build()));
    place.write_lines("events.ndjson", &events);
    place.ok("import events.ndjson --db store");
}

/// After this command so many events are left, and it said this.
fn check(place: &Place, line: &str, code: i32, left: usize, said: &str) {
    let ran = place.run(&format!("{line} --db store"));
    assert_eq!(ran.code, code, "{line}: {}", ran.stderr);
    let text = format!("{}{}", ran.stdout, ran.stderr);
    assert!(text.contains(said), "{line}: no {said:?} in {text}");
    assert_eq!(place.export("store").len(), left, "{line}");
}

/// Case 3: a filter that is empty, missing or contradictory deletes nothing; a dry run neither.
#[test]
fn deleting_takes_what_was_asked_for() {
    let place = Place::new();
    store(&place);
    check(&place, "delete", 2, 35, "required");
    check(&place, "delete {}", 2, 35, "add --all");
    check(&place, "delete {\"limit\":10}", 2, 35, "add --all");
    check(&place, "delete {\"kinds\":[7]} {}", 2, 35, "add --all");
    check(&place, "delete {\"ids\":[]}", 0, 35, "0 events removed");
    check(&place, "delete {\"kinds\":[]} --all", 0, 35, "0 events removed");
    check(&place, "delete {\"kind\":[1]}", 1, 35, "unknown filter member");
    check(&place, "delete {\"kinds\":[1,7]} --dry-run", 0, 35, "30 of kind 1");
    check(&place, "delete {} --dry-run", 0, 35, "35 events would be removed");
    check(&place, "delete {\"kinds\":[7]} {\"kinds\":[7],\"limit\":1}", 0, 30, "5 of kind 7");
    check(&place, "delete {\"kinds\":[1],\"limit\":4}", 0, 26, "4 events removed");
    check(&place, "check", 0, 26, "0 problems");
    check(&place, "delete {} --all", 0, 0, "26 events removed");
    check(&place, "check", 0, 0, "0 problems");
    // The operator's delete is no tombstone.
    check(&place, "import events.ndjson", 0, 35, "35 stored");
}

/// What scan prints, counts and explains.
#[test]
fn scanning_answers_like_a_relay_without_limits() {
    let place = Place::new();
    store(&place);
    let ran = place.ok("scan {\"kinds\":[1],\"limit\":2} {\"kinds\":[7],\"limit\":1} --db store");
    let time = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).expect("an event a line");
        event["created_at"].as_u64().expect("a time") - BASE
    };
    let times: Vec<_> = ran.stdout.lines().map(time).collect();
    assert_eq!(times, [29, 28, 4], "newest first");
    let all = "scan {\"kinds\":[1],\"limit\":2} {\"kinds\":[1,7]} --db store";
    assert_eq!(place.ok(all).stdout.lines().count(), 35, "each event once");
    assert_eq!(place.ok(&format!("{all} --count")).stdout, "35\n");
    let plan = place.ok("scan {\"kinds\":[7]} {\"limit\":3} --explain --db store").stdout;
    assert!(plan.contains("by kinds: 5 looked at, 5 matched"), "{plan}");
    assert!(plan.contains("by timeline: ") && plan.contains(", 3 matched"), "{plan}");
}

/// Reading never makes a store.
#[test]
fn a_missing_store_is_an_error() {
    let place = Place::new();
    for line in ["export", "scan {}", "stats", "check", "backup copy", "compact copy"] {
        let ran = place.run(&format!("{line} --db nowhere"));
        assert_eq!(ran.code, 1, "{line}");
        assert!(ran.stderr.contains("there is no store at nowhere"), "{line}: {}", ran.stderr);
        assert!(!place.path("nowhere").exists(), "{line}");
    }
}
