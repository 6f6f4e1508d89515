//! Scans over a plain list of events against the plain way to answer.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use zeolite_proto::{
    Event, EventId, Filter, Kind, PubKey, Reader, Seq, TagFilter, TagValue, Timestamp,
};

use super::explain::{Considered, Dimension, Explanation};
use super::mock::MockSource;
use super::{ScanState, SliceBudget, build};

#[path = "../../tests/support/forge.rs"]
mod forge;
use forge::forged;

const NOW: Timestamp = Timestamp(1_000);

/// In a drifting corpus kinds and authors come and go with time, so that the index that is best at
/// first is not so later.
fn events(drift: bool) -> impl Strategy<Value = Event> {
    // Few values of everything, so that all kinds of ties and overlaps come up.
    let tag = (0..3_usize, 0..4_usize);
    let fields = (0..4_u8, 0..6_u64, 0..4_u16, prop::collection::vec(tag, 0..4));
    let expiry = prop::option::weighted(0.1, prop_oneof![Just("999"), Just("1001")]);
    (any::<[u8; 2]>(), fields, expiry).prop_map(move |(id, fields, expiry)| {
        let (mut author, time, mut kind, tags) = fields;
        if drift {
            (author, kind) = ((time / 3) as u8, (time / 2) as u16);
        }
        let mut long_id = [0; 32];
        // The first four bytes take two values; the rest decides.
        (long_id[0], long_id[20], long_id[31]) = (id[0] % 2, id[0], id[1]);
        let names = ["e", "t", "d"];
        let values = ["", "a", "b", "ab"];
        let mut tags: Vec<_> = tags.iter().map(|(n, v)| (names[*n], values[*v])).collect();
        tags.extend(expiry.map(|at| ("expiration", at)));
        forged(long_id, author, time, kind, &tags)
    })
}

fn sorted<T: Ord + Clone>(values: &[T]) -> Box<[T]> {
    values.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

fn filters(ids: Vec<EventId>) -> impl Strategy<Value = Filter> {
    let ids = prop::collection::vec(prop::sample::select(ids), 0..5);
    let tag = (0..3_usize, any::<bool>(), prop::collection::vec(0..5_usize, 0..3));
    let lists = (
        prop::option::weighted(0.2, ids),
        prop::option::weighted(0.3, prop::collection::vec(0..5_u8, 0..4)),
        prop::option::weighted(0.3, prop::collection::vec(0..5_u16, 0..4)),
        prop::collection::vec(tag, 0..2),
    );
    let times = (prop::option::weighted(0.2, 0..7_u64), prop::option::weighted(0.2, 0..7_u64));
    (lists, times, prop::option::of(0..12_u64)).prop_map(|(lists, (since, until), limit)| {
        let (ids, authors, kinds, tags) = lists;
        let values = ["", "a", "b", "ab", "absent"];
        let tag = |(letter, all, chosen): (usize, bool, Vec<usize>)| TagFilter {
            letter: b"etd"[letter],
            all,
            values: sorted(&chosen.iter().map(|v| TagValue::new(values[*v])).collect::<Vec<_>>()),
        };
        Filter {
            ids: ids.map(|ids| sorted(&ids)),
            authors: authors
                .map(|list| sorted(&list.iter().map(|a| PubKey([*a; 32])).collect::<Vec<_>>())),
            kinds: kinds.map(|list| sorted(&list.iter().map(|k| Kind(*k)).collect::<Vec<_>>())),
            tags: tags.into_iter().map(tag).collect(),
            since: since.map(Timestamp),
            until: until.map(Timestamp),
            limit,
            search: None,
            written: Default::default(),
        }
    })
}

/// Runs a scan in slices of the given sizes, over and over.
fn scan(
    source: &MockSource,
    filters: &[Filter],
    slices: &[usize],
) -> (Vec<Seq>, bool, Vec<Explanation>) {
    let everything = Reader::of_everything().into();
    let mut union =
        build(source, filters, |filter| filter.limit, &everything).expect("the mock never fails");
    let mut given = Vec::new();
    for events_max in slices.iter().cycle() {
        let budget = SliceBudget { events_max: *events_max, time_max: Duration::ZERO };
        let mut sink = |seq, _: zeolite_proto::EventRef<'_>| {
            given.push(seq);
            true
        };
        let state = union.slice(source, NOW, budget, &mut sink).expect("the mock never fails");
        if let ScanState::Done { complete } = state {
            let plans = union.streams().iter().map(|stream| stream.explanation().clone());
            return (given, complete, plans.collect());
        }
    }
    unreachable!("a scan ends")
}

/// The union of each filter's newest, in order, and whether that is every match there is.
fn naive(source: &MockSource, filters: &[Filter]) -> (Vec<Seq>, bool) {
    let order = |seq: &Seq| {
        let event = source.events[seq.0 as usize - 1].view();
        (std::cmp::Reverse(event.created_at()), event.id())
    };
    let gather = |limited: bool| {
        let mut seqs = Vec::new();
        for filter in filters {
            let limit = filter.limit.filter(|_| limited);
            seqs.extend(source.naive(filter, limit, NOW).0);
        }
        seqs.sort_by_key(order);
        seqs.dedup();
        seqs
    };
    let given = gather(true);
    let complete = given == gather(false);
    (given, complete)
}

fn cases() -> impl Strategy<Value = (MockSource, Vec<Filter>, Vec<usize>)> {
    let events = any::<bool>().prop_flat_map(|drift| prop::collection::vec(events(drift), 1..120));
    events.prop_flat_map(|mut events| {
        let mut seen = BTreeSet::new();
        events.retain(|event| seen.insert(event.view().id()));
        let ids: Vec<_> = events.iter().map(|event| event.view().id()).collect();
        let dead = prop::collection::vec(1..=events.len() as u64, 0..10);
        let collisions = prop::option::weighted(0.3, 1..3_u8);
        let source = (Just(events), dead, collisions).prop_map(|(events, dead, hash_values)| {
            let dead = dead.into_iter().map(Seq).collect();
            MockSource { events, dead, hash_values, ceiling: None }
        });
        let filters = prop::collection::vec(filters(ids), 1..4);
        (source, filters, prop::collection::vec(1..40_usize, 1..5))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// R01-70..78, E-20..22, R67-02, case 30, 33, 35, 39: whatever index is chosen and wherever
    /// slices are cut, the answer is the plain one, and `complete` is true exactly when nothing
    /// was left out.
    #[test]
    fn a_sliced_scan_gives_the_plain_answer((source, filters, slices) in cases()) {
        let (given, complete, plans) = scan(&source, &filters, &slices);
        prop_assert_eq!((given, complete), naive(&source, &filters), "{:?}", plans);
    }

    /// R01-82: what was stored above the ceiling is not part of the answer.
    #[test]
    fn nothing_above_the_ceiling_is_given((source, filters, slices) in cases(), part in 0..100u64) {
        let ceiling = source.events.len() as u64 * part / 100;
        let source = MockSource { ceiling: Some(Seq(ceiling)), ..source };
        let (given, complete, _) = scan(&source, &filters, &slices);
        let below = MockSource { events: source.events[..ceiling as usize].to_vec(), ..source };
        prop_assert_eq!((given, complete), naive(&below, &filters));
    }
}

fn check_plan(events: Vec<Event>, filter: &str, chosen: Dimension) {
    let source = MockSource { events, ..MockSource::default() };
    let filter = Filter::from_json(filter).expect("a good filter");
    let (given, complete, plans) = scan(&source, std::slice::from_ref(&filter), &[7]);
    assert_eq!((given, complete), naive(&source, &[filter]));
    assert_eq!(plans[0].chosen, chosen, "{}", plans[0]);
}

fn hex(byte: u8) -> String {
    PubKey([byte; 32]).to_string()
}

fn list(authors: impl Iterator<Item = u8>) -> String {
    authors.map(|author| format!("\"{}\"", hex(author))).collect::<Vec<_>>().join(",")
}

/// The index that meets the fewest entries is taken, whatever its kind.
#[test]
fn the_thinnest_index_is_chosen() {
    use Dimension::{AuthorKinds, Authors, Ids, Kinds, Nothing, Tag, Timeline};
    // Author 1 writes all day, author 2 once; half of all have the tag t=a, one has t=b.
    let events: Vec<_> = (0..400_u64)
        .map(|n| {
            let mut id = [0; 32];
            id[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
            let tag = if n == 3 { "b" } else { ["a", "c"][n as usize % 2] };
            let kind = if n % 50 == 0 { 7 } else { 1 };
            forged(id, if n == 100 { 2 } else { 1 }, n, kind, &[("t", tag)])
        })
        .collect();
    let tag = Tag { letter: 't', all: false };
    let (popular, rare) = (hex(1), hex(2));
    let silent = list(10..160);
    for (filter, chosen) in [
        (format!(r##"{{"authors":["{rare}"],"#t":["a"]}}"##), Authors),
        (format!(r##"{{"authors":["{popular}"],"#t":["b"]}}"##), tag),
        (format!(r##"{{"authors":["{popular}"],"kinds":[1,7],"#t":["b"]}}"##), tag),
        (format!(r##"{{"authors":["{popular}"],"kinds":[7],"#t":["a","c"]}}"##), AuthorKinds),
        (r##"{"kinds":[7],"#t":["a","c"],"limit":5}"##.into(), Kinds),
        (r##"{"&t":["a","b"]}"##.into(), Tag { letter: 't', all: true }),
        (r#"{"limit":5}"#.into(), Timeline),
        (r#"{"authors":[]}"#.into(), Nothing),
        (r#"{"since":9,"until":8}"#.into(), Nothing),
        (format!(r#"{{"ids":["{rare}"],"kinds":[1]}}"#), Ids),
        // 150 authors who never wrote, and one who writes everything: his events are found
        // without opening 151 groups (the planner sees that the timeline is his).
        (format!(r#"{{"authors":["{popular}",{silent}],"limit":5}}"#), Timeline),
        // All of them silent but one who wrote once: the timeline would be read to its end.
        (format!(r#"{{"authors":["{rare}",{silent}],"limit":500}}"#), Authors),
    ] {
        check_plan(events.clone(), &filter, chosen);
    }
}

/// Profiles of many authors, of whom each has one: the planner reads from some of the short groups
/// and knows the others by them, instead of looking at everybody's profiles.
#[test]
fn profiles_are_found_by_author_and_kind() {
    let id = |author: u8, n: u64| {
        let mut id = [author; 32];
        id[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        id
    };
    let authors: Vec<u8> = (0..200).collect();
    let notes = authors.iter().flat_map(|author| {
        (0..20_u64).map(move |n| forged(id(*author, n), *author, 1_000 + n, 1, &[]))
    });
    // Some are as new as anything: one entry there looks like many a second.
    let profiles = authors
        .iter()
        .map(|author| forged(id(*author, 99), *author, 1_019 - 5 * u64::from(*author), 0, &[]));
    let wanted = list(0..50);
    let filter = format!(r#"{{"kinds":[0],"authors":[{wanted}]}}"#);
    let filter = Filter::from_json(&filter).expect("a good filter");
    let source = MockSource { events: notes.chain(profiles).collect(), ..MockSource::default() };
    let (given, complete, plans) = scan(&source, std::slice::from_ref(&filter), &[7]);
    assert_eq!((given, complete), naive(&source, &[filter]));
    let Considered { dimension, estimate, .. } = &plans[0].considered[0];
    assert_eq!((*dimension, plans[0].chosen), (Dimension::AuthorKinds, Dimension::AuthorKinds));
    let looks = estimate.expect("there was a choice").looks;
    assert!((40..=60).contains(&looks), "50 were to be met: {}", plans[0]);
}

/// A tag that comes in a burst at the newest end looks denser than the kind that is everywhere
/// else: the walk over the kind is given up for the tag's.
#[test]
fn a_wrong_choice_is_corrected_on_the_way() {
    let id = |n: u64| {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        id
    };
    let old = (0..4_000_u64).map(|n| forged(id(n), 1, n * 10, 7, &[]));
    let found = [3, 1_000].map(|n| forged(id(10_000 + n), 1, n * 10, 7, &[("t", "a")]));
    let burst = (5_000..5_020_u64).map(|n| forged(id(n), 2, 40_000, 1, &[("t", "a")]));
    let events = old.chain(found).chain(burst).collect();
    let source = MockSource { events, ..MockSource::default() };
    let filter = Filter::from_json(r##"{"kinds":[7],"#t":["a"],"limit":20}"##).expect("good");
    let (given, complete, plans) = scan(&source, std::slice::from_ref(&filter), &[100]);
    assert_eq!((given, complete), naive(&source, &[filter]));
    assert_eq!(plans[0].chosen, Dimension::Tag { letter: 't', all: false });
    assert!(plans[0].replans == 1 && plans[0].looked < 500, "{}", plans[0]);
}
