//! What a verifier accepts and what it refuses.

use k256::schnorr::SigningKey;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use zeolite_proto::{EventId, PubKey, Signature, SignatureCheck};
use zeolite_schnorr::Verifier;

/// Sizes of the key cache: none, one, fewer than the keys of these tests, more than them.
const CACHE_SIZES: [usize; 4] = [0, 1, 16, 4096];

fn bytes<const N: usize>(hex: &str) -> [u8; N] {
    let mut bytes = [0; N];
    faster_hex::hex_decode(hex.as_bytes(), &mut bytes).expect("hex of the right length");
    bytes
}

/// R01-03: every line of BIP-340's `test-vectors.csv`, messages of every length included; twice,
/// so that the second answer comes from the cache.
#[test]
fn bip_340_vectors() {
    let csv = include_str!("data/bip340.csv");
    for verifier in CACHE_SIZES.map(Verifier::new) {
        let mut lines = 0;
        for line in csv.lines().skip(1).chain(csv.lines().skip(1)) {
            let fields: Vec<&str> = line.split(',').collect();
            let (key, sig) = (PubKey(bytes(fields[2])), Signature(bytes(fields[5])));
            let mut message = vec![0; fields[4].len() / 2];
            faster_hex::hex_decode(fields[4].as_bytes(), &mut message).expect("hex");
            let expected = fields[6] == "TRUE";
            assert_eq!(verifier.verify_message(&key, &message, &sig), expected, "{line}");
            if let Ok(id) = <[u8; 32]>::try_from(&message[..]) {
                assert_eq!(verifier.verify(&key, &EventId(id), &sig), expected, "{line}");
            }
            lines += 1;
        }
        assert_eq!(lines, 2 * 19);
    }
}

type Item = (PubKey, EventId, Signature);

fn sign(rng: &mut ChaCha8Rng) -> Item {
    let secret = loop {
        if let Ok(secret) = SigningKey::from_bytes(&rng.random::<[u8; 32]>().into()) {
            break secret;
        }
    };
    let id = EventId(rng.random());
    let sig = secret.sign_raw(&id.0, &rng.random()).expect("a random nonce works");
    let key = PubKey(secret.verifying_key().to_bytes().into());
    (key, id, Signature(sig.to_bytes()))
}

/// Each single wrong bit, in the key, the id or the signature, makes the answer no.
#[test]
fn every_bit_counts() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let verifier = Verifier::new(64);
    let (key, id, sig) = sign(&mut rng);
    assert!(verifier.verify(&key, &id, &sig));
    for bit in 0..256 {
        let mut key = key;
        key.0[bit / 8] ^= 1 << (bit % 8);
        assert!(!verifier.verify(&key, &id, &sig), "key bit {bit}");
    }
    for bit in 0..256 {
        let mut id = id;
        id.0[bit / 8] ^= 1 << (bit % 8);
        assert!(!verifier.verify(&key, &id, &sig), "id bit {bit}");
    }
    for bit in 0..512 {
        let mut sig = sig;
        sig.0[bit / 8] ^= 1 << (bit % 8);
        assert!(!verifier.verify(&key, &id, &sig), "sig bit {bit}");
    }
}

/// Case 37: keys and signatures at and past the ends of their ranges are a no, never a panic.
#[test]
fn out_of_range_is_no() {
    let (key, id, sig) = sign(&mut ChaCha8Rng::seed_from_u64(2));
    let verifier = Verifier::new(16);
    let field = bytes("fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f");
    let order = bytes("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
    for edge in [[0; 32], [0xff; 32], field, order] {
        let with = |r: &[u8], s: &[u8]| {
            Signature([r, s].concat().try_into().expect("two halves make a signature"))
        };
        assert!(!verifier.verify(&PubKey(edge), &id, &sig));
        assert!(!verifier.verify(&key, &id, &with(&edge, &sig.0[32..])));
        assert!(!verifier.verify(&key, &id, &with(&sig.0[..32], &edge)));
        assert!(!verifier.verify(&PubKey(edge), &EventId(edge), &with(&edge, &edge)));
    }
}

/// A slice answers item by item, in order, whatever is remembered and whatever is mixed in.
#[test]
fn slices_answer_in_order() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut items: Vec<Item> = (0..64).map(|_| sign(&mut rng)).collect();
    let mut expected = vec![true; items.len()];
    for index in (0..items.len()).step_by(3) {
        match rng.random_range(0..4) {
            0 => items[index].0 = PubKey([0xff; 32]),
            1 => items[index].1.0[31] ^= 1,
            2 => items[index].2 = items[index + 1].2,
            _ => items[index].2.0[..32].fill(0xff),
        }
        expected[index] = false;
    }
    for verifier in CACHE_SIZES.map(Verifier::new) {
        assert_eq!(verifier.check(&items), expected);
        assert_eq!(verifier.check(&items), expected);
        assert!(verifier.check(&[]).is_empty());
    }
}
