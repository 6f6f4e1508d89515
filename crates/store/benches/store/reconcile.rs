//! Reconciliation (NIP-77) as the side that answers.

use std::collections::HashSet;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use zeolite_proto::{EventId, Filter, Reader};
use zeolite_reconcile::{Bound, Edge, FrameLimit, Initiator, Item, Set, SortedSet, respond};
use zeolite_store::{LiveSet, ReconcileSet, SetOptions, Store};

use crate::append::NOW;
use crate::corpus::Corpus;
use crate::report::{Report, Target, median_us, thread_cpu_time};

/// What a relay's messages may have: 500 kB, as many as 15,000 ids.
const FRAME_BYTES: usize = 500_000;
const LOOKS: usize = 2_000;
/// Slices of time, of which the peer has other events in every fifth.
const SLICES: usize = 50;

pub fn run(report: &mut Report, corpus: &Corpus, store: &Store) {
    let reader = Reader::of_everything().into();
    let options = SetOptions { reader: &reader, items_max: usize::MAX };
    let set = store.reconcile_set(&Filter::default(), options).unwrap();
    let ReconcileSet::Live(live) = set else { panic!("everything is a set that is kept") };
    let items: Vec<_> = corpus.events.iter().map(|event| item(event.view())).collect();
    look(report, &live, &items);
    sessions(report, &live, &items);
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
fn sessions(report: &mut Report, live: &LiveSet, items: &[Item]) {
    let same = SortedSet::new(items.to_vec());
    let identical = session(live, &same);
    assert!(identical.have.is_empty() && identical.need.is_empty());
    let (first, all) = (identical.answers[0], identical.total());
    report.row("reconcile: first answer", ms(first), "ms", Target::AtMost(5.0));
    report.row("reconcile: identical sets", ms(all), "ms", Target::AtMost(5.0));
    let slices = |at: usize| (at * SLICES / items.len()).is_multiple_of(5);
    let in_slices = differ(live, items, slices);
    report.row(
        "reconcile: 20 % each way, in slices",
        ms(in_slices.total()),
        "ms",
        Target::AtMost(400.0),
    );
    report.row("- messages", in_slices.answers.len() as f64, "", Target::None);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let at_random = differ(live, items, |_| rng.random_ratio(1, 5));
    report.row("reconcile: 20 % each way, at random", ms(at_random.total()), "ms", Target::None);
    report.row("- messages", at_random.answers.len() as f64, "", Target::None);
    let slowest = at_random.answers.iter().max().unwrap();
    report.row("- slowest answer", ms(*slowest), "ms", Target::None);
}

/// A session with a peer that has other ids at some places.
fn differ(live: &LiveSet, items: &[Item], mut is_lacking: impl FnMut(usize) -> bool) -> Session {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (mut lacked, mut theirs) = (HashSet::new(), items.to_vec());
    for item in
        theirs.iter_mut().enumerate().filter(|(at, _)| is_lacking(*at)).map(|(_, item)| item)
    {
        lacked.insert(item.id);
        item.id = EventId(rng.random());
    }
    let session = session(live, &SortedSet::new(theirs));
    assert_eq!(session.need, lacked);
    assert_eq!(session.have.len(), lacked.len());
    session
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
