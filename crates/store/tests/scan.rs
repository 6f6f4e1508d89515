//! Scans of a real store against a plain model, while the store changes between their slices.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

#[path = "support/forge.rs"]
mod forge;

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use forge::forged;
use rand::RngExt;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};
use zeolite_proto::{
    Event, EventId, EventRef, Filter, Gates, Kind, PubKey, Reader, Seq, Timestamp, Verified,
};
use zeolite_store::{
    Admitter, Committer, Count, Options, Outcome, PendingBatch, Problem, Scan, ScanOptions,
    ScanState, SliceBudget, Store, count, open,
};
use zeolite_testkit::{TestRng, oracle_matches, oracle_may_read, run_seeds};

/// A store, its writers, and everything that was ever put into it.
struct World {
    store: Store,
    admitter: Admitter,
    committer: Committer,
    pending: Vec<PendingBatch>,
    stored: Vec<(Seq, Event, Value)>,
    now: u64,
    _dir: tempfile::TempDir,
}

/// Few seconds with many events each, or many with few.
#[derive(Clone, Copy)]
struct Shape {
    seconds: u64,
    authors: u8,
}

impl World {
    fn new(rng: &mut TestRng) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            head_events_max: *[16, 200, 1 << 18].choose(rng).unwrap(),
            durability: zeolite_store::Durability::Fast,
            ..Options::default()
        };
        let (store, admitter, committer) = open(dir.path(), options).unwrap();
        let (pending, stored) = (Vec::new(), Vec::new());
        Self { store, admitter, committer, pending, stored, now: 1_000, _dir: dir }
    }

    fn admit(&mut self, events: Vec<Event>) {
        let verified = events.iter().cloned().map(Verified::trusted).collect();
        let admitted = self.admitter.admit(verified, Timestamp(self.now)).unwrap();
        for (event, outcome) in std::iter::zip(events, &admitted.outcomes) {
            if let Outcome::Stored(seq) = outcome {
                let json = serde_json::from_slice(event.json()).unwrap();
                self.stored.push((*seq, event, json));
            }
        }
        self.pending.push(admitted.pending);
    }

    /// Something that happens between two slices.
    fn disturb(&mut self, rng: &mut TestRng, shape: Shape) {
        match rng.random_range(0..8) {
            0 | 1 => {
                let events = (0..rng.random_range(1..40)).map(|_| event(rng, shape)).collect();
                self.admit(events);
            }
            2 if !self.stored.is_empty() => {
                let count = rng.random_range(1..20);
                let mut seqs: Vec<_> =
                    (0..count).map(|_| self.stored.choose(rng).unwrap().0).collect();
                seqs.sort_unstable();
                seqs.dedup();
                let removed = self.admitter.remove(&seqs).unwrap();
                self.pending.push(removed.pending);
            }
            3..=5 => self.committer.commit(std::mem::take(&mut self.pending)).unwrap(),
            6 => {
                self.committer.commit(std::mem::take(&mut self.pending)).unwrap();
                self.committer.flush_all().unwrap();
            }
            _ => self.now += rng.random_range(0..3),
        }
    }

    /// Everything alive and visible, in the order of answers.
    fn alive(&self) -> Vec<&(Seq, Event, Value)> {
        let snapshot = self.store.snapshot().unwrap();
        let mut alive: Vec<_> = self
            .stored
            .iter()
            .filter(|(seq, event, _)| {
                let found = snapshot.by_id(&event.view().id()).unwrap();
                let is_expired = expiration(event).is_some_and(|at| self.now >= at);
                found.is_some_and(|(found, _)| found == *seq) && !is_expired
            })
            .collect();
        alive.sort_by_key(|(_, event, _)| place(event));
        alive
    }
}

fn expiration(event: &Event) -> Option<u64> {
    event.view().expiration().map(|at| at.0)
}

fn place(event: &Event) -> (Reverse<u64>, EventId) {
    (Reverse(event.view().created_at().0), event.view().id())
}

fn event(rng: &mut TestRng, shape: Shape) -> Event {
    let mut id = [0; 32];
    // One in four shares its first four bytes with others.
    if rng.random_ratio(3, 4) {
        id[..4].copy_from_slice(&rng.random::<[u8; 4]>());
    }
    id[4..12].copy_from_slice(&rng.random::<[u8; 8]>());
    let mut tags = Vec::new();
    for _ in 0..rng.random_range(0..4) {
        tags.push((*["t", "e", "d"].choose(rng).unwrap(), *TAG_VALUES.choose(rng).unwrap()));
    }
    let recipient = PubKey([rng.random_range(0..LOGINS); 32]).to_string();
    if rng.random_ratio(1, 3) {
        tags.push(("p", &recipient));
    }
    if rng.random_ratio(1, 12) {
        tags.push(("expiration", ["1001", "1003", "1010", "9999"].choose(rng).unwrap()));
    }
    // Two replaceable kinds and an addressable one, so that versions go while scans run.
    let kind = *[1, 1, 1, 1, 7, 7, 9, 0, 3, 4, 1059, 30_023].choose(rng).unwrap();
    let author = rng.random_range(0..shape.authors);
    forged(id, author, rng.random_range(0..shape.seconds), kind, &tags)
}

/// Keys of those who read.
const LOGINS: u8 = 4;

/// Somebody who reads, and the same for the oracle.
struct Guest {
    reader: Arc<Reader>,
    gated_kinds: Vec<u64>,
    logins: Vec<String>,
}

impl Guest {
    fn new(rng: &mut TestRng) -> Self {
        let mut any = |of: &[u16]| -> Vec<u16> {
            let taken = of.iter().filter(|_| rng.random());
            taken.copied().collect()
        };
        let (kinds, keys) = (any(&[1, 4, 4, 1059, 30_023]), any(&[0, 1, 2, 3]));
        let keys: Vec<_> = keys.iter().map(|key| PubKey([*key as u8; 32])).collect();
        let anonymous =
            Reader::anonymous(Arc::new(Gates::new(kinds.iter().copied().map(Kind), [])));
        let reader = keys.iter().fold(anonymous, |reader, key| reader.with_login(*key));
        let logins = keys.iter().map(ToString::to_string).collect();
        Self {
            reader: reader.into(),
            gated_kinds: kinds.into_iter().map(u64::from).collect(),
            logins,
        }
    }

    fn may_read(&self, event: &Value) -> bool {
        oracle_may_read(event, &self.gated_kinds, &self.logins)
    }
}

const TAG_VALUES: [&str; 5] = ["", "a", "b", "ab", "rare"];

fn filter(rng: &mut TestRng, world: &World, shape: Shape) -> Value {
    let mut filter = json!({});
    if rng.random_ratio(1, 8) && !world.stored.is_empty() {
        let count = rng.random_range(0..40);
        let ids = (0..count).map(|_| world.stored.choose(rng).unwrap().1.view().id().to_string());
        filter["ids"] = ids.collect();
    }
    if rng.random_ratio(1, 3) {
        let count = *[0, 1, 1, 2, 5, 40].choose(rng).unwrap();
        let authors = (0..count).map(|_| PubKey([rng.random_range(0..60); 32]).to_string());
        filter["authors"] = authors.collect();
    }
    if rng.random_ratio(1, 3) {
        let kinds = (0..rng.random_range(0..5))
            .map(|_| [1, 7, 9, 0, 3, 30_023, 4, 1059, 2][rng.random_range(0..9)]);
        filter["kinds"] = kinds.collect();
    }
    for letter in ["t", "d"] {
        if rng.random_ratio(1, 6) {
            let sign = if rng.random_ratio(1, 4) { "&" } else { "#" };
            let values = (0..rng.random_range(0..4)).map(|_| *TAG_VALUES.choose(rng).unwrap());
            filter[format!("{sign}{letter}")] = values.collect();
        }
    }
    for bound in ["since", "until"] {
        if rng.random_ratio(1, 6) {
            filter[bound] = rng.random_range(0..=shape.seconds).into();
        }
    }
    if rng.random_ratio(2, 3) {
        // Around the sizes of refills, where pages end.
        let limit = *[0, 1, 2, 7, 8, 9, 20, 63, 64, 65, 500, 5_000].choose(rng).unwrap();
        filter["limit"] = limit.into();
    }
    filter
}

/// The plain way to go on with an answer.
struct Model<'g> {
    guest: &'g Guest,
    filters: Vec<Value>,
    left: Vec<u64>,
    last: Option<(Reverse<u64>, EventId)>,
    ceiling: Seq,
}

impl<'g> Model<'g> {
    fn new(guest: &'g Guest, filters: &[Value], ceiling: Seq) -> Self {
        let left = filters.iter().map(|f| f["limit"].as_u64().unwrap_or(u64::MAX)).collect();
        Self { guest, filters: filters.to_vec(), left, last: None, ceiling }
    }

    /// The next `max` events of what is alive.
    fn next(&mut self, alive: &[&(Seq, Event, Value)], max: usize) -> Vec<Seq> {
        let mut given = Vec::new();
        for (seq, event, json) in alive {
            let is_due = *seq <= self.ceiling && self.last.is_none_or(|last| place(event) > last);
            if !is_due || given.len() == max || !self.guest.may_read(json) {
                continue;
            }
            let mut is_wanted = false;
            for (filter, left) in std::iter::zip(&self.filters, &mut self.left) {
                if *left > 0 && oracle_matches(json, filter) {
                    *left -= 1;
                    is_wanted = true;
                }
            }
            if is_wanted {
                given.push(*seq);
                self.last = Some(place(event));
            }
        }
        given
    }

    /// All that any filter matches.
    fn matches(&self, alive: &[&(Seq, Event, Value)]) -> usize {
        let any = |json: &Value| self.filters.iter().any(|filter| oracle_matches(json, filter));
        let shown = alive.iter().filter(|(_, _, json)| self.guest.may_read(json));
        shown.filter(|(seq, _, json)| *seq <= self.ceiling && any(json)).count()
    }
}

fn parse(filters: &[Value]) -> Vec<Filter> {
    filters.iter().map(|filter| Filter::from_json(&filter.to_string()).unwrap()).collect()
}

fn slice(scan: &mut Scan, world: &World, events_max: usize) -> (Vec<Seq>, ScanState) {
    let mut given = Vec::new();
    let budget = SliceBudget { events_max, time_max: Duration::MAX };
    let mut sink = |seq, _: EventRef<'_>| {
        given.push(seq);
        true
    };
    let state = scan.slice(Timestamp(world.now), budget, &mut sink).unwrap();
    (given, state)
}

/// A count, whole or in the smallest slices.
fn counted(rng: &mut TestRng, world: &World, guest: &Guest, filters: &[Filter]) -> u64 {
    let (store, now) = (&world.store, Timestamp(world.now));
    if rng.random() {
        return count(store, filters, &guest.reader, now, &mut |_| true).unwrap().unwrap();
    }
    let mut count = Count::new(store, filters, &guest.reader).unwrap();
    let budget = SliceBudget { events_max: usize::MAX, time_max: Duration::ZERO };
    loop {
        if let Some(total) = count.slice(Timestamp(world.now), budget).unwrap() {
            return total;
        }
    }
}

/// A whole scan while nothing else happens: the answer, its completeness and the count.
fn check_still(rng: &mut TestRng, world: &World, filters: &[Value]) {
    let (parsed, guest) = (parse(filters), Guest::new(rng));
    let options = ScanOptions::default();
    let mut scan = Scan::new(&world.store, &parsed, options, &guest.reader).unwrap();
    let mut model = Model::new(&guest, filters, scan.ceiling());
    let alive = world.alive();
    let expected = model.next(&alive, usize::MAX);
    let (mut given, mut state) = (Vec::new(), ScanState::More);
    while state == ScanState::More {
        let (more, next) = slice(&mut scan, world, rng.random_range(1..200));
        given.extend(more);
        state = next;
    }
    assert_eq!(given, expected, "{filters:?} {:?}", scan.explain());
    let matches = model.matches(&alive);
    let complete = given.len() == matches;
    assert_eq!(state, ScanState::Done { complete }, "{filters:?}");
    assert_eq!(counted(rng, world, &guest, &parsed), matches as u64, "{filters:?}");
    let withheld = |(_, _, json): &&(Seq, Event, Value)| {
        !guest.may_read(json) && filters.iter().any(|filter| oracle_matches(json, filter))
    };
    if filters.iter().all(|filter| filter["limit"].is_null()) {
        assert_eq!(
            scan.withheld().any(|withheld| withheld),
            alive.iter().copied().any(|one| withheld(&one)),
            "{filters:?}"
        );
    }
}

const DISTURBED_SLICES: usize = 12;

/// A scan in slices between which the store changes.
fn check_disturbed(rng: &mut TestRng, world: &mut World, filters: &[Value], shape: Shape) {
    let (guest, options) = (Guest::new(rng), ScanOptions::default());
    let mut scan = Scan::new(&world.store, &parse(filters), options, &guest.reader).unwrap();
    let mut model = Model::new(&guest, filters, scan.ceiling());
    let mut seen = HashSet::new();
    for slices in 0.. {
        let cut = *[1, 3, 8, 50, 300].choose(rng).unwrap();
        // What comes after the first slices differs in nothing but its length.
        let events_max = if slices < DISTURBED_SLICES { cut } else { usize::MAX };
        let (given, state) = slice(&mut scan, world, events_max);
        let expected = model.next(&world.alive(), events_max);
        assert_eq!(given, expected, "{filters:?} {:?}", scan.explain());
        assert!(given.iter().all(|seq| seen.insert(*seq)), "an event was given twice");
        if state != ScanState::More {
            return;
        }
        for _ in 0..rng.random_range(0..4) {
            world.disturb(rng, shape);
        }
    }
}

/// R01-70..82, R40-03, R45-01, R67-02, E-20..22, cases 30, 33, 35, 39.
#[test]
fn scans_give_what_the_model_gives() {
    run_seeds("scans_give_what_the_model_gives", 60, |rng| {
        let mut world = World::new(rng);
        let shape = Shape {
            seconds: *[1, 3, 50, 900].choose(rng).unwrap(),
            authors: *[1, 5, 50].choose(rng).unwrap(),
        };
        for _ in 0..rng.random_range(1..30) {
            let events = (0..rng.random_range(0..80)).map(|_| event(rng, shape)).collect();
            world.admit(events);
            world.disturb(rng, shape);
        }
        for _ in 0..12 {
            let filters: Vec<_> =
                (0..rng.random_range(1..4)).map(|_| filter(rng, &world, shape)).collect();
            check_still(rng, &world, &filters);
            check_disturbed(rng, &mut world, &filters, shape);
        }
        world.committer.commit(std::mem::take(&mut world.pending)).unwrap();
        let report = world.store.check(&mut |_| ()).unwrap();
        // Forged ids are no hashes; besides that, nothing may be wrong.
        let is_forgery = |problem: &Problem| matches!(problem, Problem::Damaged { .. });
        assert_eq!(report.problems_total, report.events, "{report:?}");
        assert!(report.problems.iter().all(is_forgery), "{report:?}");
    });
}

/// R01-76: five thousand events of one second, part of them in the head, are given in the order of
/// their ids, whatever the limit cuts.
#[test]
fn a_dense_second_is_in_order() {
    run_seeds("a_dense_second_is_in_order", 2, |rng| {
        let mut world = World::new(rng);
        let shape = Shape { seconds: 1, authors: 3 };
        for _ in 0..10 {
            let events = (0..500).map(|_| event(rng, shape)).collect();
            world.admit(events);
            world.disturb(rng, shape);
        }
        for limit in [1, 255, 256, 257, 1_023, 1_024, 1_025, 4_000, 9_999] {
            for filter in [
                json!({"limit": limit}),
                json!({"limit": limit, "kinds": [1]}),
                json!({"limit": limit, "until": 0, "since": 0, "#t": ["a", "b"]}),
            ] {
                check_still(rng, &world, &[filter]);
            }
        }
    });
}
