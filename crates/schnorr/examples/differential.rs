//! Compares batches with k256's single verification, item by item, for as long as asked.
//!
//! ```text
//! cargo run --release -p zeolite-schnorr --example differential -- ITEMS [SEED]
//! ```
//!
//! Each batch holds valid, mutated and crafted signatures (`tests/adversary`) and goes through every back
//! end that the processor has. The first difference ends the program with the seed of its batch.
#![allow(clippy::print_stdout, reason = "the program reports")]

#[path = "../tests/adversary/mod.rs"]
mod adversary;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use zeolite_schnorr::{Backend, Verifier};

use self::adversary::{Item, expected};

/// Batches by one pool of signatures, which are slow to make.
const POOL_BATCHES: usize = 200;

fn main() {
    let mut numbers = std::env::args().skip(1).map(|arg| arg.parse().expect("a number"));
    let items_min: u64 = numbers.next().unwrap_or(100_000);
    let seed: u64 = numbers.next().unwrap_or(1);
    let start = Instant::now();
    let (done, right) = (AtomicU64::new(0), AtomicU64::new(0));
    let verifiers = verifiers();
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (verifiers, done, right) = (&verifiers, &done, &right);
            scope.spawn(move || {
                for pool in (thread..).step_by(threads as usize) {
                    if done.load(Ordering::Relaxed) >= items_min {
                        break;
                    }
                    run_pool(seed.wrapping_add(pool), verifiers, done, right);
                }
            });
        }
    });
    let (done, right) = (done.into_inner(), right.into_inner());
    let names: Vec<_> = verifiers.iter().map(|(name, _)| name.as_str()).collect();
    println!(
        "{done} items, {right} of them right, the same by k256 and by {}, in {:.0} s",
        names.join(" and "),
        start.elapsed().as_secs_f64()
    );
}

fn verifiers() -> Vec<(String, Verifier)> {
    let backends = [Backend::Portable, Backend::Ifma].into_iter().filter(|it| it.is_available());
    backends.map(|it| (format!("{it:?}"), Verifier::with_backend(2000, it))).collect()
}

fn run_pool(seed: u64, verifiers: &[(String, Verifier)], done: &AtomicU64, right: &AtomicU64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut pool = adversary::plain(&mut rng, 1000);
    pool.extend(adversary::crafted(&mut rng).iter().copied().filter(expected));
    for number in 0..POOL_BATCHES {
        let len = match rng.random_range(0..50) {
            0..2 => rng.random_range(1000..6000),
            2..25 => rng.random_range(200..1000),
            25..44 => rng.random_range(16..200),
            _ => rng.random_range(1..16),
        };
        let items = adversary::batch(&mut rng, &pool, len);
        let good = compare(&items, verifiers, &format!("seed {seed}, batch {number}"));
        right.fetch_add(good as u64, Ordering::Relaxed);
        let total = done.fetch_add(len as u64, Ordering::Relaxed) + len as u64;
        if total / 1_000_000 > (total - len as u64) / 1_000_000 {
            println!("{total} items");
        }
    }
}

/// Answers how many are right.
fn compare(items: &[Item], verifiers: &[(String, Verifier)], place: &str) -> usize {
    let expected: Vec<bool> = items.iter().map(expected).collect();
    for (name, verifier) in verifiers {
        let verdicts = verifier.verify_batch(items);
        if let Some(index) = (0..items.len()).find(|index| verdicts[*index] != expected[*index]) {
            println!("{place}, item {index}: k256 says {}, {name} does not", expected[index]);
            std::process::exit(1);
        }
    }
    expected.iter().filter(|good| **good).count()
}
