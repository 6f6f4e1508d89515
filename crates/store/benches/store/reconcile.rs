//! Reconciliation (NIP-77) as the side that answers.

use std::collections::HashSet;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use zeolite_proto::{EventId, Filter};
use zeolite_reconcile::{Bound, Edge, FrameLimit, Initiator, Item, Set, SortedSet, respond};
use zeolite_store::{LiveSet, ReconcileSet, SetOptions, Store};

use crate::append::NOW;
use crate::corpus::Corpus;
use crate::report::{Report, Target, median_us, thread_cpu_time};

/// What a relay's messages may have: 500 kB, as many as 15,000 ids.
const FRAME_BYTES: usize = 500_000;
const LOOKS: usize = 2_000;
/// Of the events of either side, the other one lacks this share.
const MISSING_SHARE: f64 = 0.2;

pub fn run(report: &mut Report, corpus: &Corpus, store: &Store) {
    let options = SetOptions { without_kinds: &[], items_max: usize::MAX };
    let set = store.reconcile_set(&Filter::default(), options).unwrap();
    let ReconcileSet::Live(live) = set else { panic!("everything is a set that is kept") };
    let mut items: Vec<_> = corpus.events.iter().map(|event| item(event.view())).collect();
    look(report, &live, &items);
    sessions(report, &live, &mut items);
}

fn item(event: zeolite_proto::EventRef<'_>) -> Item {
    Item { time: event.created_at(), id: event.id() }
}

/// Single questions to a view.
fn look(report: &mut Report, live: &LiveSet, items: &[Item]) {
    let us = median_us(LOOKS, |_| drop(live.view(NOW).unwrap()));
    report.row("view of the kept set", us, "us", Target::None);
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let view = live.view(NOW).unwrap();
    assert_eq!(view.len(), items.len());
    let places: Vec<_> = (0..LOOKS).map(|_| rng.random_range(1..items.len())).collect();
    let us = median_us(LOOKS, |run| {
        let bound = Bound::at_item(&items[places[run]]);
        assert_eq!(view.seek(&Edge::START, &bound).unwrap().index, places[run]);
    });
    report.row("- seek of an item", us, "us", Target::None);
    let us = median_us(LOOKS, |run| {
        assert_eq!(view.edge_at(places[run]).unwrap().index, places[run]);
    });
    report.row("- edge between two items", us, "us", Target::None);
    let mut met = 0;
    let visit = &mut |item: &Item| {
        assert_eq!(item.id, items[met].id);
        met += 1;
    };
    let (_, time) = timed(|| view.for_each(&Edge::START, items.len(), visit).unwrap());
    let per_item = time.as_secs_f64() * 1e9 / items.len() as f64;
    report.row("- walk over all items", per_item, "ns/item", Target::None);
}

/// Whole sessions, with the time that the answers took.
fn sessions(report: &mut Report, live: &LiveSet, items: &mut Vec<Item>) {
    let same = SortedSet::new(items.clone());
    let identical = session(live, &same);
    assert!(identical.have.is_empty() && identical.need.is_empty());
    let (first, all) = (identical.answers[0], identical.total());
    report.row("reconcile: first answer", ms(first), "ms", Target::AtMost(5.0));
    report.row("reconcile: identical sets", ms(all), "ms", Target::AtMost(5.0));
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut lacked = HashSet::new();
    for item in items.iter_mut() {
        if rng.random_bool(MISSING_SHARE) {
            lacked.insert(item.id);
            item.id = EventId(rng.random());
        }
    }
    let theirs = SortedSet::new(std::mem::take(items));
    let differing = session(live, &theirs);
    assert_eq!(differing.need, lacked);
    assert_eq!(differing.have.len(), lacked.len());
    let (rounds, all) = (differing.answers.len() as f64, differing.total());
    report.row("reconcile: 20 % each way", ms(all), "ms", Target::AtMost(400.0));
    report.row("- messages", rounds, "", Target::None);
    report.row(
        "- slowest answer",
        ms(*differing.answers.iter().max().unwrap()),
        "ms",
        Target::None,
    );
}

#[derive(Default)]
struct Session {
    answers: Vec<Duration>,
    have: HashSet<EventId>,
    need: HashSet<EventId>,
}

impl Session {
    fn total(&self) -> Duration {
        self.answers.iter().sum()
    }
}

/// Each message is answered from a view of its own, as a relay does.
fn session(live: &LiveSet, theirs: &SortedSet) -> Session {
    let frame = FrameLimit::new(FRAME_BYTES).unwrap();
    let mut initiator = Initiator::new(frame);
    let mut session = Session::default();
    let Ok(mut message) = initiator.start(theirs);
    loop {
        let (answer, time) = timed(|| respond(&live.view(NOW).unwrap(), &message, frame).unwrap());
        session.answers.push(time);
        let step = initiator.step(theirs, &answer).unwrap();
        session.have.extend(step.have);
        session.need.extend(step.need);
        match step.next {
            Some(next) => message = next,
            None => return session,
        }
    }
}

/// The processor time that some work takes: other programs may run beside it.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let started = thread_cpu_time();
    let result = work();
    (result, thread_cpu_time() - started)
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
