//! The walls between the crates, read from their manifests and sources.

#![allow(missing_docs, reason = "a test crate has no callers")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// For each crate, the crates of ours that it may use outside its tests.
const MAY_USE: [(&str, &[&str]); 11] = [
    ("proto", &[]),
    ("schnorr", &["zeolite-proto"]),
    ("filter-index", &["zeolite-proto"]),
    ("reconcile", &["zeolite-proto"]),
    ("store", &["zeolite-proto", "zeolite-reconcile"]),
    ("policy", &["zeolite-proto"]),
    ("session", &["zeolite-proto", "zeolite-policy"]),
    ("mirror", &["zeolite-proto", "zeolite-reconcile"]),
    (
        "relay",
        &[
            "zeolite-proto",
            "zeolite-schnorr",
            "zeolite-filter-index",
            "zeolite-reconcile",
            "zeolite-store",
            "zeolite-policy",
            "zeolite-session",
            "zeolite-mirror",
        ],
    ),
    ("loadgen", &["zeolite-proto"]),
    ("testkit", &[]),
];

const PURE: [&str; 6] = ["proto", "schnorr", "filter-index", "session", "reconcile", "policy"];

fn crates_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn dependencies(name: &str) -> Vec<String> {
    let manifest = read(&crates_dir().join(name).join("Cargo.toml"));
    let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
    let dependencies = manifest.get("dependencies").and_then(|table| table.as_table());
    dependencies.map(|table| table.keys().cloned().collect()).unwrap_or_default()
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a source directory");
    let paths = entries.map(|entry| entry.expect("a readable entry").path());
    paths
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

#[test]
fn every_crate_is_listed() {
    let found: BTreeSet<_> = fs::read_dir(crates_dir())
        .expect("the crates directory")
        .map(|entry| entry.expect("a readable entry").file_name().into_string().expect("UTF-8"))
        .collect();
    let listed: BTreeSet<_> = MAY_USE.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, listed);
}

#[test]
fn crates_use_only_what_the_architecture_allows() {
    for (name, allowed) in MAY_USE {
        for dependency in dependencies(name) {
            let is_ours = dependency.starts_with("zeolite-");
            assert!(!is_ours || allowed.contains(&&*dependency), "{name} uses {dependency}");
        }
    }
}

#[test]
fn pure_crates_do_no_io_and_read_no_clock() {
    for name in PURE {
        for banned in ["tokio", "heed", "hyper", "fastwebsockets"] {
            assert!(!dependencies(name).contains(&banned.to_owned()), "{name} uses {banned}");
        }
        for source in sources(&crates_dir().join(name).join("src")) {
            let text = read(&source);
            for banned in ["std::net", "std::fs", "SystemTime", "Instant::now"] {
                assert!(!text.contains(banned), "{} names {banned}", source.display());
            }
        }
    }
}
