//! Same seed, same bytes.

use sha2::{Digest, Sha256};
use zeolite_loadgen::corpus::{Author, Corpus, Fingerprint, Shape, Spec, generate, is_signed};
use zeolite_proto::EventParser;

fn fingerprint(corpus: &Corpus) -> String {
    let ids: Vec<_> = corpus.iter().map(|event| event.id).collect();
    Fingerprint::of(&ids).to_string()
}

/// The first 8 bytes of the SHA-256 over all messages.
fn bytes_hash(corpus: &Corpus) -> String {
    let mut hash = Sha256::new();
    corpus.iter().for_each(|event| hash.update(event.message()));
    faster_hex::hex_string(&hash.finalize()[..8])
}

/// A corpus with these names has these bytes for ever: published figures name its fingerprint. A
/// change of the generator that fails here needs a new name, such as `network-v2`.
#[test]
fn published_corpora_never_change() {
    for (shape, ids, bytes) in [
        (Shape::ClassicV1, "08c93d84b950549a", "4bcac939e89c345a"),
        (Shape::NetworkV1, "5a4be78bbc00fee0", "f63a047e1669eb2f"),
    ] {
        let spec = Spec::new(shape, 2_000);
        for threads in [1, 3] {
            let corpus: Corpus = generate(&spec, threads).collect();
            let found = (fingerprint(&corpus), bytes_hash(&corpus));
            assert_eq!((found.0.as_str(), found.1.as_str()), (ids, bytes), "{shape}");
        }
    }
}

/// Another seed gives other events by other authors in the same kinds.
#[test]
fn seeds_differ() {
    let one = Corpus::generate(&Spec { seed: 5, ..Spec::new(Shape::NetworkV1, 500) });
    let two = Corpus::generate(&Spec { seed: 6, ..Spec::new(Shape::NetworkV1, 500) });
    let ids: std::collections::HashSet<_> = one.iter().map(|event| event.id).collect();
    assert!(two.iter().all(|event| !ids.contains(&event.id)));
    assert_ne!(Author::new(5, 0).pubkey(), Author::new(6, 0).pubkey());
}

/// R01-03: every signature is its author's. Corpora of every small size are whole.
#[test]
fn every_event_is_signed() {
    let mut parser = EventParser::new();
    for shape in Shape::ALL {
        for events in [1, 2, 3, 10, 41, 600] {
            let corpus = Corpus::generate(&Spec::new(shape, events));
            assert_eq!(corpus.len(), events as usize, "{shape}");
            for (at, event) in corpus.iter().enumerate() {
                let text = std::str::from_utf8(event.json()).expect("UTF-8");
                let parsed = parser.parse(text).expect("a valid event");
                assert!(is_signed(parsed.view()), "{text}");
                assert_eq!(corpus.event(at).id, event.id);
            }
        }
    }
}
