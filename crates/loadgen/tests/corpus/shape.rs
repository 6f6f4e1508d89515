//! Generated corpora have the shape that their names promise.

use zeolite_loadgen::corpus::{Census, Corpus, Counts, Shape, Spec};
use zeolite_proto::{EventParser, Timestamp};

fn census(spec: &Spec) -> Counts {
    let mut parser = EventParser::new();
    let mut census = Census::new(Timestamp(2_000_000_000));
    for event in Corpus::generate(spec).iter() {
        let text = std::str::from_utf8(event.json()).expect("UTF-8");
        let parsed = parser.parse(text).expect("a valid event");
        assert_eq!(parsed.json(), event.json(), "the canonical form");
        census.add(parsed.view(), event.json().len());
    }
    census.finish()
}

#[test]
fn classic_has_the_published_shape() {
    let counts = census(&Spec::new(Shape::ClassicV1, 10_000));
    println!(
        "{counts:#?} mean {} tags {}",
        counts.bytes as f64 / 10_000.0,
        counts.letter_tags as f64 / 10_000.0
    );
    let counts = census(&Spec::new(Shape::NetworkV1, 10_000));
    println!(
        "{counts:#?} mean {} tags {}",
        counts.bytes as f64 / 10_000.0,
        counts.letter_tags as f64 / 10_000.0
    );
    for (k, (n, b)) in &counts.kinds {
        println!("{k} {n} {}", b / n);
    }
}
