//! Generated corpora have the shape that their names promise.

use std::collections::BTreeMap;

use zeolite_proto::{Event, EventParser, Timestamp};

use crate::corpus::generate::compose;
use crate::corpus::{Census, Counts, EffectiveBuilder, Fate, Shape, Spec};

/// Any time from the end of the corpora to the year 2100.
const NOW: Timestamp = Timestamp(2_000_000_000);

/// The events as a relay parses them: valid, and written in the form in which they would be served.
/// They are not signed, since signing takes nearly all of the time.
fn events(spec: &Spec) -> Vec<Event> {
    let mut parser = EventParser::new();
    let mut events = Vec::new();
    for unsigned in compose(spec, 0).0 {
        for composed in unsigned.batch.iter() {
            let text = std::str::from_utf8(composed.json()).expect("UTF-8");
            let event = parser.parse(text).expect("a valid event");
            assert_eq!(event.json(), composed.json(), "the canonical form");
            let view = event.view();
            let head = (composed.id, composed.pubkey, composed.created_at, composed.kind);
            assert_eq!(head, (view.id(), view.pubkey(), view.created_at(), view.kind()));
            events.push(event);
        }
    }
    events
}

fn census(events: &[Event]) -> Counts {
    let mut census = Census::new(NOW);
    for event in events {
        census.add(event.view(), event.json().len());
    }
    census.finish()
}

fn per_event(sum: u64, counts: &Counts) -> f64 {
    sum as f64 / counts.events as f64
}

/// Within so many hundredths of what was expected.
fn is_within(per_cent: f64, found: f64, expected: f64) -> bool {
    (found - expected).abs() <= expected * per_cent / 100.0
}

#[test]
fn classic_has_the_published_shape() {
    let counts = census(&events(&Spec::new(Shape::ClassicV1, 10_000)));
    let kinds: BTreeMap<u16, u64> = counts.kinds.iter().map(|(k, (n, _))| (*k, *n)).collect();
    let published = [(0, 500), (1, 4942), (3, 500), (6, 702), (7, 2711), (9735, 645)];
    assert_eq!(kinds, BTreeMap::from(published));
    let mean = per_event(counts.bytes, &counts);
    assert!(is_within(2.0, mean, 739.0), "mean {mean}");
    let letter_tags = per_event(counts.letter_tags, &counts);
    assert!((3.70..=3.85).contains(&letter_tags), "{letter_tags}");
    // Easy: no ties, one version of each replaceable, no deletions, few authors.
    let easy = (counts.ties, counts.out_of_order, counts.deletions, counts.ephemeral);
    assert_eq!(easy, (0, 0, 0, 0));
    assert_eq!((counts.versions, counts.versions_max, counts.authors), (1000, 1, 500));
}

#[test]
fn network_has_what_its_description_lists() {
    let events = events(&Spec::new(Shape::NetworkV1, 20_000));
    let counts = census(&events);
    let share = |kind: u16| {
        let (found, _) = counts.kinds.get(&kind).copied().unwrap_or_default();
        per_event(found, &counts) * 10_000.0
    };
    for (kind, expected) in [
        (0, 450.0),
        (1, 2_800.0),
        (3, 400.0),
        (4, 300.0),
        (5, 200.0),
        (6, 600.0),
        (7, 2_200.0),
        (62, 3.0),
        (1059, 900.0),
        (1984, 60.0),
        (9735, 700.0),
        (10_002, 250.0),
        (10_050, 57.0),
        (24_133, 400.0),
        (30_023, 100.0),
        (30_078, 350.0),
        (31_990, 30.0),
    ] {
        assert!(is_within(2.0, share(kind), expected), "kind {kind}: {}", share(kind));
    }
    assert_eq!((counts.events, counts.out_of_order, counts.ephemeral), (20_000, 0, 1_200));
    assert!((1_800..4_000).contains(&counts.ties), "{}", counts.ties);
    assert!(counts.second_max >= 40 && counts.versions_max > 10);
    assert!(counts.versions > counts.addresses * 12 / 10);
    assert!(counts.targets_before > 100 && counts.targets_after > 20);
    assert!(counts.targets_foreign > 10 && counts.targets_by_address > 40);
    assert!(counts.expired > 10 && counts.expiring > 10 && counts.vanishes == 6);
    assert!((600..=1_024).contains(&counts.letter_value_max), "{}", counts.letter_value_max);
    assert!((5_000..9_000).contains(&counts.beyond_ascii), "{}", counts.beyond_ascii);
}

/// Every fate is met in a corpus of ordinary size, and the set is the same at any time.
#[test]
fn network_meets_every_fate() {
    let events = events(&Spec::new(Shape::NetworkV1, 50_000));
    let set_at = |now: u64| {
        let mut builder = EffectiveBuilder::new(Timestamp(now), &[]);
        events.iter().for_each(|event| builder.add(event.view()));
        builder.finish()
    };
    let set = set_at(NOW.0);
    let fates: Vec<_> = set.fates().into_keys().collect();
    assert_eq!(
        fates,
        [
            Fate::Held,
            Fate::HeldInTie,
            Fate::Ephemeral,
            Fate::Expired,
            Fate::Vanished,
            Fate::VanishedWrap,
            Fate::Deleted,
            Fate::DeletedWrap,
            Fate::DeletedByAddress,
            Fate::DeletedReplaceable,
            Fate::DeletedWithNewer,
            Fate::Superseded,
            Fate::SupersededInTie,
        ]
    );
    let end = 1_735_689_600 + 30 * 24 * 3600;
    for now in [end, 4_102_444_799] {
        assert_eq!(set_at(now).fingerprint(), set.fingerprint());
    }
}
