//! Retention as a command.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use zeolite_testkit::Factory;

use crate::support::Place;

const DAY: u64 = 86_400;

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after the epoch").as_secs()
}

/// A note and a reaction of two authors for each of the last thirty days; a profile, a deletion of
/// something unknown and an article, all of them old.
fn events(factory: &mut Factory) -> Vec<Value> {
    let start = now() - DAY / 2;
    let mut events = Vec::new();
    for day in 0..30 {
        for (author, kind) in [(0, 1), (1, 1), (0, 7), (1, 7)] {
            events.push(factory.draft(author).kind(kind).at(start - day * DAY).build());
        }
    }
    let old = start - 100 * DAY;
    events.push(factory.draft(0).kind(0).at(old).build());
    events.push(factory.draft(0).kind(5).at(old).tag(&["e", &"ab".repeat(32)]).build());
    events.push(factory.draft(0).kind(30_023).at(old).tag(&["d", "a"]).build());
    events
}

fn place() -> Place {
    let place = Place::new();
    let mut factory = Factory::new(71);
    place.write_lines("events.ndjson", &events(&mut factory));
    place.ok("import events.ndjson --db store");
    let kept = factory.pubkey(1);
    let rules = format!(
        "[[retention]]\nauthors = [\"{kept}\"]\n\
         [[retention]]\nkinds = [7]\nage_s_max = {}\n\
         [[retention]]\nage_s_max = {}\n",
        7 * DAY,
        20 * DAY
    );
    place.write("rules.toml", rules.as_bytes());
    place
}

const RUN: &str = "retention --db store --config rules.toml";

/// What the dry run foretells is what goes: by rule, nothing that is exempt, and no trace of it is
/// left behind. A second run finds nothing.
#[test]
fn what_is_foretold_goes() {
    let place = place();
    let foretold = place.ok(&format!("{RUN} --dry-run"));
    assert_eq!(place.export("store").len(), 123, "a dry run removes nothing");
    // Reactions of days 7 to 29; notes of days 20 to 29 and the article.
    for line in [
        "34 events would be removed, ",
        "0 by rule 1 (all kinds of 1 authors: kept for good), 0 bytes",
        "23 by rule 2 (kinds 7: older than 604800 s), ",
        "11 by rule 3 (all kinds: older than 1728000 s), ",
    ] {
        assert!(foretold.stdout.contains(line), "no {line:?} in {}", foretold.stdout);
    }
    let done: Value = serde_json::from_str(&place.ok(&format!("{RUN} --json")).stdout).unwrap();
    let by_rule: Vec<_> = (0..3).map(|at| done["rules"][at]["events"].as_u64()).collect();
    assert_eq!(by_rule, [Some(0), Some(23), Some(11)]);
    assert_eq!((&done["dry_run"], &done["size"]["events"]), (&json!(false), &json!(0)));
    assert!(place.ok("check --db store").stdout.contains("0 problems"));
    let left = place.export("store");
    assert_eq!(left.len(), 123 - 34);
    let count = |filter: &str| place.ok(&format!("scan {filter} --count --db store")).stdout;
    assert_eq!(count("{\"kinds\":[7]}"), "37\n");
    assert_eq!(count("{\"kinds\":[0,5]}"), "2\n");
    assert_eq!(count("{\"kinds\":[30023]}"), "0\n");
    let again: Value = serde_json::from_str(&place.ok(&format!("{RUN} --json")).stdout).unwrap();
    assert!((0..3).all(|at| again["rules"][at]["events"] == 0), "{again}");
}

/// The bound on size takes the oldest, in whole seconds, until a sixteenth is free; what the rules
/// keep for good stays, and says so when it is too much.
#[test]
fn the_oldest_go_for_the_size() {
    let place = Place::new();
    let mut factory = Factory::new(72);
    let start = now() - 2_000_000;
    let notes: Vec<_> = (0..2_000)
        .map(|at| factory.draft((at % 4) as usize).at(start + at / 2).padded_to(900).build())
        .collect();
    place.write_lines("events.ndjson", &notes);
    place.ok("import events.ndjson --db store");
    let kept = factory.pubkey(0);
    place.write("rules.toml", format!("[[retention]]\nauthors = [\"{kept}\"]\n").as_bytes());
    let run = |options: &str| -> Value {
        let line = format!("{RUN} --set store.events_bytes_max=1MiB --json {options}");
        serde_json::from_str(&place.ok(&line).stdout).unwrap()
    };
    let foretold = run("--dry-run");
    let done = run("");
    assert_eq!(foretold["size"], done["size"]);
    let (stored, freed) =
        (done["stored_bytes"].as_u64().unwrap(), done["size"]["bytes"].as_u64().unwrap());
    let wanted = (1 << 20) - (1 << 16);
    assert!(stored > 1 << 20 && stored - freed <= wanted && stored - freed > wanted - 5_000);
    assert!(place.ok("check --db store").stdout.contains("0 problems"));
    let left: Vec<Value> =
        place.export("store").iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let is_kept = |event: &Value| event["pubkey"] == kept.as_str();
    assert_eq!(left.iter().filter(|event| is_kept(event)).count(), 500);
    let at = |event: &Value| event["created_at"].as_u64().unwrap();
    let oldest_left = left.iter().filter(|event| !is_kept(event)).map(at).min().unwrap();
    let expected = notes.iter().filter(|event| is_kept(event) || at(event) >= oldest_left).count();
    assert_eq!(left.len(), expected, "nothing newer than the oldest is gone");
    assert_eq!(run("")["size"]["events"], 0);
    // The floor is known to whoever judges by the policy.
    let again = place.ok("import events.ndjson --policy --db store --config rules.toml \
         --set store.events_bytes_max=1MiB");
    let older = (2_000 - expected) as u64;
    again.assert_counts(&[("read", 2_000), ("duplicate", expected as u64), ("refused", older)]);
    assert!(again.stderr.contains("blocked: older than this relay keeps"), "{}", again.stderr);
    // All of what is left is kept for good, and too much.
    let line = "retention --db store --config all.toml --set store.events_bytes_max=1MiB";
    let everyone: Vec<_> = (0..4).map(|number| factory.pubkey(number)).collect();
    place.write("all.toml", format!("[[retention]]\nauthors = {everyone:?}\n").as_bytes());
    place.ok("import events.ndjson --db store");
    let ran = place.ok(line);
    assert!(ran.stdout.contains("bytes are too much and stay"), "{}", ran.stdout);
}

/// Beside a running relay only the dry run works; without anything to do the command says what to
/// configure.
#[test]
fn retention_says_what_it_needs() {
    let place = place();
    let ran = place.run("retention --db store");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("add [[retention]] rules"), "{}", ran.stderr);
    let relay = place.serve("store");
    assert!(place.ok(&format!("{RUN} --dry-run")).stdout.contains("34 events would be removed"));
    let ran = place.run(RUN);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains(&relay.pid().to_string()), "{}", ran.stderr);
    assert!(ran.stderr.contains("removes by itself"), "{}", ran.stderr);
}
