//! Reconciliation (NIP-77) as the side that answers.

use std::collections::HashSet;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use zeolite_proto::{EventId, Filter, Reader};
use zeolite_reconcile::{Bound, Edge, FrameLimit, Item, Set, respond};
use zeolite_store::{LiveSet, ReconcileSet, SetOptions, Store};

use crate::append::NOW;
use crate::corpus::Corpus;
use crate::initiators::{Asks, Ours, Theirs};
use crate::report::{Report, Target, median_us, thread_cpu_time};

/// What a relay's messages may have: 500 kB, as many as 15,000 ids.
const FRAME_BYTES: usize = 500_000;
/// What clients send, so that it goes through the limits of most relays.
const SMALL_FRAME_BYTES: usize = 60_000;
const LOOKS: usize = 2_000;
/// Sessions of which the middle one counts.
const RUNS: usize = 3;
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
    let identical = session(live, &mut Ours::new(items.to_vec(), FRAME_BYTES), FRAME_BYTES);
    assert!(identical.have.is_empty() && identical.need.is_empty());
    assert_eq!(identical.answers.len(), 1);
    let first = identical.answers[0];
    report.row("reconcile: identical sets, one answer", ms(first), "ms", Target::AtMost(5.0));
    let slices = |at: usize| (at * SLICES / items.len()).is_multiple_of(5);
    let (peer, lacked) = others(items, slices);
    let in_slices = session(live, &mut Ours::new(peer, FRAME_BYTES), FRAME_BYTES);
    in_slices.assert_exact(&lacked);
    in_slices.report(report, "20 % each way, in slices");
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (peer, lacked) = others(items, |_| rng.random_ratio(1, 5));
    for (name, client, server) in [
        ("20 % each way at random, 500 kB frames", FRAME_BYTES, FRAME_BYTES),
        ("20 % at random, 60 kB against 500 kB", SMALL_FRAME_BYTES, FRAME_BYTES),
        ("20 % at random, 60 kB frames", SMALL_FRAME_BYTES, SMALL_FRAME_BYTES),
    ] {
        let ask = || session(live, &mut Ours::new(peer.clone(), client), server);
        median(ask, &lacked).report(report, name);
    }
    let ask = || session(live, &mut Theirs::new(peer.clone(), SMALL_FRAME_BYTES), FRAME_BYTES);
    median(ask, &lacked).report(report, "the same, negentropy crate, 60 against 500 kB");
}

fn median(ask: impl Fn() -> Session, lacked: &HashSet<EventId>) -> Session {
    let mut sessions: Vec<_> = (0..RUNS).map(|_| ask()).collect();
    sessions.iter().for_each(|session| session.assert_exact(lacked));
    sessions.sort_by_key(Session::total);
    sessions.swap_remove(RUNS / 2)
}

/// The items of a peer that has other ids at some places, and the ids that it lacks.
fn others(
    items: &[Item],
    mut is_lacking: impl FnMut(usize) -> bool,
) -> (Vec<Item>, HashSet<EventId>) {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (mut lacked, mut theirs) = (HashSet::new(), items.to_vec());
    for (_, item) in theirs.iter_mut().enumerate().filter(|(at, _)| is_lacking(*at)) {
        lacked.insert(item.id);
        item.id = EventId(rng.random());
    }
    theirs.sort_unstable();
    (theirs, lacked)
}

#[derive(Default)]
struct Session {
    answers: Vec<Duration>,
    bytes: usize,
    have: HashSet<EventId>,
    need: HashSet<EventId>,
}

impl Session {
    fn total(&self) -> Duration {
        self.answers.iter().sum()
    }

    /// The peer has as many others as it lacks.
    fn assert_exact(&self, lacked: &HashSet<EventId>) {
        assert_eq!(self.need, *lacked);
        assert_eq!(self.have.len(), lacked.len());
    }

    fn report(&self, report: &mut Report, name: &'static str) {
        report.row(name, ms(self.total()), "ms", Target::AtMost(400.0));
        report.row("- rounds", self.answers.len() as f64, "", Target::None);
        report.row("- both ways", self.bytes as f64 / 1e6, "MB", Target::None);
        let slowest = self.answers.iter().max().unwrap();
        report.row("- slowest answer", ms(*slowest), "ms", Target::None);
    }
}

/// Each message is answered from a view of its own, as a relay does.
fn session(live: &LiveSet, peer: &mut dyn Asks, server_bytes: usize) -> Session {
    let frame = FrameLimit::new(server_bytes).unwrap();
    let mut session = Session::default();
    let mut next = Some(peer.start());
    while let Some(message) = next {
        let (answer, time) = timed(|| respond(&live.view(NOW).unwrap(), &message, frame).unwrap());
        session.answers.push(time);
        session.bytes += message.len() + answer.len();
        let (following, have, need) = peer.step(&answer);
        session.have.extend(have);
        session.need.extend(need);
        next = following;
    }
    session
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
