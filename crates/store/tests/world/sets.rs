//! Kept sets against the plain way: a scan, sorted.

use std::sync::Arc;

use rand::RngExt;
use rand::seq::IndexedRandom;
use zeolite_proto::{Filter, Gates, Kind, Reader, Timestamp};
use zeolite_reconcile::{Bound, Edge, Item, Set, SortedSet};
use zeolite_store::{
    BuildState, LiveView, ReconcileSet, Scan, ScanOptions, SetOptions, SliceBudget, Store,
};
use zeolite_testkit::TestRng;

const UNBOUNDED: usize = usize::MAX;

/// Somebody from whom these kinds are withheld.
pub(crate) fn without_kinds(kinds: &[Kind]) -> Arc<Reader> {
    Arc::new(Reader::anonymous(Arc::new(Gates::new(kinds.iter().copied(), []))))
}

/// What a scan gives of a window, kinds left out.
pub(crate) fn scanned(store: &Store, filter: &Filter, without: &[Kind], now: u64) -> SortedSet {
    let mut items = Vec::new();
    let filters = std::slice::from_ref(filter);
    let mut scan =
        Scan::new(store, filters, ScanOptions::default(), &Reader::of_everything().into())
            .expect("a scan");
    let mut sink = |_, event: zeolite_proto::EventRef<'_>| {
        if !without.contains(&event.kind()) {
            items.push(Item { time: event.created_at(), id: event.id() });
        }
        true
    };
    scan.slice(Timestamp(now), SliceBudget::UNLIMITED, &mut sink).expect("a slice");
    SortedSet::new(items)
}

/// The set of a filter that must be built.
pub(crate) fn built(
    store: &Store,
    filter: &Filter,
    options: SetOptions<'_>,
    now: u64,
    budget: SliceBudget,
) -> Option<SortedSet> {
    let set = store.reconcile_set(filter, options).expect("a set");
    let ReconcileSet::Build(mut build) = set else { panic!("{filter:?} is kept") };
    loop {
        match build.slice(Timestamp(now), budget).expect("a slice") {
            BuildState::More => {}
            BuildState::Done(set) => return Some(set),
            BuildState::TooMany => return None,
        }
    }
}

/// Shows a view of a set that is kept.
pub(crate) fn with_view<T>(
    store: &Store,
    filter: &Filter,
    without: &[Kind],
    now: u64,
    look: impl FnOnce(&LiveView<'_>) -> T,
) -> T {
    let reader = without_kinds(without);
    let options = SetOptions { reader: &reader, items_max: UNBOUNDED };
    let set = store.reconcile_set(filter, options).expect("a set");
    let ReconcileSet::Live(live) = set else { panic!("{filter:?} is not kept") };
    look(&live.view(Timestamp(now)).expect("a view"))
}

/// The items from an edge on.
fn items_from<S: Set>(set: &S, from: &Edge, count: usize) -> Vec<Item>
where
    S::Error: std::fmt::Debug,
{
    let mut items = Vec::new();
    set.for_each(from, count, &mut |item| items.push(*item)).expect("a walk");
    items
}

/// The unfiltered set and a random window, with and without gated kinds, hold what a scan gives,
/// and answer every question as a sorted vector does.
pub(crate) fn assert_sets(store: &Store, now: u64, rng: &mut TestRng) {
    let everything = scanned(store, &Filter::default(), &[], now);
    let times: Vec<_> = everything.items().iter().map(|item| item.time.0).collect();
    let mut time = || {
        let near = times.choose(rng).map(|time| time + rng.random_range(0..3) - 1);
        near.filter(|_| rng.random_bool(0.7)).map(Timestamp)
    };
    let window = Filter { since: time(), until: time(), ..Filter::default() };
    for filter in [Filter::default(), window] {
        for without in [&[][..], &store.options().gated_kinds] {
            let expected = scanned(store, &filter, without, now);
            with_view(store, &filter, without, now, |view| assert_same(view, &expected, rng));
        }
    }
}

/// Both sets give the same answers.
pub(crate) fn assert_same(view: &LiveView<'_>, expected: &SortedSet, rng: &mut TestRng) {
    assert_eq!(view.len(), expected.len());
    assert_eq!(items_from(view, &Edge::START, view.len()), expected.items());
    let mut bounds: Vec<_> = (0..4).filter_map(|_| random_bound(expected.items(), rng)).collect();
    bounds.sort_unstable();
    bounds.push(Bound::INFINITY);
    let mut from = Edge::START;
    for bound in bounds {
        let Ok(there) = expected.seek(&Edge::START, &bound);
        let edge = view.seek(&from, &bound).expect("an edge");
        assert_eq!(edge, there);
        let count = rng.random_range(0..=from.count_to(&edge));
        let from_there = &expected.items()[from.index..][..count];
        assert_eq!(items_from(view, &from, count), from_there);
        from = edge;
    }
    if view.len() > 1 {
        let at = rng.random_range(1..view.len());
        let Ok(there) = expected.edge_at(at);
        assert_eq!(view.edge_at(at).expect("an edge"), there);
        let slack = rng.random_range(0..at.min(view.len() - at));
        let near = view.edge_near(at, slack).expect("an edge");
        assert!(near.index.abs_diff(at) <= slack, "{slack} from {at}: {near:?}");
        let Ok(there) = expected.seek(&Edge::START, &near.bound);
        assert_eq!(near, there);
    }
}

fn random_bound(items: &[Item], rng: &mut TestRng) -> Option<Bound> {
    let mut item = *items.choose(rng)?;
    match rng.random_range(0..4) {
        0 => return Some(Bound::at_time(Timestamp(item.time.0 + rng.random_range(0..2)))),
        1 => item.id.0[31] = item.id.0[31].wrapping_add(1),
        2 => item.id.0[rng.random_range(0..32)] = rng.random(),
        _ => {}
    }
    Some(Bound::at_item(&item))
}
