//! Random events and filters from a universe so small that everything collides: replacements,
//! deletions before and after their targets, ties, vanish requests and expiry all the time.

use rand::RngExt;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use crate::TestRng;
use crate::factory::{Draft, Factory};

/// The first second in which events of a universe are made.
const START: u64 = 1_700_000_000;
/// The number of different seconds.
const SECONDS: u64 = 8;
const AUTHORS: usize = 3;
/// Events that wait to be handed out.
const WITHHELD: usize = 5;
const TOPICS: [&str; 4] = ["red", "green", "blue", ""];
const NAMES: [&str; 3] = ["", "one", "two:three"];

/// A source of interesting events and filters. Equal generators give equal events.
pub struct Universe {
    factory: Factory,
    made: Vec<Value>,
    withheld: Vec<Value>,
}

impl Universe {
    /// The URL by which vanish requests of this universe name the relay under test.
    pub const OWN_URL: &'static str = "wss://relay.example";

    /// A universe whose events this factory makes.
    pub fn new(factory: Factory) -> Self {
        Self { factory, made: Vec::new(), withheld: Vec::new() }
    }

    /// A `now` at which some expirations lie in the past and some in the future.
    pub fn now(rng: &mut TestRng) -> u64 {
        START + rng.random_range(0..SECONDS + 4)
    }

    /// All events made so far, some of which may not have been handed out yet.
    pub fn made(&self) -> &[Value] {
        &self.made
    }

    /// The next event. Some come long after they were made, and so after events that name them;
    /// every tenth or so is a repetition.
    pub fn event(&mut self, rng: &mut TestRng) -> Value {
        if rng.random_ratio(1, 10)
            && let Some(again) = self.made.choose(rng)
        {
            return again.clone();
        }
        while self.withheld.len() < WITHHELD {
            let event = self.fresh_event(rng);
            self.withheld.push(event);
        }
        self.withheld.swap_remove(rng.random_range(0..WITHHELD))
    }

    /// `count` different events in random order, so that requests may come before their targets.
    pub fn shuffled(&mut self, count: usize, rng: &mut TestRng) -> Vec<Value> {
        use rand::seq::SliceRandom;
        let mut events: Vec<_> = (0..count).map(|_| self.fresh_event(rng)).collect();
        events.shuffle(rng);
        events
    }

    fn fresh_event(&mut self, rng: &mut TestRng) -> Value {
        let kind =
            *[0, 0, 1, 1, 1, 5, 5, 5, 7, 62, 1059, 1059, 10_002, 20_001, 30_023, 30_023, 30_023]
                .choose(rng)
                .expect("not empty");
        let author = rng.random_range(0..AUTHORS);
        let tags = match kind {
            5 => self.deletion_tags(author, rng),
            62 => vanish_tags(rng),
            1059 => vec![json!(["p", self.factory.pubkey(rng.random_range(0..AUTHORS))])],
            30_023 => address_tags(rng),
            _ => self.note_tags(rng),
        };
        // Vanish requests sweep everything: most are early, so that something is left.
        let second = if kind == 62 { rng.random_range(0..3) } else { rng.random_range(0..SECONDS) };
        let draft = self.factory.draft(author).kind(kind).at(START + second);
        let draft = draft.tags(tags.into()).content(&format!("{:x}", rng.random::<u32>()));
        let event = expiring(draft, rng).build();
        self.made.push(event.clone());
        event
    }

    /// Names mostly what the author may delete.
    fn deletion_tags(&mut self, author: usize, rng: &mut TestRng) -> Vec<Value> {
        let key = self.factory.pubkey(author);
        let is_own = |event: &&Value| event["pubkey"] == key || event["tags"][0][1] == key;
        let own: Vec<&Value> = self.made.iter().filter(is_own).collect();
        let mut tags = Vec::new();
        for _ in 0..rng.random_range(0..4) {
            let stranger = if rng.random_ratio(1, 4) { self.made.choose(rng) } else { None };
            let target = stranger.or_else(|| own.choose(rng).copied());
            tags.push(match (rng.random_range(0..12), target) {
                (0, _) => json!(["e", "not an id"]),
                (1, _) => json!(["a", "30023:short:one"]),
                (2, _) => json!(["k", "1"]),
                (3..5, Some(target)) => {
                    json!(["a", some_address(target["pubkey"].as_str().expect("hex"), rng)])
                }
                (_, Some(target)) => json!(["e", target["id"]]),
                (_, None) => json!(["a", some_address(&key, rng)]),
            });
        }
        tags
    }

    fn note_tags(&mut self, rng: &mut TestRng) -> Vec<Value> {
        let mut tags = Vec::new();
        for _ in 0..rng.random_range(0..3) {
            let topic = TOPICS.choose(rng).expect("not empty");
            tags.push(match (rng.random_range(0..6), self.made.choose(rng)) {
                (0, Some(other)) => json!(["e", other["id"], "", "reply"]),
                (1, _) => json!(["p", self.factory.pubkey(rng.random_range(0..AUTHORS))]),
                (2, _) => json!(["T", topic]),
                (3, _) => json!(["t"]),
                _ => json!(["t", topic, "never matched"]),
            });
        }
        tags
    }

    /// The next filter; lists are sometimes empty, windows sometimes impossible.
    pub fn filter(&mut self, rng: &mut TestRng) -> Value {
        let mut filter = json!({});
        let ids: Vec<Value> = self.made.iter().map(|event| event["id"].clone()).collect();
        let authors: Vec<Value> = (0..AUTHORS).map(|a| self.factory.pubkey(a).into()).collect();
        let kinds = [0, 1, 5, 7, 62, 1059, 10_002, 20_001, 30_023].map(Value::from);
        let topics = TOPICS.map(Value::from);
        let names = NAMES.map(Value::from);
        for (member, one_in, values) in [
            ("ids", 8, &ids[..]),
            ("authors", 3, &authors),
            ("kinds", 3, &kinds),
            ("#t", 4, &topics),
            ("#T", 12, &topics),
            ("&t", 10, &topics),
            ("#d", 10, &names),
            ("#e", 12, &ids),
            ("#p", 8, &authors),
        ] {
            if rng.random_ratio(1, one_in) {
                let count = rng.random_range(0..4);
                filter[member] = values.sample(rng, count).cloned().collect();
            }
        }
        for (member, one_in) in [("since", 5), ("until", 5)] {
            if rng.random_ratio(1, one_in) {
                filter[member] = (START + rng.random_range(0..SECONDS)).into();
            }
        }
        if rng.random_ratio(1, 4) {
            filter["limit"] = rng.random_range(0..5).into();
        }
        filter
    }

    /// One to three filters.
    pub fn filters(&mut self, rng: &mut TestRng) -> Vec<Value> {
        (0..rng.random_range(1..=3)).map(|_| self.filter(rng)).collect()
    }
}

fn some_address(author: &str, rng: &mut TestRng) -> String {
    let kind = [0, 1, 10_002, 30_023, 30_023].choose(rng).expect("not empty");
    let name = NAMES.choose(rng).expect("not empty");
    format!("{kind}:{author}:{name}")
}

fn address_tags(rng: &mut TestRng) -> Vec<Value> {
    let name = NAMES.choose(rng).expect("not empty");
    match rng.random_range(0..8) {
        0 => vec![],
        1 => vec![json!(["d"])],
        2 => vec![json!(["d", name]), json!(["d", "second"])],
        _ => vec![json!(["d", name]), json!(["t", TOPICS.choose(rng)])],
    }
}

fn vanish_tags(rng: &mut TestRng) -> Vec<Value> {
    let url = ["ALL_RELAYS", "wss://Relay.Example:443/", "wss://elsewhere.example", "all_relays"]
        .choose(rng)
        .expect("not empty");
    vec![json!(["relay", url])]
}

fn expiring<'f>(draft: Draft<'f>, rng: &mut TestRng) -> Draft<'f> {
    match rng.random_range(0..20) {
        0..3 => {
            let at = START + rng.random_range(0..SECONDS + 8);
            draft.tag(&["expiration", &at.to_string()])
        }
        3 => draft.tag(&["expiration", "soon"]),
        _ => draft,
    }
}
