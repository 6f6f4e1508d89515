//! Random workloads against the oracle: a store must show exactly what a list would.

mod world;

use serde_json::Value;
use world::{World, in_oracle_terms, sets::assert_sets, sorted_ids};
use zeolite_proto::Kind;
use zeolite_store::{Durability, Options};
use zeolite_testkit::{
    Factory, OracleOutcome, OracleStore, Scheduler, TestRng, Universe, run_seeds,
};

use rand::RngExt;

const STEPS: usize = 120;

/// A head so small that flushes and purges go on all the time, or one that is never flushed.
fn options(rng: &mut TestRng) -> Options {
    Options {
        head_events_max: *[2, 8, 40, 1 << 18].get(rng.random_range(0..4)).expect("in range"),
        flush_keys_min: rng.random_range(1..20),
        purge_events_min: rng.random_range(1..3),
        durability: Durability::Fast,
        map_bytes: 1 << 30,
        bucket_items: *[1, 2, 5, 256].get(rng.random_range(0..4)).expect("in range"),
        archive: rng.random(),
        gated_kinds: if rng.random() { vec![Kind(1), Kind(3), Kind(30_023)] } else { Vec::new() },
        ..Options::default()
    }
}

fn is_kept_kind(event: &Value) -> bool {
    !(20_000..30_000).contains(&event["kind"].as_u64().expect("a kind"))
}

struct Model {
    world: World,
    oracle: OracleStore,
    universe: Universe,
    now: u64,
    /// Expired events were removed: the oracle cannot tell superseded from deleted any more.
    has_expired: bool,
}

impl Model {
    fn step(&mut self, scheduler: &mut Scheduler<'_>) {
        let step = scheduler.choose(&[
            ("admit", 12),
            ("commit", 8),
            ("idle", 4),
            ("query", 6),
            ("expire", 2),
            ("time", 1),
            ("reopen", 1),
            ("flush_all", 1),
        ]);
        match step {
            "admit" => self.admit(scheduler),
            "commit" => self.world.commit(scheduler.rng().random_range(0..4)),
            "idle" => self.world.commit(0),
            "query" => self.query(scheduler),
            "expire" => {
                self.world.expire(self.now, 2);
                self.has_expired = true;
            }
            "time" => self.now += 1,
            "reopen" => {
                self.world.commit_all();
                self.compare_archives();
                self.world.reopen();
            }
            "flush_all" => {
                self.world.commit_all();
                self.world.flush_all();
            }
            _ => unreachable!("all choices are above"),
        }
        self.compare();
    }

    fn admit(&mut self, scheduler: &mut Scheduler<'_>) {
        let count = scheduler.rng().random_range(0..6);
        let events: Vec<_> =
            (0..count).map(|_| self.universe.event(scheduler.rng())).filter(is_kept_kind).collect();
        let outcomes = self.world.admit(&events, self.now);
        assert_eq!(outcomes.len(), events.len());
        for (event, outcome) in events.iter().zip(outcomes) {
            scheduler.note(format!("{outcome:?} {event}"));
            let expected = self.oracle.publish(event, self.now);
            self.compare_outcomes(in_oracle_terms(outcome), expected, event);
        }
    }

    fn compare_outcomes(&self, found: OracleOutcome, expected: OracleOutcome, event: &Value) {
        use OracleOutcome::{Deleted, Superseded};
        let is_blurred = self.has_expired
            && matches!((found, expected), (Deleted | Superseded, Deleted | Superseded));
        assert!(is_blurred || found == expected, "{found:?}, expected {expected:?}: {event}");
    }

    fn query(&mut self, scheduler: &mut Scheduler<'_>) {
        let filters = self.universe.filters(scheduler.rng());
        let found = self.world.query(&filters, self.now);
        assert_eq!(found, self.oracle.query(&filters, self.now), "{filters:?}");
    }

    /// Once all is committed. What wipes have not come to yet does not show.
    fn compare_archives(&mut self) {
        let expected = match self.world.options().archive {
            true => self.oracle.archived(),
            false => Vec::new(),
        };
        assert_eq!(sorted_ids(self.world.archived()), expected);
    }

    fn compare(&mut self) {
        let expected = self.oracle.effective_set(self.now);
        assert_eq!(self.world.all(self.now), expected);
        let mut replayed = self.world.replay();
        // A replay gives expired events too, as long as they were not removed.
        assert!(replayed.iter().all(|id| self.oracle.get(id).is_some()), "nothing else");
        replayed.retain(|id| expected.contains(id));
        replayed.sort_unstable();
        let mut sorted = expected;
        sorted.sort_unstable();
        assert_eq!(replayed, sorted, "each stored event is replayed once");
    }
}

/// E-34, E-40 to E-53, cases 2 to 12, 44, 45: whatever happens in whatever order, the store shows
/// what the oracle shows, and its tables agree with one another.
#[test]
fn random_workloads_equal_the_oracle() {
    run_seeds("random_workloads_equal_the_oracle", 60, |rng| {
        let mut model = Model {
            world: World::new(options(rng)),
            oracle: OracleStore::new(&[Universe::OWN_URL]),
            universe: Universe::new(Factory::unsigned(rng.random())),
            now: Universe::now(rng),
            has_expired: false,
        };
        let mut scheduler = Scheduler::new(rng);
        for _ in 0..STEPS {
            model.step(&mut scheduler);
            assert_sets(model.world.store(), model.now, scheduler.rng());
        }
        model.world.commit_all();
        model.world.assert_clean();
        model.compare_archives();
        model.world.flush_all();
        model.compare_archives();
        model.world.assert_clean();
        model.compare();
        model.world.reopen();
        model.world.assert_clean();
        model.compare();
    });
}

/// The same events in another order and cut into other batches leave the same store behind.
#[test]
fn order_and_batches_do_not_matter() {
    use rand::seq::SliceRandom;
    run_seeds("order_and_batches_do_not_matter", 40, |rng| {
        let mut universe = Universe::new(Factory::unsigned(rng.random()));
        let now = Universe::now(rng);
        let mut events = universe.shuffled(30, rng);
        events.retain(is_kept_kind);
        let mut sets = Vec::new();
        for _ in 0..4 {
            events.shuffle(rng);
            let mut world = World::new(options(rng));
            let mut rest = &events[..];
            while !rest.is_empty() {
                let (batch, after) = rest.split_at(rng.random_range(1..=rest.len()));
                world.admit(batch, now);
                world.commit(rng.random_range(0..2));
                rest = after;
            }
            world.commit_all();
            world.assert_clean();
            sets.push(world.all(now));
        }
        assert!(sets.windows(2).all(|pair| pair[0] == pair[1]), "{sets:?}");
    });
}
