//! Look-ups, scans, counts and the bulk read.

use std::hint::black_box;
use std::time::{Duration, Instant};

use zeolite_proto::{EventId, EventRef, Filter, PubKey, Reader, Timestamp};
use zeolite_store::{Scan, ScanOptions, ScanState, SliceBudget, Store, count};

use crate::append::NOW;
use crate::corpus::Corpus;
use crate::expected::newest;
use crate::report::{Report, Target, median_us};

/// As the relay cuts them.
const SLICE: SliceBudget = SliceBudget { events_max: 512, time_max: Duration::from_millis(5) };
const RUNS: usize = 201;

/// Reads what was appended in every way.
pub fn run(report: &mut Report, corpus: &Corpus, store: &Store) {
    look_up(report, corpus, store);
    for (name, target_us, filters) in scans(corpus) {
        scan(report, corpus, store, name, target_us, &filters);
    }
    counts(report, corpus, store);
    bulk(report, corpus, store);
}

fn look_up(report: &mut Report, corpus: &Corpus, store: &Store) {
    let count = 100_000;
    let at = |n: usize| n.wrapping_mul(7_919_000_003) % corpus.events.len();
    let ids: Vec<_> = (0..count).map(|n| corpus.events[at(n)].view().id()).collect();
    let started = Instant::now();
    for id in &ids {
        let snapshot = store.snapshot().unwrap();
        let (_, event) = snapshot.by_id(id).unwrap().unwrap();
        assert_eq!(event.id(), *id);
    }
    let us = started.elapsed().as_secs_f64() * 1e6 / f64::from(count as u32);
    report.row("look-up by id, with snapshot", us, "us", Target::AtMost(5.0));
    let started = Instant::now();
    for id in &ids {
        let mut absent = *id;
        absent.0[0] ^= 1;
        assert!(!store.contains(&absent).unwrap());
    }
    let us = started.elapsed().as_secs_f64() * 1e6 / f64::from(count as u32);
    report.row("look-up of an absent id", us, "us", Target::AtMost(5.0));
}

type Rows = Vec<(&'static str, Target, Vec<String>)>;

/// Each with a few variants, so that no run finds everything where the last one left it.
fn scans(corpus: &Corpus) -> Rows {
    let authors = &corpus.authors;
    let quoted =
        |keys: &[PubKey]| keys.iter().map(|key| format!("\"{key}\"")).collect::<Vec<_>>().join(",");
    let silent: Vec<_> = (0..149_u8).map(|n| PubKey([n; 32])).collect();
    let quiet = *authors.last().unwrap();
    let times = corpus.events.iter().map(|event| event.view().created_at().0);
    let (since, until) = (times.clone().min().unwrap(), times.max().unwrap());
    let middle = since + (until - since) / 2;
    let each = |make: &dyn Fn(&PubKey) -> String| authors.iter().take(20).map(make).collect();
    let tags = ["nostr", "bitcoin", "zeolite", "rust", "photography", "food"];
    let tags = tags.iter().map(|tag| format!(r##"{{"kinds":[1],"#t":["{tag}"],"limit":500}}"##));
    let ms = || Target::AtMost(1_000.0);
    let small = || Target::AtMost(100.0);
    vec![
        ("20 rows by kind", small(), vec![r#"{"kinds":[1],"limit":20}"#.into()]),
        ("20 rows by author", small(), each(&|a| format!(r#"{{"authors":["{a}"],"limit":20}}"#))),
        ("500 rows by author", ms(), each(&|a| format!(r#"{{"authors":["{a}"],"limit":500}}"#))),
        (
            "500 rows by author and kind",
            ms(),
            each(&|a| format!(r#"{{"authors":["{a}"],"kinds":[1],"limit":500}}"#)),
        ),
        (
            "500 rows by kind",
            ms(),
            [1, 6, 7, 9735].map(|k| format!(r#"{{"kinds":[{k}],"limit":500}}"#)).into(),
        ),
        ("500 rows by kind and tag", ms(), tags.collect()),
        (
            "500 rows by #p",
            ms(),
            each(&|a| format!(r##"{{"#p":["{a}"],"kinds":[1,6,7,9735],"limit":500}}"##)),
        ),
        ("500 rows by time", ms(), vec![format!(r#"{{"until":{middle},"limit":500}}"#)]),
        ("newest 500 of all", ms(), vec![r#"{"limit":500}"#.into()]),
        (
            "500 rows, 150 authors, 2 kinds",
            Target::AtMost(2_000.0),
            vec![format!(
                r#"{{"authors":[{}],"kinds":[1,6],"limit":500}}"#,
                quoted(&authors[..150.min(authors.len())])
            )],
        ),
        (
            "500 rows, all 2,000 authors",
            Target::None,
            vec![format!(r#"{{"authors":[{}],"kinds":[1],"limit":500}}"#, quoted(authors))],
        ),
        (
            "150 authors, 149 of them silent",
            Target::AtMost(2_000.0),
            vec![format!(
                r#"{{"authors":[{},"{quiet}"],"kinds":[1,6,7],"limit":500}}"#,
                quoted(&silent)
            )],
        ),
        (
            "nothing matches: silent authors",
            ms(),
            vec![format!(r#"{{"authors":[{}],"kinds":[1]}}"#, quoted(&silent))],
        ),
    ]
}

fn scan(
    report: &mut Report,
    corpus: &Corpus,
    store: &Store,
    name: &'static str,
    target: Target,
    filters: &[String],
) {
    let filters: Vec<_> = filters.iter().map(|json| [Filter::from_json(json).unwrap()]).collect();
    for filter in &filters {
        let (ids, _) = run_scan(store, filter);
        assert_eq!(ids, newest(corpus, &filter[0]), "{name}: {filter:?}");
    }
    let mut json = Vec::new();
    let us = median_us(RUNS, |run| {
        json.clear();
        let filter = &filters[run % filters.len()];
        let mut scan =
            Scan::new(store, filter, ScanOptions::default(), &Reader::of_everything().into())
                .unwrap();
        let mut sink = |_, event: EventRef<'_>| {
            event.push_json(&mut json);
            true
        };
        while scan.slice(NOW, SLICE, &mut sink).unwrap() == ScanState::More {}
        black_box(&json);
    });
    report.row(name, us, "us", target);
}

fn run_scan(store: &Store, filters: &[Filter]) -> (Vec<EventId>, Scan) {
    let mut scan =
        Scan::new(store, filters, ScanOptions::default(), &Reader::of_everything().into()).unwrap();
    let mut ids = Vec::new();
    let mut sink = |_, event: EventRef<'_>| {
        ids.push(event.id());
        true
    };
    while scan.slice(NOW, SLICE, &mut sink).unwrap() == ScanState::More {}
    (ids, scan)
}

fn counts(report: &mut Report, corpus: &Corpus, store: &Store) {
    let since = corpus.events[corpus.events.len() / 2].view().created_at();
    let author = corpus.authors[0];
    for (name, filters) in [
        ("count of all", vec!["{}".to_owned()]),
        ("count by kind", vec![r#"{"kinds":[7]}"#.to_owned()]),
        (
            "count of a union",
            vec![
                format!(r#"{{"authors":["{author}"]}}"#),
                format!(r#"{{"kinds":[1],"since":{since}}}"#),
            ],
        ),
    ] {
        let filters: Vec<_> = filters.iter().map(|json| Filter::from_json(json).unwrap()).collect();
        let matches = |e: EventRef<'_>| filters.iter().any(|filter| filter.matches(e));
        let expected = corpus.events.iter().filter(|event| matches(event.view())).count() as u64;
        let started = Instant::now();
        let reader = Reader::of_everything().into();
        let counted = count(store, &filters, &reader, NOW, &mut |_| true).unwrap();
        let seconds = started.elapsed().as_secs_f64();
        assert_eq!(counted, Some(expected), "{name}");
        report.row(name, expected as f64 / seconds / 1e6, "M events/s", Target::None);
    }
}

fn bulk(report: &mut Report, corpus: &Corpus, store: &Store) {
    let filter = [Filter::from_json("{}").unwrap()];
    let mut scan =
        Scan::new(store, &filter, ScanOptions::default(), &Reader::of_everything().into()).unwrap();
    let mut json = Vec::with_capacity(1 << 20);
    let mut given = 0;
    let mut last = Timestamp(u64::MAX);
    let started = Instant::now();
    let mut sink = |_, event: EventRef<'_>| {
        if json.len() > 1 << 19 {
            json.clear();
        }
        event.push_json(&mut json);
        assert!(event.created_at() <= last);
        last = event.created_at();
        given += 1;
        true
    };
    let state = loop {
        let state = scan.slice(NOW, SLICE, &mut sink).unwrap();
        if state != ScanState::More {
            break state;
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    assert_eq!(state, ScanState::Done { complete: true });
    assert_eq!(given, corpus.events.len());
    report.row("bulk read", given as f64 / seconds, "events/s", Target::AtLeast(400_000.0));
}
