//! Processor time per signature: one by one and in batches, of either back end, beside the C library.
//!
//! `cargo bench -p zeolite-schnorr`; `-- --short` for a quick look.
//!
//! All ways of a table are measured by turns in one run, in rounds of a few milliseconds, in one order
//! and then in the other, so that whatever else the machine does falls on all of them. The median
//! and the least of the rounds are shown, and the median share of the first column's time in the same
//! round; the least is what an idle machine would show.
#![allow(clippy::print_stdout, reason = "a benchmark reports")]

mod corpus;
mod table;

use std::hint::black_box;

use zeolite_schnorr::{Backend, Item, Verifier};

use self::corpus::{Authors, Corpus};
use self::table::{Way, header, measure};

/// Room for every key of a corpus.
const CACHE_KEYS: usize = 1 << 16;
/// Signatures in a round of batches, at least: one small batch would mostly measure caches that the other
/// ways have filled.
const ROUND: usize = 512;
/// Single verifications in a round: their time does not depend on the batch.
const SINGLES: usize = 32;

fn main() {
    let short = std::env::args().any(|arg| arg == "--short");
    let rounds = if short { 5 } else { 41 };
    let sizes: &[usize] =
        if short { &[16, 256] } else { &[4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096] };
    let largest = sizes.last().copied().unwrap_or(0);
    println!(
        "back ends here: portable{}",
        if Backend::Ifma.is_available() { ", ifma" } else { "" }
    );
    for authors in [Authors::Distinct, Authors::Zipf] {
        let corpus = Corpus::new(largest, authors);
        println!(
            "\n{authors:?}: {largest} signatures by {} keys, us of processor time per signature",
            corpus.keys()
        );
        header("batch", &ways(&corpus, sizes[0]));
        for &size in sizes {
            measure(&size.to_string(), ways(&corpus, size), rounds);
        }
    }
    let corpus = Corpus::new(256, Authors::Distinct);
    println!("\n256 signatures, some of them wrong, us of processor time per signature");
    wrong_ones(&corpus, rounds);
    println!(
        "\n256 signatures with points that a sender forced, us of processor time per signature"
    );
    forced_points(&corpus, rounds);
}

/// Batches by a verifier that remembers so many keys: with none, each batch's keys are new to it.
fn batches<'a>(
    name: &str,
    backend: Backend,
    cache_keys: usize,
    items: &'a [Item],
    size: usize,
) -> Way<'a> {
    let verifier = Verifier::with_backend(cache_keys, backend);
    let mut slices = items.chunks_exact(size).cycle();
    let batches = ROUND.div_ceil(size);
    Way::new(name, move || {
        for slice in slices.by_ref().take(batches) {
            assert!(verifier.verify_batch(black_box(slice)).iter().all(|good| *good));
        }
        batches * size
    })
}

fn singles<'a>(items: &'a [Item]) -> Way<'a> {
    let verifier = Verifier::new(CACHE_KEYS);
    let mut items = items.iter().cycle();
    Way::new("k256 single", move || {
        for (key, id, sig) in items.by_ref().take(SINGLES) {
            assert!(verifier.verify(black_box(key), id, sig));
        }
        SINGLES
    })
}

/// The C library with its keys parsed beforehand.
fn c_library<'a>(corpus: &'a Corpus) -> Way<'a> {
    let keys: Vec<_> = corpus
        .items
        .iter()
        .map(|(key, _, _)| secp256k1::XOnlyPublicKey::from_byte_array(key.0).expect("a key"))
        .collect();
    let mut items = corpus.items.iter().zip(keys).collect::<Vec<_>>().into_iter().cycle();
    Way::new("C single", move || {
        for ((_, id, sig), key) in items.by_ref().take(SINGLES) {
            let sig = secp256k1::schnorr::Signature::from_byte_array(sig.0);
            assert!(secp256k1::schnorr::verify(&sig, black_box(&id.0), &key).is_ok());
        }
        SINGLES
    })
}

fn ways(corpus: &Corpus, size: usize) -> Vec<Way<'_>> {
    let items = &corpus.items;
    let mut ways = vec![c_library(corpus), singles(items)];
    ways.push(batches("portable", Backend::Portable, CACHE_KEYS, items, size));
    if Backend::Ifma.is_available() {
        ways.push(batches("ifma", Backend::Ifma, CACHE_KEYS, items, size));
        ways.push(batches("ifma, new keys", Backend::Ifma, 0, items, size));
    }
    ways
}

fn wrong_ones(corpus: &Corpus, rounds: usize) {
    for (row, backend) in backends().into_iter().enumerate() {
        let ways = [0, 1, 2, 4, 16, 64, 256].map(|wrong| {
            let verifier = Verifier::with_backend(CACHE_KEYS, backend);
            let mut items = corpus.items.clone();
            let mut places = corpus::places(items.len());
            Way::new(&format!("{wrong} wrong"), move || {
                let places: Vec<usize> = places.by_ref().take(wrong).collect();
                places.iter().for_each(|place| items[*place].1.0[0] ^= 1);
                let verdicts = verifier.verify_batch(&items);
                assert_eq!(verdicts.iter().filter(|good| !**good).count(), wrong);
                places.iter().for_each(|place| items[*place].1.0[0] ^= 1);
                items.len()
            })
        });
        row_of(row, backend, ways.into(), rounds);
    }
}

fn forced_points(corpus: &Corpus, rounds: usize) {
    for (row, backend) in backends().into_iter().enumerate() {
        let forced = [
            ("plain", corpus.items.clone()),
            ("one twice", corpus.with_repeats(1)),
            ("one 256 times", corpus.with_repeats(255)),
            ("R = 1 G, 2 G, 3 G, ...", corpus::with_small_nonces(256)),
        ];
        let ways = forced.map(|(name, items)| {
            let verifier = Verifier::with_backend(CACHE_KEYS, backend);
            Way::new(name, move || {
                assert!(verifier.verify_batch(&items).iter().all(|good| *good));
                items.len()
            })
        });
        row_of(row, backend, ways.into(), rounds);
    }
}

fn backends() -> Vec<Backend> {
    [Backend::Portable, Backend::Ifma].into_iter().filter(|it| it.is_available()).collect()
}

fn row_of(row: usize, backend: Backend, ways: Vec<Way<'_>>, rounds: usize) {
    if row == 0 {
        header("back end", &ways);
    }
    measure(&format!("{backend:?}").to_lowercase(), ways, rounds);
}
