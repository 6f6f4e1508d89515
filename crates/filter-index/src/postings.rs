//! From the hash of a key to the subscribers filed under it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::limits::SHARDS;

/// A subscriber in a list, and which of its filings this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) slot: u32,
    pub(crate) filing: u32,
}

/// Most keys have one subscriber: they need no list on the heap.
enum List {
    One(Entry),
    #[allow(clippy::box_collection, reason = "keeps the entry of every other key 8 bytes smaller")]
    Many(Box<Vec<Entry>>),
}

/// All lists. An entry is addressed by its hash and its position in the list.
pub(crate) struct Postings {
    shards: Box<[Shard]>,
}

type Shard = HashMap<u64, List, BuildHasherDefault<Hashed>>;

impl Postings {
    pub(crate) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }

    /// The subscribers under this hash.
    pub(crate) fn get(&self, hash: u64) -> &[Entry] {
        match self.shards[shard_of(hash)].get(&hash) {
            None => &[],
            Some(List::One(entry)) => std::slice::from_ref(entry),
            Some(List::Many(entries)) => entries,
        }
    }

    /// Appends to the list of this hash; the answer is the entry's position.
    pub(crate) fn push(&mut self, hash: u64, entry: Entry) -> u32 {
        let shard = &mut self.shards[shard_of(hash)];
        let position = match shard.get_mut(&hash) {
            None => {
                shard.insert(hash, List::One(entry));
                0
            }
            Some(list) => list.push(entry),
        };
        u32::try_from(position).expect("no more entries in a list than slots")
    }

    /// Takes the entry at `position` out. If another moved into its place, the answer is that
    /// one.
    pub(crate) fn swap_remove(&mut self, hash: u64, position: u32) -> Option<Entry> {
        let shard = &mut self.shards[shard_of(hash)];
        let list = shard.get_mut(&hash).expect("a filed key has a list");
        if let List::Many(entries) = list {
            let moved = swap_remove(entries, position as usize);
            if let [last] = entries[..] {
                *list = List::One(last);
            }
            return moved;
        }
        debug_assert_eq!(position, 0, "a single entry stands at the front");
        shard.remove(&hash);
        if shard.len() < shard.capacity() / 8 {
            shard.shrink_to(shard.len() * 2);
        }
        None
    }

    /// Bytes on the heap. Walks all lists.
    pub(crate) fn heap_bytes(&self) -> usize {
        let lists: usize = self.shards.iter().flat_map(HashMap::values).map(List::heap_bytes).sum();
        // One control byte per bucket; the standard map fills seven of eight buckets.
        let bucket = size_of::<(u64, List)>() + 1;
        let maps: usize = self.shards.iter().map(|shard| shard.capacity() * 8 / 7 * bucket).sum();
        lists + maps + SHARDS * size_of::<Shard>()
    }
}

impl List {
    fn push(&mut self, entry: Entry) -> usize {
        match self {
            Self::One(first) => {
                *self = Self::Many(Box::new(vec![*first, entry]));
                1
            }
            Self::Many(entries) => {
                entries.push(entry);
                entries.len() - 1
            }
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(entries) => {
                size_of::<Vec<Entry>>() + entries.capacity() * size_of::<Entry>()
            }
        }
    }
}

fn swap_remove(entries: &mut Vec<Entry>, position: usize) -> Option<Entry> {
    entries.swap_remove(position);
    if entries.capacity() > 16 && entries.len() < entries.capacity() / 4 {
        entries.shrink_to(entries.capacity() / 2);
    }
    entries.get(position).copied()
}

/// The maps inside the shards use the low and the highest bits, so the shard takes some between.
fn shard_of(hash: u64) -> usize {
    (hash >> 32) as usize % SHARDS
}

/// The keys are hashes already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are written as u64");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
