//! The engine and scenario files that come along are complete.

#![allow(missing_docs, reason = "a test crate has no callers")]
#![allow(clippy::unwrap_used, reason = "a panic in a test is its report")]

use std::collections::BTreeSet;

use zeolite_bench::catalog::{engines, scenarios};
use zeolite_bench::engine::{Direction, Engine, Mechanism};
use zeolite_bench::scenario::{Kind, Shape};

#[test]
fn every_engine_is_there_once_and_whole() {
    let engines = engines(&[]).unwrap();
    let names: Vec<&str> = engines.iter().map(|engine| engine.name.as_str()).collect();
    assert_eq!(names, ["zeolite-durable", "zeolite-fast", "strfry", "nostr-rs-relay", "rnostr"]);
    for engine in &engines {
        assert!(engine.binary.variable.ends_with("_BIN"), "{}", engine.name);
        assert!(!engine.about.is_empty() && !engine.profile.is_empty(), "{}", engine.name);
        assert!(!engine.version.is_empty(), "{}", engine.name);
    }
    for name in ["zeolite-durable", "zeolite-fast", "strfry"] {
        let engine = engines.iter().find(|engine| engine.name == name).unwrap();
        assert!(engine.import.is_some() && engine.export.is_some(), "{name}");
        for direction in [Direction::Down, Direction::Up, Direction::Both] {
            assert!(engine.sync(Mechanism::Negentropy, direction).is_some(), "{name}");
        }
    }
}

/// The settings without which figures of strfry are wrong (bench.md, section 4).
#[test]
fn strfry_is_configured_fairly() {
    let engines = engines(&[]).unwrap();
    let strfry = engines.iter().find(|engine| engine.name == "strfry").unwrap();
    let config = &strfry.config.as_ref().unwrap().template;
    for setting in [
        "nofiles = 0",
        "rejectEventsOlderThanSeconds = 4000000000",
        "maxFilterLimit = 100000000",
        "restrictedReadKinds = \"\"",
    ] {
        assert!(config.contains(setting), "{setting}");
    }
    assert!(strfry.command.contains(&"--verbosity=WARNING".to_owned()));
    let sync = strfry.sync(Mechanism::Negentropy, Direction::Down).unwrap();
    assert!(sync.command.contains(&"--timeout=20".to_owned()));
}

/// What `just bench-abuse`, `bench-plugin` and `bench-pairs` add to the catalogue fits it.
#[test]
fn engines_and_scenarios_of_single_questions_fit() {
    let more = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("more");
    let files = ["zeolite-limited.toml", "zeolite-accept-all.toml"].map(|file| more.join(file));
    let engines = engines(&files).unwrap();
    let files = ["abuse.toml", "sync-pairs.toml"].map(|file| more.join(file));
    let scenarios = scenarios(&files).unwrap();
    assert!(scenarios.iter().any(|scenario| scenario.name == "sync-pairs"));
    let abuse = scenarios.iter().find(|scenario| scenario.name == "abuse").unwrap();
    assert!(abuse.target.iter().all(|target| engines.iter().any(|one| one.name == target.engine)));
    assert!(
        abuse
            .run
            .iter()
            .all(|run| abuse.target.iter().all(|target| { run.expect.contains_key(&target.case) }))
    );
}

#[test]
fn scenarios_have_names_sets_and_targets_that_fit() {
    let engines: BTreeSet<String> =
        engines(&[]).unwrap().into_iter().map(|engine| engine.name).collect();
    let scenarios = scenarios(&[]).unwrap();
    let names: BTreeSet<&str> = scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
    assert_eq!(names.len(), scenarios.len(), "a name is used twice");
    let mut plots = BTreeSet::new();
    for scenario in &scenarios {
        let name = &scenario.name;
        assert!(!scenario.column.is_empty(), "{name} has no columns");
        for run in &scenario.run {
            assert!(
                scenario.kind != Kind::Load || !run.expect.is_empty(),
                "{name} expects no rows"
            );
        }
        let expected: BTreeSet<&String> =
            scenario.run.iter().flat_map(|run| run.expect.keys()).collect();
        for target in &scenario.target {
            assert!(engines.contains(&target.engine), "{name}: {}", target.engine);
            assert!(
                target.at_most.is_some() != target.at_least.is_some(),
                "{name}: {}",
                target.what
            );
            let known = scenario.kind != Kind::Load || expected.contains(&target.case);
            assert!(known, "{name}: no row is called {}", target.case);
        }
        for plot in &scenario.plot {
            assert!(plots.insert(plot.name.clone()), "two pictures are called {}", plot.name);
            if let Shape::Curve { case, .. } = &plot.shape {
                assert!(expected.contains(case), "{name}: no row is called {case}");
            }
        }
    }
}

#[test]
fn every_set_has_something_to_run() {
    let scenarios = scenarios(&[]).unwrap();
    for set in ["short", "fanout", "ingest", "query", "sync", "churn", "slow", "conns", "all"] {
        let runs = scenarios.iter().filter(|scenario| scenario.is_in(set)).any(|scenario| {
            scenario.kind == Kind::Transfer || scenario.runs_in(set).next().is_some()
        });
        assert!(runs, "{set} is empty");
    }
}

/// The harness measures relays from outside: it links the load generator and nothing of a relay.
#[test]
fn the_harness_links_no_relay() {
    let manifest: toml::Table = include_str!("../Cargo.toml").parse().unwrap();
    let dependencies = manifest["dependencies"].as_table().unwrap().keys();
    let ours: Vec<&String> = dependencies.filter(|name| name.starts_with("zeolite-")).collect();
    assert_eq!(ours, ["zeolite-loadgen", "zeolite-proto"]);
}

/// The example of docs/benchmarks/ENGINES.md is an engine file.
#[test]
fn the_documented_example_is_an_engine() {
    let page = include_str!("../../docs/benchmarks/ENGINES.md");
    let example = page.split("```toml").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let engine = Engine::parse(example).unwrap();
    assert!(engine.sync(Mechanism::Negentropy, Direction::Up).is_some());
    assert_eq!(engine.refusal("reconcile"), Some("speaks no negentropy"));
}
