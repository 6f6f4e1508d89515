//! The points of recent public keys.
//!
//! ```text
//! hash(key) -> set -> up to WAYS keys, each with its y: a line of memory apiece
//! ```
//!
//! Nobody waits for anybody. A reader looks at the version of a set before and after it read a key: if a
//! writer was there meanwhile, the key counts as not found. A writer that finds another in its set goes
//! away. So a batch's look-ups wait for memory side by side; a lock for each would put them in a row.
//!
//! A key that was asked for again stays when another needs its place, once. The hash is keyed: a sender
//! cannot choose keys that fall into one set.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use k256::AffinePoint;
use k256::elliptic_curve::point::AffineCoordinates;
use k256::schnorr::VerifyingKey;
use zeolite_proto::PubKey;

use crate::field;
use crate::point::Affine;

/// Keys in a set: enough that keys rarely push each other out, few enough to walk.
const WAYS: usize = 4;

/// 32 bytes in memory that threads share.
type Words = [AtomicU64; 4];

/// A key and the y of its point. Zero is no point's y and stands for keys that have no point; a sender
/// who repeats such a key pays no more than for a good one. All zero is right as well: no point has the
/// x coordinate zero.
#[derive(Default)]
struct Way {
    x: Words,
    y: Words,
}

#[derive(Default)]
#[repr(align(64))]
struct Set {
    /// Odd while a writer is there; otherwise counts writers.
    version: AtomicU32,
    /// Bit k: way k was asked for again.
    used: AtomicU32,
    /// Where the next key looks for room first.
    hand: AtomicU32,
    /// A part of each key's hash, which spares looking at the others; 0 where there is none.
    tags: [AtomicU32; WAYS],
    ways: [Way; WAYS],
}

pub(crate) struct KeyCache {
    hasher: RandomState,
    sets: Box<[Set]>,
    /// Of each set; fewer than [`WAYS`] in a very small cache.
    ways: usize,
}

impl KeyCache {
    /// Room for at most `keys_max` keys, taken at once.
    pub(crate) fn new(keys_max: usize) -> Self {
        let ways = keys_max.clamp(1, WAYS);
        let sets = (0..keys_max / ways).map(|_| Set::default()).collect();
        Self { hasher: RandomState::new(), sets, ways }
    }

    /// The point with this x coordinate and an even y, if there is one.
    pub(crate) fn lift(&self, key: &PubKey) -> Option<VerifyingKey> {
        if let Some(point) = self.recall(key) {
            return verifying_key(&point?);
        }
        let point = lift(key);
        self.remember(key, point.map(|key| Affine::from_k256(key.as_affine())).as_ref());
        point
    }

    /// What [`KeyCache::lift`] would say, if that is known.
    pub(crate) fn recall(&self, key: &PubKey) -> Option<Option<Affine>> {
        self.recall_hashed(self.hash(key), key)
    }

    /// Names a key to this cache.
    pub(crate) fn hash(&self, key: &PubKey) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Has the memory brought near in which a key is, if it is remembered. Many of these before many
    /// look-ups make them wait for all at once.
    pub(crate) fn approach(&self, hash: u64) {
        if let Some((set, tag)) = self.set_of(hash) {
            // No branch that could be guessed wrong: way 0 if it is in none.
            let way = (1..WAYS).filter(|way| set.tags[*way].load(Ordering::Relaxed) == tag);
            std::hint::black_box(set.ways[way.sum::<usize>() % WAYS].y[0].load(Ordering::Relaxed));
        }
    }

    /// [`KeyCache::recall`] of a key with this hash.
    pub(crate) fn recall_hashed(&self, hash: u64, key: &PubKey) -> Option<Option<Affine>> {
        let (set, tag) = self.set_of(hash)?;
        let y = set.read(tag, &key.0)?;
        // Zero is a number below p, but no point's y.
        Some((y != [0; 32]).then(|| Affine {
            x: field::parse(&key.0).expect("keys with a point are below p"),
            y: field::parse(&y).expect("a y was written from a point"),
        }))
    }

    /// Remembers what was found by lifting a key.
    pub(crate) fn remember(&self, key: &PubKey, point: Option<&Affine>) {
        if let Some((set, tag)) = self.set_of(self.hash(key)) {
            let y = point.map_or([0; 32], |point| field::bytes(&point.y));
            set.write(tag, &key.0, &y, self.ways);
        }
    }

    fn set_of(&self, hash: u64) -> Option<(&Set, u32)> {
        let set = self.sets.get((hash as usize).checked_rem(self.sets.len())?)?;
        Some((set, (hash >> 32) as u32 | 1))
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let tags = self.sets.iter().flat_map(|set| &set.tags);
        tags.filter(|tag| tag.load(Ordering::Relaxed) != 0).count()
    }
}

impl Set {
    /// The y of a key.
    fn read(&self, tag: u32, x: &[u8; 32]) -> Option<[u8; 32]> {
        let version = self.version.load(Ordering::Acquire);
        let (way, y) = self.find(tag, x)?;
        // What was read is of one piece if no writer came before this.
        fence(Ordering::Acquire);
        if version % 2 == 1 || self.version.load(Ordering::Relaxed) != version {
            return None;
        }
        let used = self.used.load(Ordering::Relaxed);
        if used >> way & 1 == 0 {
            // Threads may overwrite each other's bits, which costs a key its place at worst.
            self.used.store(used | 1 << way, Ordering::Relaxed);
        }
        Some(y)
    }

    /// The way of a key, and its y.
    fn find(&self, tag: u32, x: &[u8; 32]) -> Option<(usize, [u8; 32])> {
        let tagged = |way: &usize| self.tags[*way].load(Ordering::Relaxed) == tag;
        let mut ways = (0..WAYS).filter(tagged);
        ways.find_map(|way| {
            let Way { x: found, y } = &self.ways[way];
            (load(found) == *x).then(|| (way, load(y)))
        })
    }

    /// Writes a key into the first `ways`, unless another writer is there.
    fn write(&self, tag: u32, x: &[u8; 32], y: &[u8; 32], ways: usize) {
        let version = self.version.load(Ordering::Relaxed);
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        let is_ours = version.is_multiple_of(2)
            && self.version.compare_exchange(version, version + 1, acquire, relaxed).is_ok();
        if !is_ours {
            return;
        }
        // No reader sees what follows with the old version.
        fence(Ordering::Release);
        // Another thread may have lifted the same key meanwhile.
        if self.find(tag, x).is_none() {
            let way = self.make_room(ways);
            self.tags[way].store(tag, Ordering::Relaxed);
            store(&self.ways[way].x, x);
            store(&self.ways[way].y, y);
        }
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    /// A way to write to: from where the last search ended, the first that was not asked for again.
    fn make_room(&self, ways: usize) -> usize {
        let mut way = self.hand.load(Ordering::Relaxed) as usize;
        let mut used = self.used.load(Ordering::Relaxed);
        while used >> way & 1 == 1 {
            used &= !(1 << way);
            way = (way + 1) % ways;
        }
        self.used.store(used, Ordering::Relaxed);
        self.hand.store(((way + 1) % ways) as u32, Ordering::Relaxed);
        way
    }
}

fn load(words: &Words) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
    }
    bytes
}

fn store(words: &Words, bytes: &[u8; 32]) {
    for (word, chunk) in words.iter().zip(bytes.as_chunks::<8>().0) {
        word.store(u64::from_ne_bytes(*chunk), Ordering::Relaxed);
    }
}

fn lift(key: &PubKey) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(&key.0.into()).ok()
}

/// k256's form of a lifted key.
fn verifying_key(point: &Affine) -> Option<VerifyingKey> {
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
    fn what_is_remembered_is_recalled() {
        let cache = KeyCache::new(4096);
        for number in 0..300 {
            let point = cache.lift(&key(number)).map(|key| Affine::from_k256(key.as_affine()));
            let coordinates = |point: &Affine| (field::bytes(&point.x), field::bytes(&point.y));
            let recalled = cache.recall(&key(number)).expect("nothing came after it");
            assert_eq!(recalled.as_ref().map(coordinates), point.as_ref().map(coordinates));
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

    /// In a cache of one set, whatever the hash.
    #[test]
    fn a_key_that_is_asked_for_again_stays() {
        let cache = KeyCache::new(WAYS);
        let held = |numbers: &[u64]| numbers.iter().all(|it| cache.recall(&key(*it)).is_some());
        for number in 1..=4 {
            cache.lift(&key(number));
        }
        cache.lift(&key(1));
        cache.lift(&key(5));
        assert!(
            cache.sets[0]
                .find(cache.set_of(cache.hash(&key(2))).expect("a set").1, &key(2).0)
                .is_none()
        );
        assert!(held(&[1, 3, 4, 5]));
        // All were asked for: the oldest place is as good as any.
        cache.lift(&key(6));
        assert!(held(&[6]));
        assert_eq!(cache.len(), WAYS);
    }

    /// Two threads write the sets that all read; whatever is recalled is right.
    #[test]
    fn threads_share_it() {
        let cache = KeyCache::new(8);
        let expected: Vec<_> = (0..24).map(|number| lift(&key(number))).collect();
        std::thread::scope(|scope| {
            for start in 0..4 {
                let (cache, expected) = (&cache, &expected);
                scope.spawn(move || {
                    for number in (start..start + 5000).map(|number| number % 24) {
                        assert_eq!(cache.lift(&key(number)), expected[number as usize]);
                    }
                });
            }
        });
        assert!(cache.len() <= 8);
    }
}
