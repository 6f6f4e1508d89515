//! The fuzz target's corpus, replayed without the fuzzer.

#![allow(missing_docs, reason = "a test crate has no callers")]

#[path = "../fuzz/input.rs"]
mod input;

use std::fs;
use std::path::Path;

/// A file's name says what it holds: those that begin with `bad` are refused, the others answered.
#[test]
fn the_corpus_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/frames");
    let mut files = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is there") {
        let entry = entry.expect("a readable folder");
        let data = fs::read(entry.path()).expect("a readable file");
        let name = entry.file_name().into_string().expect("UTF-8");
        assert_eq!(input::check(&data), !name.starts_with("bad"), "{name}");
        files += 1;
    }
    assert!(files >= 12, "{files} files");
}
