//! Insert, remove, lookup, churn and memory, by number and shape of the standing filters, against
//! the naive loop over all of them.
//!
//! `cargo bench -p zeolite-filter-index`; `-- --short` for a quick run.
#![allow(clippy::print_stdout, reason = "a benchmark reports")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use zeolite_filter_index::{FilterIndex, Handle};
use zeolite_proto::{Event, EventParser, Filter, Kind, PubKey, TagFilter, TagValue};
use zeolite_testkit::{TestRng, canonical_id};

/// Kinds over which kind filters are spread, so that an event hits N / KINDS of them.
const KINDS: usize = 50_000;
/// Events per measurement of a lookup.
const EVENTS: usize = 1000;

fn main() {
    let short = std::env::args().any(|arg| arg == "--short");
    let sizes: &[usize] = if short { &[1000] } else { &[1000, 100_000, 1_000_000] };
    // First, while the allocator has nothing to give out again.
    resident(sizes[sizes.len() - 1]);
    println!(
        "| filters | shape | insert ns | remove ns | lookup ns | hits | naive loop ns | \
         churn ns | p999 us | B/filter |\n\
         |---:|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    );
    for &size in sizes {
        for shape in [Shape::Author, Shape::Tag, Shape::Kind, Shape::Mixed] {
            measure(size, shape);
        }
    }
    println!("\n| filters | 2,000-tag event, lookup us | hits |\n|---:|---:|---:|");
    sizes.iter().for_each(|&size| crowded(size));
}

/// What the system says an index of author filters takes, as a check on the index's own count.
fn resident(size: usize) {
    let before = resident_bytes();
    let filters: Vec<Arc<[Filter]>> = (0..size).map(|n| [Shape::Author.filter(n)].into()).collect();
    let between = resident_bytes();
    let mut index = FilterIndex::new();
    filters.iter().for_each(|filters| {
        index.insert(filters.clone(), 0u64);
    });
    let (own, index_bytes) = (between - before, resident_bytes() - between);
    println!(
        "{size} author filters: the index holds {} resident bytes for each, by its own count {}, \
         the filters themselves {}\n",
        index_bytes / size,
        index.heap_bytes() / size,
        own / size,
    );
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    /// `{authors:[x],kinds:[1]}`
    Author,
    /// `{#p:[x],kinds:[1,6,7]}`
    Tag,
    /// `{kinds:[x]}`
    Kind,
    /// Of ten: five by author, three by tag, one by kind, one with 20 authors and a topic.
    Mixed,
}

impl Shape {
    fn filter(self, number: usize) -> Filter {
        let kinds = |kinds: &[u16]| Some(kinds.iter().copied().map(Kind).collect());
        let tag = |letter, value| TagFilter { letter, all: false, values: Box::new([value]) };
        match (self, number % 10) {
            (Self::Author, _) | (Self::Mixed, 0..5) => Filter {
                authors: Some(Box::new([key(number)])),
                kinds: kinds(&[1]),
                ..Filter::default()
            },
            (Self::Tag, _) | (Self::Mixed, 5..8) => Filter {
                kinds: kinds(&[1, 6, 7]),
                tags: Box::new([tag(b'p', TagValue::Hex(key(number).0))]),
                ..Filter::default()
            },
            (Self::Kind, _) | (Self::Mixed, 8) => {
                Filter { kinds: kinds(&[(number % KINDS) as u16]), ..Filter::default() }
            }
            (Self::Mixed, _) => Filter {
                authors: Some((number..number + 20).map(key).collect()),
                tags: Box::new([tag(b't', TagValue::new("nostr"))]),
                ..Filter::default()
            },
        }
    }
}

/// A key that is not one: only its bytes count here. In order, so that lists of them are sorted.
fn key(number: usize) -> PubKey {
    let mut bytes = [0xa5; 32];
    bytes[..8].copy_from_slice(&(number as u64).to_be_bytes());
    PubKey(bytes)
}

/// An event that is wanted by author and tag filter `number` and by kind filter `number`.
fn event(number: usize, kind: usize, tags: &serde_json::Value) -> Event {
    let mut event = json!({
        "pubkey": key(number).to_string(), "created_at": 1, "kind": kind, "tags": tags,
        "content": "", "sig": "0".repeat(128),
    });
    event["id"] = canonical_id(&event).into();
    EventParser::new().parse(&event.to_string()).expect("a legal event")
}

fn events(size: usize, shape: Shape, rng: &mut TestRng) -> Vec<Event> {
    let one = |rng: &mut TestRng| {
        let number = rng.random_range(0..size);
        let kind = if matches!(shape, Shape::Kind) { number % KINDS } else { 1 };
        let root = key(size + number).to_string();
        let tags = json!([["e", root, "", "root"], ["p", key(number).to_string()], ["t", "nostr"]]);
        event(number, kind, &tags)
    };
    (0..EVENTS).map(|_| one(rng)).collect()
}

fn measure(size: usize, shape: Shape) {
    let mut rng = TestRng::seed_from_u64(size as u64);
    let events = events(size, shape, &mut rng);
    let filters: Vec<Arc<[Filter]>> = (0..size).map(|n| [shape.filter(n)].into()).collect();
    let mut index = FilterIndex::new();

    let start = Instant::now();
    let mut handles: Vec<Handle> =
        filters.iter().zip(0u64..).map(|(filters, n)| index.insert(filters.clone(), n)).collect();
    let insert = nanos(start, size);
    let bytes = index.heap_bytes() / size;

    let (lookup, hits) = look_up(&mut index, &events);
    let naive = naive_loop(&filters, &events, &mut index);

    let (churn, p999) = churn(&mut index, &filters, &mut handles, &mut rng);
    handles.shuffle(&mut rng);
    let start = Instant::now();
    for handle in handles {
        assert!(index.remove(handle).is_some());
    }
    let remove = nanos(start, size);
    assert!(index.is_empty());
    println!(
        "| {size} | {shape:?} | {insert:.0} | {remove:.0} | {lookup:.0} | {hits:.1} | {naive:.0} | \
         {churn:.0} | {p999:.1} | {bytes} |"
    );
}

/// Median time of a lookup over several rounds, and the mean number of subscribers found.
fn look_up(index: &mut FilterIndex<u64>, events: &[Event]) -> (f64, f64) {
    let mut found = 0;
    let mut rounds: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            found = 0;
            for event in events {
                index.matches(&event.view(), |_, subscriber| {
                    black_box(subscriber);
                    found += 1;
                });
            }
            nanos(start, events.len())
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    (rounds[rounds.len() / 2], found as f64 / events.len() as f64)
}

/// Time of the loop over all filters, which also says whether the index found the right number.
fn naive_loop(filters: &[Arc<[Filter]>], events: &[Event], index: &mut FilterIndex<u64>) -> f64 {
    let events = &events[..events.len().min(20_000_000 / filters.len())];
    let start = Instant::now();
    let counts: Vec<usize> = events
        .iter()
        .map(|event| {
            let view = event.view();
            filters.iter().filter(|filters| filters.iter().any(|f| f.matches(view))).count()
        })
        .collect();
    let naive = nanos(start, events.len());
    for (event, count) in events.iter().zip(counts) {
        let mut found = 0;
        index.matches(&event.view(), |_, _| found += 1);
        assert_eq!(found, count);
    }
    naive
}

/// Replaces random subscribers: the mean time of one removal with one insert, and the
/// 999th of a thousand.
fn churn(
    index: &mut FilterIndex<u64>,
    filters: &[Arc<[Filter]>],
    handles: &mut [Handle],
    rng: &mut TestRng,
) -> (f64, f64) {
    const ROUNDS: usize = 100_000;
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let at = rng.random_range(0..handles.len());
            let start = Instant::now();
            let subscriber = index.remove(handles[at]).expect("it is there");
            handles[at] = index.insert(filters[at].clone(), subscriber);
            nanos(start, 1)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times.iter().sum::<f64>() / ROUNDS as f64, times[ROUNDS - ROUNDS / 1000] / 1000.0)
}

/// An event that names 2,000 keys, half of which somebody watches.
fn crowded(size: usize) {
    let mut index = FilterIndex::new();
    (0..size).for_each(|n| {
        index.insert([Shape::Tag.filter(n)], n as u64);
    });
    let mut rng = TestRng::seed_from_u64(3);
    let tags: Vec<_> = (0..2000)
        .map(|n| match n % 2 {
            0 => json!(["p", key(rng.random_range(0..size)).to_string()]),
            _ => json!(["p", key(size + n).to_string()]),
        })
        .collect();
    let event = event(0, 1, &tags.into());
    let (nanos, hits) = look_up(&mut index, &[event]);
    println!("| {size} | {:.0} | {hits:.0} |", nanos / 1000.0);
}

fn nanos(start: Instant, count: usize) -> f64 {
    start.elapsed().as_secs_f64() * 1e9 / count as f64
}

/// Bytes of memory this process holds; 0 where the system does not say.
fn resident_bytes() -> usize {
    const PAGE_BYTES: usize = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * PAGE_BYTES
}
