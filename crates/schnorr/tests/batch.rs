//! A batch answers what single verification answers, whatever is in it.

mod adversary;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use zeolite_proto::{EventId, PubKey, Signature};
use zeolite_schnorr::{Backend, Verifier};

use self::adversary::{Item, expected};

/// Every back end of this processor, without a cache of keys and with one.
fn verifiers() -> Vec<(String, Verifier)> {
    let backends = [Backend::Portable, Backend::Ifma].into_iter().filter(|it| it.is_available());
    backends
        .flat_map(|backend| {
            [0, 1000].map(|keys| {
                (format!("{backend:?}, {keys} keys"), Verifier::with_backend(keys, backend))
            })
        })
        .collect()
}

#[track_caller]
fn check(items: &[Item]) {
    check_with(&verifiers(), items);
}

#[track_caller]
fn check_with(verifiers: &[(String, Verifier)], items: &[Item]) {
    let expected: Vec<bool> = items.iter().map(expected).collect();
    for (name, verifier) in verifiers {
        assert_eq!(verifier.verify_batch(items), expected, "{name}, {} items", items.len());
    }
}

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn hex<const N: usize>(hex: &str) -> [u8; N] {
    let mut bytes = [0; N];
    faster_hex::hex_decode(hex.as_bytes(), &mut bytes).expect("hex of the right length");
    bytes
}

/// The vectors with a message of 32 bytes, with their verdicts.
fn vectors() -> Vec<(Item, bool)> {
    let csv = include_str!("data/bip340.csv");
    let lines = csv.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    lines
        .filter(|fields| fields[4].len() == 64)
        .map(|fields| {
            let item = (PubKey(hex(fields[2])), EventId(hex(fields[4])), Signature(hex(fields[5])));
            (item, fields[6] == "TRUE")
        })
        .collect()
}

/// R01-03: BIP-340's vectors together, and each with copies of itself only.
#[test]
fn bip_340_vectors_alone() {
    let vectors = vectors();
    assert!(vectors.len() >= 15);
    let (items, verdicts): (Vec<_>, Vec<_>) = vectors.iter().copied().unzip();
    for (name, verifier) in verifiers() {
        assert_eq!(verifier.verify_batch(&items), verdicts, "{name}");
        for (item, verdict) in &vectors {
            for len in [1, 2, 8, 20] {
                assert_eq!(verifier.verify_batch(&vec![*item; len]), vec![*verdict; len], "{name}");
            }
        }
    }
}

/// R01-03: each vector at each place of a batch of valid signatures.
#[test]
fn bip_340_vectors_at_every_place() {
    let valid = adversary::plain(&mut rng(1), 19);
    for (name, verifier) in verifiers() {
        for (vector, verdict) in vectors() {
            for place in 0..=valid.len() {
                let mut items = valid.clone();
                items.insert(place, vector);
                let mut verdicts = vec![true; items.len()];
                verdicts[place] = verdict;
                assert_eq!(verifier.verify_batch(&items), verdicts, "{name}, place {place}");
            }
        }
    }
}

/// One wrong signature is found at each place, in batches that halve evenly and unevenly.
#[test]
fn the_culprit_is_found() {
    let verifiers = verifiers();
    for len in [8, 9, 31, 40] {
        let valid = adversary::plain(&mut rng(2), len);
        for place in 0..len {
            let mut items = valid.clone();
            items[place].1.0[5] ^= 0x10;
            for (name, verifier) in &verifiers {
                let verdicts = verifier.verify_batch(&items);
                let wrong: Vec<_> = (0..len).filter(|index| !verdicts[*index]).collect();
                assert_eq!(wrong, [place], "{name}");
            }
        }
    }
}

/// Every size around the limits of what is batched; no items at all.
#[test]
fn sizes() {
    let verifiers = verifiers();
    let pool = adversary::plain(&mut rng(3), 100);
    for len in (0..40).chain([99, 100]) {
        let mut items = pool[..len].to_vec();
        check_with(&verifiers, &items);
        if let Some(last) = items.last_mut() {
            last.2.0[40] ^= 1;
            check_with(&verifiers, &items);
        }
    }
}

/// Past the largest batch there are two, of which the second may be too small to be one.
#[test]
fn long_slices_are_cut() {
    let pool = adversary::plain(&mut rng(4), 50);
    let mut items: Vec<Item> = pool.iter().copied().cycle().take(4096 + 3).collect();
    let wrong = [0, 4095, 4096, 4098];
    wrong.iter().for_each(|place| items[*place].2.0[63] ^= 1);
    let verifier = Verifier::new(1000);
    let verdicts = verifier.verify_batch(&items);
    let found: Vec<_> = (0..items.len()).filter(|index| !verdicts[*index]).collect();
    assert_eq!(found, wrong);
}

/// Any number of wrong signatures, up to all.
#[test]
fn many_wrong() {
    let verifiers = verifiers();
    let valid = adversary::plain(&mut rng(5), 96);
    for wrong in [2, 3, 5, 20, 48, 95, 96] {
        let mut items = valid.clone();
        for index in 0..wrong {
            items[index * 37 % 96].2.0[50] ^= 4;
        }
        check_with(&verifiers, &items);
    }
}

/// Points that meet: the same R, R = P, R = -P, images under the endomorphism, small multiples of G,
/// pairs whose errors cancel. In every neighbourhood: alone, twice, among valid ones.
#[test]
fn forced_points() {
    let mut rng = rng(6);
    let crafted = adversary::crafted(&mut rng);
    assert!(crafted.iter().any(expected) && !crafted.iter().all(expected));
    check(&crafted);
    check(&[&crafted[..], &crafted[..]].concat());
    let valid: Vec<Item> = crafted.iter().copied().filter(expected).collect();
    check(&valid);
    check(&[&valid[..], &valid[..], &valid[..]].concat());
    for item in &crafted {
        check(&[&[*item; 5][..], &adversary::plain(&mut rng, 5)].concat());
    }
}

/// Two errors that cancel under equal coefficients do not under random ones.
#[test]
fn errors_do_not_cancel() {
    let verifiers = verifiers();
    for seed in 0..20 {
        let mut rng = rng(seed);
        let crafted = adversary::crafted(&mut rng);
        let cancelling = &crafted[crafted.len() - 4..];
        let items = [&adversary::plain(&mut rng, 8)[..], cancelling].concat();
        for (name, verifier) in &verifiers {
            let verdicts = verifier.verify_batch(&items);
            assert!(verdicts[..8].iter().all(|good| *good), "{name}");
            assert!(verdicts[8..].iter().all(|good| !good), "{name}");
        }
    }
}

/// The short form of `cargo run --release -p zeolite-schnorr --example differential`.
#[test]
fn agrees_with_k256_on_whatever_comes() {
    let verifiers = verifiers();
    let mut rng = rng(7);
    let mut pool = adversary::plain(&mut rng, 300);
    pool.extend(adversary::crafted(&mut rng).iter().copied().filter(expected));
    for _ in 0..40 {
        let len = rng.random_range(1..100);
        let items = adversary::batch(&mut rng, &pool, len);
        check_with(&verifiers, &items);
    }
}

/// Threads share a verifier, its cache and its workspaces.
#[test]
fn threads_share_a_verifier() {
    let verifier = Verifier::new(8);
    let items = adversary::plain(&mut rng(8), 64);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (verifier, mut items) = (&verifier, items.clone());
            scope.spawn(move || {
                for round in 0..5 {
                    let place = (thread * 5 + round) * 3;
                    items[place].1.0[0] ^= 1;
                    let verdicts = verifier.verify_batch(&items);
                    assert!(
                        verdicts.iter().enumerate().all(|(index, good)| *good != (index == place))
                    );
                    items[place].1.0[0] ^= 1;
                }
            });
        }
    });
}
