//! The commands as a script uses them: files, standard output, exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run(dir: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zeolite-load"));
    command.args(line.split(' ')).current_dir(dir).output().expect("the program starts")
}

/// A command ends with this code, and prints this among other things.
fn check(dir: &Path, line: &str, code: i32, said: &str) {
    let output = run(dir, line);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert_eq!(output.status.code(), Some(code), "{line}: {text}");
    assert!(text.contains(said), "{line}: {text}");
}

#[test]
fn corpora_are_made_checked_and_described() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path();
    check(dir, "corpus generate --events 120 --seed 3 --out a.ndjson", 0, "\"events\": 120");
    check(dir, "corpus verify a.ndjson", 0, "as its manifest says");
    check(dir, "corpus inspect a.ndjson", 0, "effective set");
    check(dir, "corpus inspect a.ndjson --json", 0, "\"letter_tags\":");
    let piped = run(dir, "corpus generate --events 120 --seed 3 --threads 1 --out -").stdout;
    let written = fs::read(dir.join("a.ndjson")).expect("the corpus");
    assert_eq!(piped, written, "standard output and a file");

    let cut = written.len() - 200;
    fs::write(dir.join("a.ndjson"), &written[..cut]).expect("it can be written");
    check(dir, "corpus verify a.ndjson", 3, "the manifest says");
    check(dir, "corpus import a.ndjson --out b.ndjson", 0, "\"text between events\": 1");
    check(dir, "corpus verify b.ndjson", 0, "as its manifest says");
    check(dir, "corpus verify absent.ndjson", 1, "absent.ndjson");
    check(dir, "corpus generate --events 0 --out c.ndjson", 2, "--events");
}
