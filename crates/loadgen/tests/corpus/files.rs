//! Corpora on disk, and files of any events that become corpora.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use zeolite_loadgen::corpus::{
    Author, Corpus, CorpusError, EventSigner, Fault, Fingerprint, Manifest, Shape, Spec, Stored,
    import, verify, write_generated,
};
use zeolite_proto::{Kind, Timestamp};

const NOW: Timestamp = Timestamp(2_000_000_000);

fn write_corpus(dir: &Path, spec: &Spec) -> (PathBuf, Manifest) {
    let path = dir.join("corpus.ndjson");
    let file = fs::File::create(&path).expect("a new file");
    let manifest = write_generated(spec, 2, file, |_| {}).expect("it can be written");
    manifest.write_beside(&path).expect("it can be written");
    (path, manifest)
}

/// What was written is what is generated; the manifest says so; checks find nothing.
#[test]
fn corpora_come_back_from_disk() {
    let dir = tempfile::tempdir().expect("a directory");
    for shape in Shape::ALL {
        let spec = Spec::new(shape, 700);
        let (path, manifest) = write_corpus(dir.path(), &spec);
        let (generated, stored) = (Corpus::generate(&spec), Corpus::open(&path).expect("a corpus"));
        assert_eq!(stored.len(), 700);
        for (one, other) in generated.iter().zip(stored.iter()) {
            assert_eq!((one.id, one.message()), (other.id, other.message()));
            let heads = [one, other].map(|event| (event.pubkey, event.created_at, event.kind));
            assert_eq!(heads[0], heads[1]);
        }
        assert_eq!(manifest, Manifest::beside(&path).expect("a manifest"));
        assert_eq!(manifest.events, 700);
        assert_eq!(manifest.bytes, fs::metadata(&path).expect("the corpus").len());
        assert_eq!(manifest.kinds.values().sum::<u64>(), 700);
        let findings = verify(&path, 2, |_| {}).expect("it can be read");
        assert!(findings.is_clean() && findings.differences.is_some(), "{findings:?}");
    }
}

/// A file that was changed, or has no manifest, is not taken for a corpus.
#[test]
fn changed_corpora_are_found_out() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, _) = write_corpus(dir.path(), &Spec::new(Shape::ClassicV1, 40));
    let whole = fs::read_to_string(&path).expect("a corpus");
    let lines: Vec<_> = whole.split_inclusive('\n').collect();
    let swapped = [&lines[1..2], &lines[..1], &lines[2..]].concat().concat();
    for changed in [lines[..39].concat(), swapped, whole.repeat(2)] {
        fs::write(&path, changed).expect("it can be written");
        let error = Corpus::open(&path).expect_err("not the corpus of the manifest");
        assert!(matches!(error, CorpusError::Differs { .. }), "{error}");
        assert!(!verify(&path, 1, |_| {}).expect("it can be read").is_clean());
    }
    fs::write(&path, whole.replace("\"kind\":1,", "\"kind\":7,")).expect("it can be written");
    let findings = verify(&path, 1, |_| {}).expect("it can be read");
    assert!(findings.faults[&Fault::WrongId] > 5, "{findings:?}");
    fs::write(&path, "{\"id\":\"\"}\n").expect("it can be written");
    assert!(matches!(Corpus::open(&path), Err(CorpusError::Event { number: 1, .. })));
    fs::remove_file(Manifest::path_of(&path)).expect("a manifest");
    assert!(matches!(Stored::open(&path), Err(CorpusError::NoManifest(_))));
}

/// Six good events, one of them ephemeral and one expired, not in order, with all that can be wrong.
fn messy_texts() -> (Vec<String>, Vec<String>) {
    let (mut signer, author) = (EventSigner::new(), Author::new(1, 0));
    let mut make = |time: u64, kind: u16, tags: &[&[&str]]| {
        let event = signer.sign(&author, Timestamp(time), Kind(kind), tags, "мир \"{}\"\n");
        String::from_utf8(event.json().to_vec()).expect("UTF-8")
    };
    let expired: &[&[&str]] = &[&["expiration", "200"]];
    let good = vec![make(1, 1, &[]), make(2, 0, &[]), make(3, 1, expired), make(4, 0, &[])];
    let mut texts: Vec<_> = good.iter().rev().cloned().collect();
    texts.push(make(5, 20_001, &[]));
    texts.push(good[1].clone());
    texts.push(good[0].replace("\"content\":\"", "\"content\":\"x"));
    let (start, end) = good[0].split_at(good[0].len() - 4);
    texts.push(format!("{start}{}\"}}", if end.starts_with("00") { "11" } else { "00" }));
    texts.push("{\"no\":\"event\"}".to_owned());
    (good, texts)
}

fn check_import(dir: &Path, name: &str, bytes: &[u8], good: &[String]) {
    let (path, out) = (dir.join(name), dir.join("out.ndjson"));
    fs::write(&path, bytes).expect("it can be written");
    let manifest = import(&[path.clone(), path], &out, NOW, |_| {}).expect(name);
    let written = fs::read_to_string(&out).expect("a corpus");
    assert_eq!(written.lines().collect::<Vec<_>>(), good, "{name}");
    // The file is given twice, so that all good events are repeated once more.
    let dropped = |reason: &str| manifest.dropped.get(reason).copied().unwrap_or_default();
    let reasons = ["repeated", "ephemeral", "wrong id", "wrong signature", "not an event"];
    assert_eq!(reasons.map(dropped), [6, 2, 2, 2, 2], "{name}: {:?}", manifest.dropped);
    // The newer profile and the note that does not expire.
    assert_eq!((manifest.events, manifest.effective.events), (4, 2), "{name}");
    let corpus = Corpus::open(&out).expect("a corpus");
    let ids: Vec<_> = corpus.iter().map(|event| event.id).collect();
    assert_eq!(manifest.fingerprint, Fingerprint::of(&ids));
    assert!(verify(&out, 1, |_| {}).expect("it can be read").is_clean(), "{name}");
    let left: Vec<_> =
        fs::read_dir(dir).expect("a directory").map(|e| e.expect("a file")).collect();
    assert!(left.iter().all(|file| !file.file_name().to_string_lossy().contains("out.ndjson.s")));
}

/// Any file of events becomes a corpus: each good event once, in order, the rest counted.
#[test]
fn any_file_becomes_a_corpus() {
    let dir = tempfile::tempdir().expect("a directory");
    let (good, texts) = messy_texts();
    let lines = texts.join("\n");
    let array = format!("[\n{}\n]", texts.join(",\n"));
    let messages: String = texts.iter().map(|text| format!("[\"EVENT\",\"s\",{text}]\n")).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(lines.as_bytes()).expect("memory");
    let zstd = zstd::encode_all(array.as_bytes(), 1).expect("memory");
    check_import(dir.path(), "lines.ndjson", lines.as_bytes(), &good);
    check_import(dir.path(), "array.json", array.as_bytes(), &good);
    check_import(dir.path(), "messages.ndjson", messages.as_bytes(), &good);
    check_import(dir.path(), "lines.gz", &gzip.finish().expect("memory"), &good);
    check_import(dir.path(), "array.zst", &zstd, &good);
}
