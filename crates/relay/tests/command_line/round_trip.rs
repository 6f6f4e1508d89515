//! Import, export, import: nothing is lost and nothing comes back.

use serde_json::Value;
use zeolite_testkit::Factory;

use crate::support::{Place, sorted};

const BASE: u64 = 1_700_000_000;

fn id(event: &Value) -> &str {
    event["id"].as_str().expect("an id")
}

/// One event of every fate, in an order in which each meets it.
pub(crate) struct History {
    pub(crate) events: Vec<Value>,
    /// What import must count.
    counts: Vec<(&'static str, u64)>,
    /// Events that must never be served again.
    gone: Vec<Value>,
    /// Tells of the deletions.
    requests: u64,
}

pub(crate) fn history() -> History {
    let mut factory = Factory::new(41);
    let author = factory.pubkey(0);
    let note = factory.note(0, BASE, "stays");
    let deleted = factory.note(0, BASE + 1, "goes");
    let deletion = factory.draft(0).kind(5).at(BASE + 2).tag(&["e", id(&deleted)]).build();
    let profile = |factory: &mut Factory, at| factory.draft(0).kind(0).at(BASE + at).build();
    let (old, new) = (profile(&mut factory, 3), profile(&mut factory, 4));
    let article = |factory: &mut Factory, at| {
        factory.draft(0).kind(30023).at(BASE + at).tag(&["d", "x"]).build()
    };
    let (article_old, article_new) = (article(&mut factory, 5), article(&mut factory, 9));
    let address = format!("30023:{author}:x");
    let address_deletion = factory.draft(0).kind(5).at(BASE + 6).tag(&["a", &address]).build();
    let early = factory.note(0, BASE + 7, "deleted before it comes");
    let early_deletion = factory.draft(0).kind(5).at(BASE + 8).tag(&["e", id(&early)]).build();
    let wiped = factory.note(1, BASE, "wiped");
    let vanish = factory.draft(1).kind(62).at(BASE + 10).tag(&["relay", "ALL_RELAYS"]).build();
    let wiped_late = factory.note(1, BASE + 9, "from before the request");
    let after_vanish = factory.note(1, BASE + 11, "from after the request");
    let expired = factory.draft(2).at(BASE).tag(&["expiration", "1700000001"]).build();
    let ephemeral = factory.draft(2).kind(20_001).at(BASE).build();
    let events = vec![
        note.clone(),
        deleted.clone(),
        deletion,
        new,
        old.clone(),
        article_old.clone(),
        address_deletion,
        early_deletion,
        early.clone(),
        article_new,
        wiped.clone(),
        vanish,
        wiped_late.clone(),
        after_vanish,
        expired.clone(),
        ephemeral.clone(),
        note,
    ];
    let counts = vec![
        ("read", 17),
        ("stored", 11),
        ("duplicate", 1),
        ("superseded", 1),
        ("deleted", 1),
        ("vanished", 1),
        ("expired", 1),
        ("ephemeral", 1),
    ];
    let gone = vec![deleted, old, article_old, early, wiped, wiped_late, expired, ephemeral];
    History { events, counts, gone, requests: 4 }
}

/// The set that is exported is the set that is stored, and importing it elsewhere gives the same
/// set again, in either order of export.
#[test]
fn an_export_is_importable() {
    let place = Place::new();
    let History { events, counts, gone, requests } = history();
    place.write_lines("all.ndjson", &events);
    place.ok("import all.ndjson --db one").assert_counts(&counts);

    let exported = place.export("one");
    assert_eq!(exported.len(), 8, "{exported:#?}");
    for event in &gone {
        let member = format!("\"id\":\"{}\"", id(event));
        assert!(!exported.iter().any(|line| line.contains(&member)), "{event}");
    }
    for (order, db) in [("stored", "two"), ("newest", "three")] {
        place.ok(&format!("export --db one --order {order} --out {order}.ndjson"));
        place
            .ok(&format!("import {order}.ndjson --db {db}"))
            .assert_counts(&[("read", 8), ("stored", 8)]);
        assert_eq!(sorted(place.export(db)), sorted(exported.clone()));
        let count = place.ok(&format!("scan {{\"kinds\":[5,62]}} --count --db {db}"));
        assert_eq!(count.stdout.trim(), requests.to_string());
    }
}

/// Case 8: what was deleted, replaced or wiped does not come back through a copy of the store,
/// neither by export and import nor by backup or compact.
#[test]
fn tombstones_survive_every_copy() {
    let place = Place::new();
    let History { events, gone, .. } = history();
    place.write_lines("all.ndjson", &events);
    place.write_lines("gone.ndjson", &gone);
    place.ok("import all.ndjson --db one");
    place.ok("export --db one --out copy.ndjson");
    place.ok("import copy.ndjson --db exported");
    place.ok("backup copied --db one");
    place.ok("compact compacted --db one");
    for db in ["one", "exported", "copied", "compacted"] {
        let before = place.export(db);
        let ran = place.ok(&format!("import gone.ndjson --db {db}"));
        assert_eq!(ran.count("stored"), 0, "{db}: {}", ran.stderr);
        assert_eq!(place.export(db), before, "{db}");
        assert_eq!(place.ok(&format!("check --db {db}")).count("problems"), 0, "{db}");
    }
}

/// A second import changes nothing and says so.
#[test]
fn a_second_import_finds_duplicates_only() {
    let place = Place::new();
    let mut factory = Factory::new(42);
    let notes: Vec<_> = (0..1500).map(|at| factory.note(at % 7, BASE + at as u64, "x")).collect();
    place.write_lines("notes.ndjson", &notes);
    let first = place.ok("import notes.ndjson --db store");
    first.assert_counts(&[("read", 1500), ("stored", 1500)]);
    let exported = place.export("store");
    let ids: Vec<_> = notes.iter().map(id).collect();
    assert!(exported.iter().zip(ids).all(|(line, id)| line.contains(id)), "file order is kept");
    let second = place.ok("import notes.ndjson --db store");
    second.assert_counts(&[("read", 1500), ("duplicate", 1500)]);
    assert_eq!(place.export("store"), exported);
}

/// Every compression, by suffix and by flag, and both roads out and in.
#[test]
fn compressed_files_are_importable() {
    let place = Place::new();
    let mut factory = Factory::new(43);
    let notes: Vec<_> = (0..50).map(|at| factory.note(0, BASE + at, "x")).collect();
    place.write_lines("notes.ndjson", &notes);
    place.ok("import notes.ndjson --db store");
    for (number, (flags, magic)) in [
        ("--out a.ndjson", &b"{\""[..]),
        ("--out a.ndjson.zst", &[0x28, 0xb5, 0x2f, 0xfd]),
        ("--out a.ndjson.gz", &[0x1f, 0x8b]),
        ("--zstd --out a.1", &[0x28, 0xb5, 0x2f, 0xfd]),
        ("--gzip --out a.2", &[0x1f, 0x8b]),
    ]
    .into_iter()
    .enumerate()
    {
        let file = flags.rsplit(' ').next().expect("a file name");
        place.ok(&format!("export --db store {flags}"));
        let bytes = std::fs::read(place.path(file)).expect("it was written");
        assert!(bytes.starts_with(magic), "{flags}");
        place
            .ok(&format!("import {file} --db by-file-{number}"))
            .assert_counts(&[("read", 50), ("stored", 50)]);
        let ran = place.run_with(&format!("import --db by-pipe-{number}"), &bytes);
        ran.assert_counts(&[("read", 50), ("stored", 50)]);
    }
    assert_eq!(
        place.run("export --db store --out a.ndjson").code,
        1,
        "an export is never replaced"
    );
}
