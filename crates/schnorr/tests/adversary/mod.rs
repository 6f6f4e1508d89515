//! Signatures as an adversary would make them, and k256's verdict on each.
//!
//! Shared by the tests, the differential example and the fuzz target. Shares nothing with the crate: all
//! arithmetic is k256's group.
#![allow(dead_code, reason = "each user takes its part")]

use k256::elliptic_curve::ff::PrimeField;
use k256::elliptic_curve::ops::Reduce;
use k256::elliptic_curve::point::AffineCoordinates;
use k256::{FieldBytes, ProjectivePoint, Scalar, schnorr};
use rand::{Rng, RngExt};
use sha2::{Digest, Sha256};
use zeolite_proto::{EventId, PubKey, Signature};

pub(crate) type Item = (PubKey, EventId, Signature);

/// The verdict of k256's single verification, nothing remembered.
pub(crate) fn expected((key, id, sig): &Item) -> bool {
    let (Ok(key), Ok(sig)) =
        (schnorr::VerifyingKey::from_bytes(&key.0.into()), schnorr::Signature::from_bytes(&sig.0))
    else {
        return false;
    };
    key.verify_raw(&id.0, &sig).is_ok()
}

/// What a signer does with the points' signs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signs {
    /// As BIP-340 says: the key and the nonce are negated when their points have an odd y.
    Right,
    /// The negative of R.
    WrongNonce,
    /// The negative of P.
    WrongKey,
}

/// Signs with a chosen key and a chosen nonce.
pub(crate) fn sign(secret: Scalar, nonce: Scalar, id: [u8; 32], signs: Signs) -> Item {
    let (mut secret, key) = even(secret);
    let (mut nonce, r) = even(nonce);
    match signs {
        Signs::Right => {}
        Signs::WrongNonce => nonce = -nonce,
        Signs::WrongKey => secret = -secret,
    }
    let tag = Sha256::digest(b"BIP0340/challenge");
    let hash = Sha256::new().chain_update(tag).chain_update(tag);
    let hash = hash.chain_update(r).chain_update(key).chain_update(id).finalize();
    let s = nonce + <Scalar as Reduce<FieldBytes>>::reduce(&hash) * secret;
    (PubKey(key), EventId(id), Signature(join(&r, &s.to_repr().into())))
}

/// The one of k and -k whose point has an even y, and its x coordinate.
fn even(k: Scalar) -> (Scalar, [u8; 32]) {
    let point = (ProjectivePoint::GENERATOR * k).to_affine();
    (if point.y_is_odd().into() { -k } else { k }, point.x().into())
}

pub(crate) fn scalar(rng: &mut impl Rng) -> Scalar {
    let bytes: [u8; 32] = rng.random();
    <Scalar as Reduce<FieldBytes>>::reduce(&bytes.into())
}

fn join(r: &[u8; 32], s: &[u8; 32]) -> [u8; 64] {
    let mut sig = [0; 64];
    sig[..32].copy_from_slice(r);
    sig[32..].copy_from_slice(s);
    sig
}

/// A cube root of one modulo the group's order: lambda P = (beta x, y).
fn lambda() -> Scalar {
    let bytes = [
        0x53, 0x63, 0xad, 0x4c, 0xc0, 0x5c, 0x30, 0xe0, 0xa5, 0x26, 0x1c, 0x02, 0x88, 0x12, 0x64,
        0x5a, 0x12, 0x2e, 0x22, 0xea, 0x20, 0x81, 0x66, 0x78, 0xdf, 0x02, 0x96, 0x7c, 0x1b, 0x23,
        0xbd, 0x72,
    ];
    Option::from(Scalar::from_repr(bytes.into())).expect("lambda is below the order")
}

/// Valid signatures: by many keys once, by few keys often.
pub(crate) fn plain(rng: &mut impl Rng, count: usize) -> Vec<Item> {
    let few: Vec<Scalar> = (0..5).map(|_| scalar(rng)).collect();
    (0..count)
        .map(|index| {
            let secret = if index % 2 == 0 { scalar(rng) } else { few[index / 2 % few.len()] };
            sign(secret, scalar(rng), rng.random(), Signs::Right)
        })
        .collect()
}

/// Valid and wrong signatures whose points meet: with themselves, with each other, with the generator,
/// and as sums of each other.
pub(crate) fn crafted(rng: &mut impl Rng) -> Vec<Item> {
    let (secret, nonce, lambda) = (scalar(rng), scalar(rng), lambda());
    let mut items = Vec::new();
    // The same R under several messages and keys.
    for _ in 0..3 {
        items.push(sign(secret, nonce, rng.random(), Signs::Right));
        items.push(sign(scalar(rng), nonce, rng.random(), Signs::Right));
        items.push(sign(secret, nonce, rng.random(), Signs::WrongNonce));
        items.push(sign(secret, nonce, rng.random(), Signs::WrongKey));
    }
    // R among P, -P, G, -G and their images under the endomorphism; P among those of G.
    for nonce in [secret, -secret, Scalar::ONE, -Scalar::ONE] {
        for image in [Scalar::ONE, lambda, lambda * lambda] {
            for signs in [Signs::Right, Signs::WrongNonce] {
                items.push(sign(secret, nonce * image, rng.random(), signs));
                items.push(sign(image, nonce, rng.random(), signs));
            }
        }
    }
    // R = 1 G, 2 G, ... under P = G, 2 G, ...: sums of few of them meet others.
    for small in 1..40u64 {
        let secret = Scalar::from(small % 4 + 1);
        items.push(sign(secret, Scalar::from(small), rng.random(), Signs::Right));
    }
    items.extend(cancelling(rng));
    items
}

/// Pairs of wrong signatures whose errors sum to zero when both count alike.
fn cancelling(rng: &mut impl Rng) -> Vec<Item> {
    let (secret, error) = (scalar(rng), scalar(rng));
    [error, -error, error + error, -(error + error)]
        .map(|error| {
            let mut item = sign(secret, scalar(rng), rng.random(), Signs::Right);
            let s: [u8; 32] = item.2.0[32..].try_into().expect("half of a signature");
            let s: Option<Scalar> = Scalar::from_repr(s.into()).into();
            let s = s.expect("s is below the order") + error;
            item.2.0[32..].copy_from_slice(&s.to_repr());
            item
        })
        .into()
}

/// Ways to spoil an item.
pub(crate) const SPOILS: u8 = 14;

/// The field's and the group's order.
const FIELD: [u8; 32] = {
    let mut order = [0xff; 32];
    (order[27], order[30], order[31]) = (0xfe, 0xfc, 0x2f);
    order
};
const GROUP: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
    0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
];

/// Changes an item, in one of [`SPOILS`] ways; `other` lends it parts.
pub(crate) fn spoil(item: &mut Item, other: &Item, way: u8, rng: &mut impl Rng) {
    let (r, s) = item.2.0.split_at_mut(32);
    let bit = rng.random_range(0..256usize);
    let flip = |bytes: &mut [u8]| bytes[bit / 8] ^= 1 << (bit % 8);
    match way {
        0 => flip(&mut item.0.0),
        1 => flip(&mut item.1.0),
        2 => flip(r),
        3 => flip(s),
        4 => rng.fill_bytes(&mut item.0.0),
        5 => rng.fill_bytes(r),
        6 => rng.fill_bytes(s),
        7 => item.0.0 = edge(rng),
        8 => r.copy_from_slice(&edge(rng)),
        9 => s.copy_from_slice(&edge(rng)),
        10 => item.2 = other.2,
        11 => r.copy_from_slice(&other.2.0[..32]),
        12 => item.0 = other.0,
        _ => {
            let negative: Option<Scalar> =
                Scalar::from_repr(FieldBytes::try_from(&*s).expect("32"))
                    .map(|s: Scalar| -s)
                    .into();
            s.copy_from_slice(&negative.unwrap_or(Scalar::ONE).to_repr());
        }
    }
}

/// Numbers at the ends of the ranges.
fn edge(rng: &mut impl Rng) -> [u8; 32] {
    let mut bytes = match rng.random_range(0..4) {
        0 => [0; 32],
        1 => [0xff; 32],
        2 => FIELD,
        _ => GROUP,
    };
    bytes[31] = bytes[31].wrapping_add(rng.random_range(0..5)).wrapping_sub(2);
    bytes
}

/// A batch of `len` items of the pool, some of them spoilt.
pub(crate) fn batch(rng: &mut impl Rng, pool: &[Item], len: usize) -> Vec<Item> {
    let mut items: Vec<Item> = (0..len).map(|_| pool[rng.random_range(0..pool.len())]).collect();
    let wrong = match rng.random_range(0..20) {
        0..9 => 0,
        9..13 => 1,
        13..17 => rng.random_range(0..5),
        17..19 => len / 20,
        _ => rng.random_range(0..=len),
    };
    for _ in 0..wrong.min(len) {
        let (place, other) = (rng.random_range(0..len), rng.random_range(0..pool.len()));
        spoil(&mut items[place], &pool[other], rng.random_range(0..SPOILS), rng);
    }
    if len > 1 && rng.random_range(0..4) == 0 {
        let (one, two) = (rng.random_range(0..len), rng.random_range(0..len));
        let sig = items[one].2;
        items[one].2 = items[two].2;
        items[two].2 = sig;
    }
    items
}
