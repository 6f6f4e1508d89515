//! Sessions over large sets, ours beside the negentropy crate's, on the same items and frames.
//!
//! `cargo bench -p zeolite-reconcile`; `-- --short` for a quick run. Every row is checked: what the
//! initiator has and needs is exactly the difference of the sets.
#![allow(clippy::print_stdout, reason = "a benchmark reports")]

use std::fs;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use negentropy::{Id, Negentropy, NegentropyStorageVector};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use zeolite_proto::{EventId, Timestamp};
use zeolite_reconcile::{FrameLimit, Initiator, Item, SortedSet, respond};

/// What relays answer with by default.
const FRAME_BYTES_MAX: usize = 500_000;
/// Events of three a second or so, over the years of a relay.
const SPAN_S: u64 = 10_000_000;

fn main() {
    let short = std::env::args().any(|arg| arg == "--short");
    let (items, runs) = if short { (20_000, 1) } else { (1_000_000, 3) };
    println!(
        "{items} items on a side, frames of {FRAME_BYTES_MAX} bytes, processor time, fastest of \
         {runs}\n\n\
         | sets | peers | server ms | client ms | rounds | kB up | kB down | have | need |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|"
    );
    for shape in Shape::ALL {
        let (ours, theirs) = shape.sets(items);
        report(shape, "zeolite", runs, &Expected::new(&ours, &theirs), || zeolite(&ours, &theirs));
        report(shape, "negentropy", runs, &Expected::new(&ours, &theirs), || {
            negentropy(&ours, &theirs)
        });
    }
    building(items);
}

#[derive(Clone, Copy)]
enum Shape {
    Identical,
    /// A fifth of all is only here, a fifth only there, both in slices of time.
    FifthInSlices,
    /// The same, at random.
    FifthAtRandom,
    HundredthAtRandom,
    HundredthInOneSlice,
    EmptyAgainstFull,
}

impl Shape {
    const ALL: [Self; 6] = [
        Self::Identical,
        Self::FifthInSlices,
        Self::FifthAtRandom,
        Self::HundredthAtRandom,
        Self::HundredthInOneSlice,
        Self::EmptyAgainstFull,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::FifthInSlices => "20 % each way, in 100 slices",
            Self::FifthAtRandom => "20 % each way, at random",
            Self::HundredthAtRandom => "1 % missing at the client, at random",
            Self::HundredthInOneSlice => "1 % missing at the client, in one slice",
            Self::EmptyAgainstFull => "client is empty",
        }
    }

    /// The client's items and the server's, sorted.
    fn sets(self, items: usize) -> (Vec<Item>, Vec<Item>) {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        match self {
            Self::FifthInSlices => {
                let all = random_items(&mut rng, items + items / 4);
                let slice = all.len() / 500;
                deal(&all, |at| at / slice % 5)
            }
            Self::FifthAtRandom => {
                let all = random_items(&mut rng, items + items / 4);
                deal(&all, |_| rng.random_range(0..5))
            }
            _ => {
                let all = random_items(&mut rng, items);
                let middle = items / 2..items / 2 + items / 100;
                let mut at = 0..;
                let mut ours = all.clone();
                ours.retain(|_| match self {
                    Self::HundredthAtRandom => rng.random_range(0..100) != 0,
                    Self::HundredthInOneSlice => !middle.contains(&at.next().expect("endless")),
                    Self::EmptyAgainstFull => false,
                    _ => true,
                });
                (ours, all)
            }
        }
    }
}

/// Gives items with share 0 to the first only, those with share 1 to the second only.
fn deal(all: &[Item], mut share: impl FnMut(usize) -> usize) -> (Vec<Item>, Vec<Item>) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (at, item) in all.iter().enumerate() {
        let share = share(at);
        if share != 1 {
            first.push(*item);
        }
        if share != 0 {
            second.push(*item);
        }
    }
    (first, second)
}

fn random_items(rng: &mut impl Rng, count: usize) -> Vec<Item> {
    let mut items: Vec<Item> = (0..count)
        .map(|_| {
            let mut id = [0; 32];
            rng.fill_bytes(&mut id);
            Item { time: Timestamp(1_700_000_000 + rng.random_range(0..SPAN_S)), id: EventId(id) }
        })
        .collect();
    items.sort_unstable();
    items
}

/// What a session must tell, sorted.
struct Expected {
    have: Vec<EventId>,
    need: Vec<EventId>,
}

impl Expected {
    fn new(ours: &[Item], theirs: &[Item]) -> Self {
        let only = |left: &[Item], right: &[Item]| {
            let only = left.iter().filter(|item| right.binary_search(item).is_err());
            sorted(only.map(|item| item.id).collect())
        };
        Self { have: only(ours, theirs), need: only(theirs, ours) }
    }
}

fn sorted(mut ids: Vec<EventId>) -> Vec<EventId> {
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[derive(Default)]
struct Outcome {
    server: Duration,
    client: Duration,
    rounds: usize,
    up_bytes: usize,
    down_bytes: usize,
    have: Vec<EventId>,
    need: Vec<EventId>,
}

fn report(
    shape: Shape,
    peers: &str,
    runs: usize,
    expected: &Expected,
    mut run: impl FnMut() -> Outcome,
) {
    let mut best: Option<Outcome> = None;
    for _ in 0..runs {
        let outcome = run();
        assert!(sorted(outcome.have.clone()) == expected.have, "{} {peers}", shape.name());
        assert!(sorted(outcome.need.clone()) == expected.need, "{} {peers}", shape.name());
        if best.as_ref().is_none_or(|best| outcome.server < best.server) {
            best = Some(outcome);
        }
    }
    let best = best.expect("there is at least one run");
    println!(
        "| {} | {peers} | {:.2} | {:.2} | {} | {:.1} | {:.1} | {} | {} |",
        shape.name(),
        best.server.as_secs_f64() * 1e3,
        best.client.as_secs_f64() * 1e3,
        best.rounds,
        best.up_bytes as f64 / 1e3,
        best.down_bytes as f64 / 1e3,
        expected.have.len(),
        expected.need.len(),
    );
}

/// Adds what `work` takes to `total`.
fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = processor_time();
    let result = work();
    *total += processor_time() - start;
    result
}

/// The processor time of this thread, so that a busy machine does not count; where Linux does not say,
/// the time of day. The kernel brings its count up to date when a thread yields.
fn processor_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    thread::yield_now();
    let counts = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = counts.split(' ').next().and_then(|count| count.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

fn zeolite(ours: &[Item], theirs: &[Item]) -> Outcome {
    let (ours, theirs) = (SortedSet::new(ours.to_vec()), SortedSet::new(theirs.to_vec()));
    let frame = FrameLimit::new(FRAME_BYTES_MAX).expect("an allowed limit");
    let mut initiator = Initiator::new(frame);
    let mut outcome = Outcome::default();
    let first = timed(&mut outcome.client, || initiator.start(&ours));
    let mut message = first.expect("memory can be read");
    loop {
        let answer = timed(&mut outcome.server, || respond(&theirs, &message, frame));
        let answer = answer.expect("a good message");
        outcome.count(&message, &answer);
        let step = timed(&mut outcome.client, || initiator.step(&ours, &answer));
        let step = step.expect("a good answer");
        outcome.have.extend(step.have);
        outcome.need.extend(step.need);
        let Some(next) = step.next else { return outcome };
        message = next;
    }
}

fn negentropy(ours: &[Item], theirs: &[Item]) -> Outcome {
    let (ours, theirs) = (storage(ours), storage(theirs));
    let limit = FRAME_BYTES_MAX as u64;
    let mut initiator = Negentropy::borrowed(&ours, limit).expect("an allowed limit");
    let mut responder = Negentropy::borrowed(&theirs, limit).expect("an allowed limit");
    let mut outcome = Outcome::default();
    let first = timed(&mut outcome.client, || initiator.initiate());
    let mut message = first.expect("a first message");
    loop {
        let answer = timed(&mut outcome.server, || responder.reconcile(&message));
        let answer = answer.expect("a good message");
        outcome.count(&message, &answer);
        let (mut have, mut need) = (Vec::new(), Vec::new());
        let next = timed(&mut outcome.client, || {
            initiator.reconcile_with_ids(&answer, &mut have, &mut need)
        });
        outcome.have.extend(have.iter().map(|id| EventId(id.to_bytes())));
        outcome.need.extend(need.iter().map(|id| EventId(id.to_bytes())));
        let Some(next) = next.expect("a good answer") else { return outcome };
        message = next;
    }
}

impl Outcome {
    fn count(&mut self, message: &[u8], answer: &[u8]) {
        self.rounds += 1;
        self.up_bytes += message.len();
        self.down_bytes += answer.len();
    }
}

fn storage(items: &[Item]) -> NegentropyStorageVector {
    let mut storage = NegentropyStorageVector::with_capacity(items.len());
    for item in items {
        let id = Id::from_byte_array(item.id.0);
        storage.insert(item.time.0, id).expect("not sealed");
    }
    storage.seal().expect("not sealed");
    storage
}

/// What a filtered set costs before the first answer, beside what a session costs.
fn building(items: usize) {
    let (_, mut newest_first) = Shape::Identical.sets(items);
    newest_first.reverse();
    let mut took = Duration::ZERO;
    let set = timed(&mut took, || SortedSet::new(newest_first));
    println!(
        "\nA set of {items} items, given newest first: {:.1} ms, {:.1} bytes an item.",
        took.as_secs_f64() * 1e3,
        set.memory_bytes() as f64 / items as f64
    );
}
