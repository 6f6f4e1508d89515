//! The index against the naive loop over an oracle that shares no code with the product.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};
use zeolite_filter_index::{FilterIndex, Handle};
use zeolite_proto::{Event, EventParser, Filter};
use zeolite_testkit::{Factory, TestRng, Universe, oracle_matches, run_seeds};

/// A subscriber as the naive loop keeps it.
struct Standing {
    handle: Handle,
    number: u32,
    filters: Vec<Value>,
}

struct World {
    index: FilterIndex<u32>,
    standing: Vec<Standing>,
    gone: Vec<Handle>,
    next: u32,
    universe: Universe,
    parser: EventParser,
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            index: FilterIndex::new(),
            standing: Vec::new(),
            gone: Vec::new(),
            next: 0,
            universe: Universe::new(Factory::unsigned(seed)),
            parser: EventParser::new(),
        }
    }

    fn insert(&mut self, filters: Vec<Value>) {
        let parsed: Vec<Filter> = filters
            .iter()
            .map(|filter| Filter::from_json(&filter.to_string()).expect("a legal filter"))
            .collect();
        let handle = self.index.insert(parsed, self.next);
        self.standing.push(Standing { handle, number: self.next, filters });
        self.next += 1;
    }

    fn remove(&mut self, at: usize) {
        let standing = self.standing.swap_remove(at);
        assert_eq!(self.index.remove(standing.handle), Some(standing.number));
        self.gone.push(standing.handle);
    }

    /// A handle that was removed stays without effect, whoever has its place.
    fn remove_again(&mut self, rng: &mut TestRng) {
        if let Some(gone) = self.gone.choose(rng) {
            assert_eq!(self.index.remove(*gone), None);
        }
    }

    fn check(&mut self, json: &Value) {
        let event = self.parser.parse(&json.to_string()).expect("a legal event");
        let wanted: BTreeSet<u32> = self
            .standing
            .iter()
            .filter(|standing| standing.filters.iter().any(|f| oracle_matches(json, f)))
            .map(|standing| standing.number)
            .collect();
        assert_eq!(self.matches(&event), wanted, "{json}");
        let candidates = self.candidates(&event);
        assert!(candidates.is_superset(&wanted), "{candidates:?} of {wanted:?} for {json}");
        assert_eq!(self.index.len(), self.standing.len());
    }

    fn matches(&mut self, event: &Event) -> BTreeSet<u32> {
        let mut found = Vec::new();
        self.index.matches(&event.view(), |handle, number| found.push((handle, *number)));
        self.once_each(found)
    }

    fn candidates(&mut self, event: &Event) -> BTreeSet<u32> {
        let mut found = Vec::new();
        self.index.candidates(&event.view(), |handle, number| found.push((handle, *number)));
        self.once_each(found)
    }

    fn once_each(&self, found: Vec<(Handle, u32)>) -> BTreeSet<u32> {
        let numbers: BTreeSet<u32> = found.iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers.len(), found.len(), "reported twice");
        assert!(found.iter().all(|(handle, number)| self.index.get(*handle) == Some(number)));
        numbers
    }

    /// Filters of the universe, some of them with a list made so long that the choice of the
    /// dimension changes.
    fn filters(&mut self, rng: &mut TestRng) -> Vec<Value> {
        let mut filters = self.universe.filters(rng);
        for filter in &mut filters {
            let (member, filler): (_, Vec<Value>) = match rng.random_range(0..12) {
                0 => ("kinds", (100..180).map(Value::from).collect()),
                1 => ("authors", (0..40).map(|n| format!("{n:064x}").into()).collect()),
                2 => ("#t", (0..9).map(|n| n.to_string().into()).collect()),
                _ => continue,
            };
            let mut list = filter[member].as_array().cloned().unwrap_or_default();
            list.extend(filler);
            filter[member] = list.into();
        }
        filters
    }
}

/// R01-70 to R01-75, E-20 to E-28, cases 1, 33 and 50: under random inserts, replacements and
/// removals each lookup reports exactly the subscribers that want the event, each once.
#[test]
fn matches_equal_the_naive_loop() {
    run_seeds("matches_equal_the_naive_loop", 60, |rng| {
        let mut world = World::new(1);
        for _ in 0..200 {
            match rng.random_range(0..10) {
                0..4 => {
                    let filters = world.filters(rng);
                    world.insert(filters);
                }
                4..6 if !world.standing.is_empty() => {
                    let at = rng.random_range(0..world.standing.len());
                    world.remove(at);
                    world.remove_again(rng);
                }
                _ => {
                    let event = world.universe.event(rng);
                    world.check(&event);
                }
            }
        }
        while let Some(last) = world.standing.len().checked_sub(1) {
            world.remove(rng.random_range(0..=last));
            let event = world.universe.event(rng);
            world.check(&event);
        }
    });
}

/// Events with very many tags, most of them several times, against filters on those tags.
#[test]
fn crowded_events_are_found_by_every_tag() {
    run_seeds("crowded_events_are_found_by_every_tag", 5, |rng| {
        let mut factory = Factory::unsigned(2);
        let mut world = World::new(2);
        for number in 0..400 {
            let values: Vec<String> =
                (0..3).map(|_| rng.random_range(0..3000).to_string()).collect();
            let member = ["#t", "#T", "&t", "#r"][number % 4];
            let mut filter = json!({});
            filter[member] = values[..rng.random_range(1..=3)].into();
            if rng.random_ratio(1, 3) {
                filter["#h"] = json!(["room", values[0]]);
            }
            world.insert(vec![filter]);
        }
        for _ in 0..5 {
            let tags: Vec<Value> = (0..2000)
                .map(|_| {
                    let letter = ["t", "T", "r", "h"][rng.random_range(0..4)];
                    json!([letter, rng.random_range(0..3000).to_string()])
                })
                .chain([json!(["h", "room"])])
                .collect();
            world.check(&factory.draft(0).tags(tags.into()).build());
        }
    });
}
