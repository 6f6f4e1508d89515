//! The points of recent public keys.
//!
//! ```text
//! hash(key) -> set -> up to WAYS entries, most recently used first
//! ```
//!
//! Each set has a lock of its own, held for a few copies and never for the square root. A full
//! set drops its least recently used entry, so the cache is bounded by construction. The hash is
//! keyed: a sender cannot choose keys that fall into one set.

use std::hash::{BuildHasher, RandomState};

use k256::AffinePoint;
use k256::elliptic_curve::point::AffineCoordinates;
use k256::schnorr::VerifyingKey;
use parking_lot::Mutex;
use zeolite_proto::PubKey;

use crate::field;
use crate::point::Affine;

/// Entries in a set: enough that keys rarely push each other out, few enough to walk.
const WAYS: usize = 4;

/// What is known of one key. `None`: no point has this x coordinate; a sender who repeats such a
/// key pays no more than for a good one.
#[derive(Clone, Copy)]
struct Entry {
    key: PubKey,
    point: Option<VerifyingKey>,
}

pub(crate) struct KeyCache {
    hasher: RandomState,
    sets: Box<[Mutex<Vec<Entry>>]>,
    ways: usize,
}

impl KeyCache {
    /// Room for at most `keys_max` keys. Memory is taken as keys arrive.
    pub(crate) fn new(keys_max: usize) -> Self {
        let ways = keys_max.clamp(1, WAYS);
        let sets = (0..keys_max / ways).map(|_| Mutex::default()).collect();
        Self { hasher: RandomState::new(), sets, ways }
    }

    /// The point with this x coordinate and an even y, if there is one.
    pub(crate) fn lift(&self, key: &PubKey) -> Option<VerifyingKey> {
        self.recall(key).unwrap_or_else(|| {
            let point = lift(key);
            self.remember(key, point);
            point
        })
    }

    /// What [`KeyCache::lift`] would say, if that is known.
    pub(crate) fn recall(&self, key: &PubKey) -> Option<Option<VerifyingKey>> {
        let entry = recall(&mut self.set_of(key)?.lock(), key)?;
        Some(entry.point)
    }

    /// Remembers what was found by lifting a key.
    pub(crate) fn remember(&self, key: &PubKey, point: Option<VerifyingKey>) {
        if let Some(set) = self.set_of(key) {
            self.insert(&mut set.lock(), Entry { key: *key, point });
        }
    }

    fn set_of(&self, key: &PubKey) -> Option<&Mutex<Vec<Entry>>> {
        let index = self.hasher.hash_one(key) as usize;
        self.sets.get(index.checked_rem(self.sets.len())?)
    }

    fn insert(&self, set: &mut Vec<Entry>, entry: Entry) {
        // Another thread may have lifted the same key meanwhile.
        if recall(set, &entry.key).is_some() {
            return;
        }
        if set.is_empty() {
            set.reserve_exact(self.ways);
        }
        set.truncate(self.ways - 1);
        set.insert(0, entry);
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.sets.iter().map(|set| set.lock().len()).sum()
    }
}

/// Finds a key and moves it to the front.
fn recall(set: &mut [Entry], key: &PubKey) -> Option<Entry> {
    let index = set.iter().position(|entry| entry.key == *key)?;
    set[..=index].rotate_right(1);
    Some(set[0])
}

fn lift(key: &PubKey) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(&key.0.into()).ok()
}

/// k256's form of a lifted key.
pub(crate) fn verifying_key(point: &Affine) -> Option<VerifyingKey> {
    let [x, y] = [&point.x, &point.y].map(|value| field::bytes(value).into());
    let point: Option<AffinePoint> = AffinePoint::from_coordinates(&x, &y).into();
    VerifyingKey::try_from(point?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> PubKey {
        let mut bytes = [0; 32];
        bytes[24..].copy_from_slice(&number.to_be_bytes());
        PubKey(bytes)
    }

    /// Half of all x coordinates have no point, so both kinds of answer are among these.
    #[test]
    fn answers_do_not_depend_on_the_size() {
        for keys_max in [0, 1, 2, 5, 100_000] {
            let cache = KeyCache::new(keys_max);
            for number in (0..300).chain(0..300) {
                let point = cache.lift(&key(number));
                assert_eq!(point, lift(&key(number)), "key {number}, size {keys_max}");
            }
        }
    }

    #[test]
    fn never_more_keys_than_asked_for() {
        for keys_max in [0, 1, 2, 3, 4, 5, 7, 64, 1000] {
            let cache = KeyCache::new(keys_max);
            // The hash differs in every run. Sets hold 80 of these keys on average and more; that
            // one gets fewer than WAYS will not happen.
            (0..20_000).for_each(|number| cache.remember(&key(number), None));
            assert!(cache.len() <= keys_max, "{} keys, asked for {keys_max}", cache.len());
            // Rounding down to whole sets costs fewer than one set.
            assert!(cache.len() + WAYS > keys_max, "{} of {keys_max} used", cache.len());
        }
    }

    #[test]
    fn the_least_recently_used_key_goes() {
        let cache = KeyCache::new(WAYS);
        let held = |cache: &KeyCache| -> Vec<PubKey> {
            cache.sets[0].lock().iter().map(|entry| entry.key).collect()
        };
        for number in [1, 2, 3, 4, 1, 5] {
            cache.lift(&key(number));
        }
        assert_eq!(held(&cache), [5, 1, 4, 3].map(key));
    }

    #[test]
    fn threads_share_it() {
        let cache = KeyCache::new(8);
        std::thread::scope(|scope| {
            for start in 0..4 {
                let cache = &cache;
                scope.spawn(move || {
                    for number in start..start + 100 {
                        assert_eq!(cache.lift(&key(number % 20)), lift(&key(number % 20)));
                    }
                });
            }
        });
        assert!(cache.len() <= 8);
    }
}
