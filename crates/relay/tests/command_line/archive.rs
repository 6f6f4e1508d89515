//! The archive of what was replaced or deleted, as an operator meets it.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use zeolite_testkit::Factory;

use crate::support::Place;

const DAY: u64 = 86_400;

/// Of author 0 three profiles, of different ages, and a note with its deletion; of author 1 a note.
fn events() -> Vec<Value> {
    let mut factory = Factory::new(91);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after the epoch").as_secs();
    let age = |days: u64| now - days * DAY - 60;
    let mut events: Vec<_> =
        [30, 20, 10].map(|days| factory.draft(0).kind(0).at(age(days)).build()).into();
    let note = factory.note(0, age(5), "regretted");
    let id = note["id"].as_str().expect("an id").to_owned();
    events.push(note);
    events.push(factory.draft(0).kind(5).at(age(4)).tag(&["e", &id]).build());
    events.push(factory.note(1, age(30), "old"));
    events
}

fn place() -> (Place, Vec<Value>) {
    let (place, events) = (Place::new(), events());
    place.write_lines("events.ndjson", &events);
    place.ok("import events.ndjson --db store --set store.archive=true");
    (place, events)
}

/// One event a line.
fn parsed(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

#[track_caller]
fn check(place: &Place, options: &str, expected: &[&Value]) {
    check_in(place, "store", options, expected);
}

#[track_caller]
fn check_in(place: &Place, db: &str, options: &str, expected: &[&Value]) {
    let ran = place.ok(&format!("export --archived --db {db} {options}"));
    assert_eq!(parsed(&ran.stdout).iter().collect::<Vec<_>>(), expected, "{options}");
    assert!(place.ok(&format!("check --db {db}")).stdout.contains(" 0 problems"));
}

/// It is in no export but its own, and in the figures; filters and `delete` apply to it.
#[test]
fn the_archive_is_exported_and_pruned_by_itself() {
    let (place, events) = place();
    let [first, second, _, note, ..] = &events[..] else { unreachable!("there are six") };
    assert_eq!(place.export("store").len(), 3);
    check(&place, "", &[first, second, note]);
    check(&place, "{\"kinds\":[1]} --out notes.ndjson", &[]);
    let file = std::fs::read_to_string(place.path("notes.ndjson")).expect("it was written");
    assert!(parsed(&file).iter().eq([note]));
    for (command, line) in [
        ("stats", "archived.events 3"),
        ("stats", "table.archive.entries 3"),
        ("check", " 3 archived events"),
        ("delete --archived {\"kinds\":[0,7]} --dry-run", " 2 events would be removed"),
    ] {
        let ran = place.ok(&format!("{command} --db store"));
        assert!(ran.stdout.contains(line), "{command}: {}", ran.stdout);
    }
    for (line, code, said) in [
        ("delete --archived {}", 2, "add --all"),
        ("delete --archived {\"kinds\":[0],\"limit\":1}", 1, "a limit keeps the newest"),
        ("export --archived {\"limit\":1}", 1, "a limit keeps the newest"),
        ("export --archived --order newest", 2, "cannot be used with"),
    ] {
        let ran = place.run(&format!("{line} --db store"));
        assert_eq!(ran.code, code, "{line}");
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
    check(&place, "", &[first, second, note]);
    place.ok("delete --archived {\"kinds\":[0]} --db store");
    check(&place, "", &[note]);
    assert_eq!(place.export("store").len(), 3, "what is stored is not concerned");
    place.ok("compact copy --db store");
    check_in(&place, "copy", "", &[note]);
}

/// How long it lasts is configured; the dry run foretells it, rules for stored events leave it alone.
#[test]
fn the_archive_is_kept_as_long_as_configured() {
    let (place, events) = place();
    let age = format!("--set store.archive_age_s_max={}", 25 * DAY);
    place.write("rules.toml", format!("[[retention]]\nage_s_max = {DAY}\n").as_bytes());
    let line = format!("retention --db store --config rules.toml {age}");
    let foretold = place.ok(&format!("{line} --dry-run")).stdout;
    assert!(foretold.contains(" 1 of the archive for store.archive_age_s_max = 2160000, "));
    check(&place, "", &[&events[0], &events[1], &events[3]]);
    let done = &parsed(&place.ok(&format!("{line} --json")).stdout)[0];
    assert_eq!((&done["archive"]["events"], &done["rules"][0]["events"]), (&1.into(), &1.into()));
    check(&place, "", &[&events[1], &events[3]]);
    assert_eq!(place.export("store").len(), 2, "a profile and a deletion always stay");
}
