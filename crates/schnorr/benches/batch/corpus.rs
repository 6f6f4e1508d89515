//! Signatures to verify.

use std::collections::HashSet;

use k256::elliptic_curve::ff::PrimeField;
use k256::elliptic_curve::ops::Reduce;
use k256::elliptic_curve::point::AffineCoordinates;
use k256::schnorr::SigningKey;
use k256::{FieldBytes, ProjectivePoint, Scalar};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};
use zeolite_proto::{EventId, PubKey, Signature};
use zeolite_schnorr::Item;

/// Who signs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Authors {
    /// Nobody twice.
    Distinct,
    /// The k-th of 10,000 keys with a frequency of 1 / k, as in social networks.
    Zipf,
}

pub(crate) struct Corpus {
    pub(crate) items: Vec<Item>,
}

impl Corpus {
    pub(crate) fn new(signatures: usize, authors: Authors) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let zipf = Zipf::new(10_000);
        let items = (0..signatures).map(|index| {
            let author = match authors {
                Authors::Distinct => index,
                Authors::Zipf => zipf.sample(rng.random()),
            };
            sign(&key(author), rng.random(), rng.random())
        });
        Self { items: items.collect() }
    }

    /// Distinct keys.
    pub(crate) fn keys(&self) -> usize {
        self.items.iter().map(|(key, _, _)| key).collect::<HashSet<_>>().len()
    }

    /// The first item in place of so many others.
    pub(crate) fn with_repeats(&self, repeats: usize) -> Vec<Item> {
        let mut items = self.items.clone();
        let first = items[0];
        items[1..=repeats].fill(first);
        items
    }
}

/// Endless random places below `end`, none twice in a run of `end`.
pub(crate) fn places(end: usize) -> impl Iterator<Item = usize> {
    (0..end).cycle().map(move |index| index * 167 % end)
}

/// Valid signatures by one key with R = 1 G, 2 G, 3 G, ...: whoever signs so gives the key away, but
/// may.
pub(crate) fn with_small_nonces(signatures: u64) -> Vec<Item> {
    let secret = Scalar::from(987_654_321u64);
    let (secret, key) = even(secret);
    (1..=signatures)
        .map(|nonce| {
            let (nonce, r) = even(Scalar::from(nonce));
            let id = [7; 32];
            let tag = Sha256::digest(b"BIP0340/challenge");
            let hash = Sha256::new().chain_update(tag).chain_update(tag);
            let hash = hash.chain_update(r).chain_update(key).chain_update(id).finalize();
            let s = nonce + <Scalar as Reduce<FieldBytes>>::reduce(&hash) * secret;
            let mut sig = [0; 64];
            sig[..32].copy_from_slice(&r);
            sig[32..].copy_from_slice(&s.to_repr());
            (PubKey(key), EventId(id), Signature(sig))
        })
        .collect()
}

/// The one of k and -k whose point has an even y, and its x coordinate.
fn even(k: Scalar) -> (Scalar, [u8; 32]) {
    let point = (ProjectivePoint::GENERATOR * k).to_affine();
    (if point.y_is_odd().into() { -k } else { k }, point.x().into())
}

fn key(number: usize) -> SigningKey {
    let mut secret = [1; 32];
    secret[..8].copy_from_slice(&(number as u64).to_be_bytes());
    SigningKey::from_bytes(&secret.into()).expect("a small number is a key")
}

fn sign(key: &SigningKey, id: [u8; 32], random: [u8; 32]) -> Item {
    let sig = key.sign_raw(&id, &random).expect("a random nonce works");
    (PubKey(key.verifying_key().to_bytes().into()), EventId(id), Signature(sig.to_bytes()))
}

struct Zipf {
    cumulated: Vec<f64>,
}

impl Zipf {
    fn new(values: usize) -> Self {
        let mut total = 0.0;
        let weights = (1..=values).map(|rank| {
            total += 1.0 / rank as f64;
            total
        });
        Self { cumulated: weights.collect() }
    }

    /// For a uniform number below 1.
    fn sample(&self, uniform: f64) -> usize {
        let total = self.cumulated.last().copied().unwrap_or(0.0);
        self.cumulated.partition_point(|cumulated| *cumulated < uniform * total)
    }
}
