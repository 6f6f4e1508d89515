//! What bytes mean as a batch, and what must hold of it.
//!
//! ```text
//! item  = index in the pool 1 | change
//! change = 0                                nothing
//!        | 1 | place 1 | mask 1             a byte of the item is changed
//!        | 2 | part 1 | index in the pool 1 a quarter comes from another item
//!        | 3 | part 1 | bytes 32            a quarter is replaced
//!        | n | seed 1                       what `adversary::spoil` does in its way n - 4
//! ```
//!
//! Valid signatures cannot be guessed, so that the fuzzer starts from a pool of them.

use std::sync::OnceLock;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use zeolite_proto::{EventId, PubKey, Signature};
use zeolite_schnorr::{Backend, Verifier};

use crate::adversary::{self, Item};

/// Enough that points meet and batches are halved twice.
const ITEMS_MAX: usize = 48;

/// Panics when a batch is not answered as k256 answers each item.
pub(crate) fn check(data: &[u8]) {
    let items = batch(data);
    let expected: Vec<bool> = items.iter().map(adversary::expected).collect();
    for backend in [Backend::Portable, Backend::Ifma].into_iter().filter(|it| it.is_available()) {
        let verdicts = Verifier::with_backend(16, backend).verify_batch(&items);
        assert_eq!(verdicts, expected, "{backend:?}");
    }
}

/// The batch that `data` describes, up to where it ends.
pub(crate) fn batch(mut data: &[u8]) -> Vec<Item> {
    let mut items = Vec::new();
    while items.len() < ITEMS_MAX {
        let Some(item) = item(&mut data) else { break };
        items.push(item);
    }
    items
}

fn item(data: &mut &[u8]) -> Option<Item> {
    let mut item = pooled(byte(data)?);
    match byte(data)? {
        0 => {}
        1 => {
            let (place, mask) = (usize::from(byte(data)?) % 128, byte(data)?);
            let mut bytes = to_bytes(&item);
            bytes[place] ^= mask;
            item = from_bytes(&bytes);
        }
        2 => {
            let (part, other) = (byte(data)?, to_bytes(&pooled(byte(data)?)));
            let range = quarter(part);
            let mut bytes = to_bytes(&item);
            bytes[range.clone()].copy_from_slice(&other[range]);
            item = from_bytes(&bytes);
        }
        3 => {
            let mut bytes = to_bytes(&item);
            bytes[quarter(byte(data)?)].copy_from_slice(data.split_off(..32)?);
            item = from_bytes(&bytes);
        }
        way => {
            let seed = byte(data)?;
            let mut rng = ChaCha8Rng::seed_from_u64(seed.into());
            adversary::spoil(&mut item, &pooled(seed), (way - 4) % adversary::SPOILS, &mut rng);
        }
    }
    Some(item)
}

fn byte(data: &mut &[u8]) -> Option<u8> {
    data.split_off_first().copied()
}

fn quarter(part: u8) -> std::ops::Range<usize> {
    let start = usize::from(part % 4) * 32;
    start..start + 32
}

fn pooled(index: u8) -> Item {
    static POOL: OnceLock<Vec<Item>> = OnceLock::new();
    let pool = POOL.get_or_init(|| {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut pool = adversary::plain(&mut rng, 64);
        pool.extend(adversary::crafted(&mut rng));
        pool
    });
    pool[usize::from(index) % pool.len()]
}

fn to_bytes((key, id, sig): &Item) -> [u8; 128] {
    let mut bytes = [0; 128];
    bytes[..32].copy_from_slice(&key.0);
    bytes[32..64].copy_from_slice(&id.0);
    bytes[64..].copy_from_slice(&sig.0);
    bytes
}

fn from_bytes(bytes: &[u8; 128]) -> Item {
    let part = |start: usize| bytes[start..start + 32].try_into().expect("a quarter");
    let sig = bytes[64..].try_into().expect("the other half");
    (PubKey(part(0)), EventId(part(32)), Signature(sig))
}
