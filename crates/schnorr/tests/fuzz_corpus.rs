//! The fuzz target's corpus, replayed without the fuzzer.

mod adversary;
#[path = "../fuzz/input.rs"]
mod input;

use std::fs;
use std::path::Path;

#[test]
fn the_corpus_is_answered_as_by_k256() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/batch");
    let mut files = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is there") {
        let path = entry.expect("a readable folder").path();
        let data = fs::read(&path).expect("a readable file");
        assert!(!input::batch(&data).is_empty(), "{}", path.display());
        input::check(&data);
        files += 1;
    }
    assert!(files >= 8, "{files} files");
}

/// The batches that the corpus is there for do come out of it.
#[test]
fn bytes_mean_what_they_should() {
    let clean: Vec<u8> = (0..20).flat_map(|index| [index, 0]).collect();
    let items = input::batch(&clean);
    assert_eq!(items.len(), 20);
    assert!(items.iter().all(adversary::expected));
    let [one, two] = [input::batch(&[1, 0])[0], input::batch(&[2, 0])[0]];
    assert_eq!(input::batch(&[1, 1, 64, 0x80])[0].2.0[0], one.2.0[0] ^ 0x80);
    assert_eq!(input::batch(&[1, 2, 0, 2])[0], (two.0, one.1, one.2));
    let replaced: Vec<u8> = [1, 3, 3].into_iter().chain([9; 32]).collect();
    assert_eq!(input::batch(&replaced)[0].2.0[32..], [9; 32]);
    assert!(!adversary::expected(&input::batch(&[1, 5, 0])[0]));
    // An item that is cut off is none.
    assert!(input::batch(&[1, 3, 3, 9]).is_empty());
}
