//! The effective set against a store that is a list, on small corpora where everything collides.

use std::collections::BTreeSet;

use rand::RngExt;
use serde_json::Value;
use zeolite_loadgen::corpus::{EffectiveBuilder, EffectiveSet, Fate};
use zeolite_proto::{Event, EventId, EventParser, Timestamp};
use zeolite_testkit::{Factory, OracleStore, Universe, run_seeds};

fn parse(event: &Value) -> Event {
    EventParser::new().parse(&event.to_string()).expect("a valid event")
}

fn effective<'e>(events: impl IntoIterator<Item = &'e Value>, now: u64) -> EffectiveSet {
    let mut builder = EffectiveBuilder::new(Timestamp(now), &[Universe::OWN_URL]);
    events.into_iter().for_each(|event| builder.add(parse(event).view()));
    builder.finish()
}

/// What a relay holds that takes the events one by one, in any order, is the effective set: oldest
/// first in ours, newest first and lowest id first in the oracle's. R01-25, R09-03, R09-07, R09-10,
/// R09-16, R40-02, R62-03, R62-04, R62-09, E-40 to E-53.
#[test]
fn effective_sets_are_those_of_the_naive_store() {
    run_seeds("effective_sets_are_those_of_the_naive_store", 300, |rng| {
        let mut universe = Universe::new(Factory::unsigned(rng.random()));
        let now = Universe::now(rng);
        let count = rng.random_range(1..80);
        let events = universe.shuffled(count, rng);
        let mut oracle = OracleStore::new(&[Universe::OWN_URL]);
        for event in &events {
            oracle.publish(event, now);
        }
        let set = effective(events.iter().chain(&events[..count / 3]), now);
        let found: BTreeSet<_> = set.iter().map(|(_, id)| id.to_string()).collect();
        assert_eq!(found, oracle.effective_set(now).into_iter().collect());
        assert!(set.iter().collect::<Vec<_>>().is_sorted());
        assert_eq!(set.fingerprint(), effective(events.iter().rev(), now).fingerprint());
        for event in &events {
            let id = parse(event).view().id();
            let fate = set.fate(&id).expect("every event has a fate");
            assert_eq!(fate.is_held(), found.contains(&id.to_string()), "{fate:?}");
        }
    });
}

/// Two versions in one second, the older version of a deleted one, and a note.
fn disputed() -> (EffectiveSet, [EventId; 5]) {
    let mut factory = Factory::unsigned(1);
    let mut list = |content: &str| factory.draft(0).kind(10_002).at(10).content(content).build();
    let mut tied = [list("a"), list("b")];
    tied.sort_by_key(|event| event["id"].to_string());
    let old = factory.draft(0).kind(0).at(10).build();
    let new = factory.draft(0).kind(0).at(11).build();
    let target = new["id"].as_str().expect("hex");
    let deletion = factory.draft(0).kind(5).at(12).tag(&["e", target]).build();
    let note = factory.note(1, 10, "a note");
    let ids = [&tied[0], &tied[1], &old, &deletion, &note].map(|event| parse(event).view().id());
    (effective([&tied[0], &tied[1], &old, &new, &deletion, &note], 20), ids)
}

/// A relay holds these of [`disputed`], by number: converged or not when nothing, and when
/// everything disputed is tolerated.
fn check(holds: &[usize], strict: bool, tolerant: bool) {
    let (set, ids) = disputed();
    let found = || holds.iter().map(|&at| ids[at]);
    assert_eq!(set.compare(found(), &[]).is_converged(), strict, "{holds:?}");
    let tolerated = [Fate::SupersededInTie, Fate::DeletedWithNewer];
    assert_eq!(set.compare(found(), &tolerated).is_converged(), tolerant, "{holds:?}");
}

#[test]
fn differences_are_found_and_may_be_tolerated() {
    check(&[0, 3, 4], true, true);
    check(&[4, 3, 0], true, true);
    check(&[0, 2, 3, 4], false, true); // the older version came after the deletion
    check(&[1, 3, 4], false, true); // the first of two in one second stayed
    check(&[0, 3], false, false); // the note is missing
    check(&[0, 0, 3, 4], false, false); // one came twice
    let (set, ids) = disputed();
    let foreign = EventId([9; 32]);
    let comparison = set.compare([ids[0], ids[3], ids[4], foreign], &[]);
    assert_eq!((comparison.held, comparison.extra), (3, vec![(foreign, None)]));
}
