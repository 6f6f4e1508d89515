//! Time per verification, with the key's point remembered and not.
//!
//! `cargo bench -p zeolite-schnorr`; `-- --short` for a quick run.
#![allow(clippy::print_stdout, reason = "a benchmark reports")]

use std::hint::black_box;
use std::time::Instant;

use k256::schnorr::SigningKey;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use zeolite_proto::{EventId, PubKey, Signature};
use zeolite_schnorr::Verifier;

fn main() {
    let short = std::env::args().any(|arg| arg == "--short");
    let (keys, rounds) = if short { (100, 3) } else { (500, 41) };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let items: Vec<_> = (0..keys).map(|_| sign(&mut rng)).collect();
    let verifiers = [("key lifted each time", 0), ("key remembered", 1 << 16)]
        .map(|(name, cache_keys_max)| (name, Verifier::new(cache_keys_max)));
    let mut times = [Vec::new(), Vec::new()];
    // By turns, so that what else the machine does falls on both. The first turn fills the cache.
    for turn in 0..=rounds {
        for ((_, verifier), times) in verifiers.iter().zip(&mut times) {
            let time = round(verifier, &items);
            if turn > 0 {
                times.push(time);
            }
        }
    }
    println!("| signatures by {keys} keys | us, median | us, least |\n|---|---:|---:|");
    for ((name, _), times) in verifiers.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        println!("| {name} | {:.1} | {:.1} |", times[times.len() / 2], times[0]);
    }
}

fn round(verifier: &Verifier, items: &[(PubKey, EventId, Signature)]) -> f64 {
    let start = Instant::now();
    for (key, id, sig) in items {
        assert!(verifier.verify(black_box(key), id, sig));
    }
    start.elapsed().as_secs_f64() * 1e6 / items.len() as f64
}

fn sign(rng: &mut ChaCha8Rng) -> (PubKey, EventId, Signature) {
    let secret: [u8; 32] = rng.random();
    let secret = SigningKey::from_bytes(&secret.into()).expect("a random number is a key");
    let id = EventId(rng.random());
    let sig = secret.sign_raw(&id.0, &rng.random()).expect("a random nonce works");
    (PubKey(secret.verifying_key().to_bytes().into()), id, Signature(sig.to_bytes()))
}
