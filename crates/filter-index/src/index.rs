//! The index.

use std::sync::Arc;

use zeolite_proto::Filter;

use crate::fields::EventFields;
use crate::filing::push_keys;
use crate::key::{Family, Key, Keyer};
use crate::limits::{KEYS_COMPARED_MAX, SCRATCH_KEYS_MAX};
use crate::postings::{Entry, Postings};
use crate::slots::Slots;

/// Standing filters, each set of them with its subscriber.
///
/// Lookups take `&mut self` because they mark whom they have seen. They allocate nothing, but for
/// events with so many tags that sorting these pays.
pub struct FilterIndex<S> {
    slots: Slots<Slot<S>>,
    postings: Postings,
    keyer: Keyer,
    /// How many keys of each family are filed: an event need not try its keys of the others.
    filed: [usize; 256],
    len: usize,
    inserts: u64,
    lookups: u64,
    scratch: Vec<Key>,
}

/// Names one subscriber, from its insertion to its removal. Never used again for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    slot: u32,
    insert: u64,
}

struct Slot<S> {
    insert: u64,
    /// The last lookup that came by: a subscriber is looked at once per event.
    lookup: u64,
    filters: Arc<[Filter]>,
    filings: Filings,
    subscriber: S,
}

/// One key under which a subscriber is filed, and where in the list of that key.
#[derive(Clone, Copy)]
struct Filing {
    hash: u64,
    position: u32,
    family: Family,
}

/// Most subscribers have a single key: it needs no allocation.
enum Filings {
    One(Filing),
    Many(Box<[Filing]>),
}

impl<S> Default for FilterIndex<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> FilterIndex<S> {
    /// An empty index.
    pub fn new() -> Self {
        Self {
            slots: Slots::new(),
            postings: Postings::new(),
            keyer: Keyer::new(),
            filed: [0; 256],
            len: 0,
            inserts: 0,
            lookups: 0,
            scratch: Vec::new(),
        }
    }

    /// The number of subscribers.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if nobody subscribes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a subscriber, who wants what any of `filters` wants.
    pub fn insert(&mut self, filters: impl Into<Arc<[Filter]>>, subscriber: S) -> Handle {
        let filters = filters.into();
        let mut keys = std::mem::take(&mut self.scratch);
        for filter in filters.iter() {
            push_keys(filter, &self.keyer, &self.postings, &mut keys);
        }
        distinct(&mut keys);
        self.inserts += 1;
        let insert = self.inserts;
        let filings = Filings::Many(Box::default());
        let slot = self.slots.insert(Slot { insert, lookup: 0, filters, filings, subscriber });
        let filings = Filings::collect(keys.iter().enumerate().map(|(filing, key)| {
            self.filed[usize::from(key.family.0)] += 1;
            let position = self.postings.push(key.hash, Entry { slot, filing: filing as u32 });
            Filing { hash: key.hash, position, family: key.family }
        }));
        self.slots.get_mut(slot).expect("just inserted").filings = filings;
        self.len += 1;
        self.keep_scratch(keys);
        Handle { slot, insert }
    }

    /// Takes a subscriber out. `None` if it is not in the index any more.
    pub fn remove(&mut self, handle: Handle) -> Option<S> {
        self.get(handle)?;
        // The slot stays until its last filing is gone: one of them may move another of them.
        for at in 0.. {
            let Some(filing) = self.filing(handle.slot, at) else { break };
            self.filed[usize::from(filing.family.0)] -= 1;
            if let Some(moved) = self.postings.swap_remove(filing.hash, filing.position) {
                let owner = self.slots.get_mut(moved.slot).expect("listed subscribers exist");
                owner.filings.as_mut_slice()[moved.filing as usize].position = filing.position;
            }
        }
        let slot = self.slots.remove(handle.slot)?;
        self.len -= 1;
        Some(slot.subscriber)
    }

    fn filing(&self, slot: u32, at: usize) -> Option<Filing> {
        self.slots.get(slot)?.filings.as_slice().get(at).copied()
    }

    /// The subscriber with this handle.
    pub fn get(&self, handle: Handle) -> Option<&S> {
        let slot = self.slots.get(handle.slot)?;
        (slot.insert == handle.insert).then_some(&slot.subscriber)
    }

    /// The subscriber with this handle.
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut S> {
        let slot = self.slots.get_mut(handle.slot)?;
        (slot.insert == handle.insert).then_some(&mut slot.subscriber)
    }

    /// The filters of a subscriber.
    pub fn filters(&self, handle: Handle) -> Option<&Arc<[Filter]>> {
        let slot = self.slots.get(handle.slot)?;
        (slot.insert == handle.insert).then_some(&slot.filters)
    }

    /// Reports every subscriber who may want the event, and perhaps some who do not, each once.
    pub fn candidates<E: EventFields>(&mut self, event: &E, mut found: impl FnMut(Handle, &S)) {
        self.look_up(event, |handle, slot| found(handle, &slot.subscriber));
    }

    /// Reports every subscriber who wants the event, each once, in no particular order.
    pub fn matches<E: EventFields>(&mut self, event: &E, mut found: impl FnMut(Handle, &S)) {
        let satisfies = event.matcher();
        self.look_up(event, |handle, slot| {
            if slot.filters.iter().any(&satisfies) {
                found(handle, &slot.subscriber);
            }
        });
    }

    fn look_up<E: EventFields>(&mut self, event: &E, mut visit: impl FnMut(Handle, &Slot<S>)) {
        let mut keys = std::mem::take(&mut self.scratch);
        self.push_event_keys(event, &mut keys);
        self.lookups += 1;
        for key in &keys {
            for entry in self.postings.get(key.hash) {
                let slot = self.slots.get_mut(entry.slot).expect("listed subscribers exist");
                if slot.lookup != self.lookups {
                    slot.lookup = self.lookups;
                    visit(Handle { slot: entry.slot, insert: slot.insert }, slot);
                }
            }
        }
        self.keep_scratch(keys);
    }

    /// The distinct keys of an event, in every dimension under which something is filed.
    fn push_event_keys<E: EventFields>(&self, event: &E, keys: &mut Vec<Key>) {
        let filed = |family: Family| self.filed[usize::from(family.0)] > 0;
        event.for_each_letter_tag(|letter, value| {
            if filed(Family(letter)) {
                keys.push(self.keyer.tag(letter, value));
            }
        });
        distinct(keys);
        if filed(Family::ID) {
            keys.push(self.keyer.id(&event.id()));
        }
        if filed(Family::AUTHOR) {
            keys.push(self.keyer.author(&event.author()));
        }
        if filed(Family::AUTHOR_KIND) {
            keys.push(self.keyer.author_kind(&event.author(), event.kind()));
        }
        if filed(Family::KIND) {
            keys.push(self.keyer.kind(event.kind()));
        }
        if filed(Family::UNINDEXED) {
            keys.push(self.keyer.unindexed());
        }
    }

    fn keep_scratch(&mut self, mut keys: Vec<Key>) {
        keys.clear();
        keys.shrink_to(SCRATCH_KEYS_MAX);
        self.scratch = keys;
    }

    /// Bytes that the index has on the heap, the filters' own aside. Walks everything.
    pub fn heap_bytes(&self) -> usize {
        let filings: usize = self.slots.iter().map(|slot| slot.filings.heap_bytes()).sum();
        let scratch = self.scratch.capacity() * size_of::<Key>();
        filings + scratch + self.slots.heap_bytes() + self.postings.heap_bytes()
    }
}

/// Drops doubles. Few keys keep their order, so that a seeded simulation sees subscribers in the
/// same order in every process.
fn distinct(keys: &mut Vec<Key>) {
    if keys.len() > KEYS_COMPARED_MAX {
        keys.sort_unstable();
        return keys.dedup();
    }
    let mut at = 1;
    while at < keys.len() {
        if keys[..at].contains(&keys[at]) {
            keys.remove(at);
        } else {
            at += 1;
        }
    }
}

impl Filings {
    fn collect(filings: impl ExactSizeIterator<Item = Filing>) -> Self {
        let mut filings = filings;
        if filings.len() == 1 {
            Self::One(filings.next().expect("there is one"))
        } else {
            Self::Many(filings.collect())
        }
    }

    fn as_slice(&self) -> &[Filing] {
        match self {
            Self::One(filing) => std::slice::from_ref(filing),
            Self::Many(filings) => filings,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Filing] {
        match self {
            Self::One(filing) => std::slice::from_mut(filing),
            Self::Many(filings) => filings,
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(filings) => size_of_val::<[Filing]>(filings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeolite_proto::{EventId, Kind, PubKey, TagStr};

    /// An event that counts how often a filter looks at it.
    struct Counted<'t> {
        tags: &'t [(u8, &'t str)],
        looks: std::cell::Cell<usize>,
    }

    impl EventFields for Counted<'_> {
        fn id(&self) -> EventId {
            EventId([7; 32])
        }

        fn author(&self) -> PubKey {
            PubKey([7; 32])
        }

        fn kind(&self) -> Kind {
            Kind(7)
        }

        fn for_each_letter_tag(&self, mut visit: impl FnMut(u8, TagStr<'_>)) {
            self.tags
                .iter()
                .for_each(|(letter, text)| visit(*letter, TagStr::Text(text.as_bytes())));
        }

        fn matcher(&self) -> impl Fn(&Filter) -> bool {
            |_| {
                self.looks.set(self.looks.get() + 1);
                false
            }
        }
    }

    fn filter(json: &str) -> Filter {
        Filter::from_json(json).expect("a filter")
    }

    /// Each distinct tag is one probe, and a subscriber found by several is looked at once.
    #[test]
    fn repeated_tags_cost_one_probe() {
        let mut index = FilterIndex::new();
        index.insert([filter(r##"{"#t":["a","b","c"]}"##)], ());
        let tags = [(b't', "a"), (b't', "b"), (b'u', "a"), (b't', "b")].repeat(500);
        let event = Counted { tags: &tags, looks: 0.into() };
        let mut keys = Vec::new();
        index.push_event_keys(&event, &mut keys);
        assert_eq!(keys.len(), 2, "nothing is filed under the letter u");
        index.matches(&event, |_, ()| unreachable!("no filter is satisfied"));
        assert_eq!(event.looks.get(), 1);
    }

    /// Lookup follows hits: of many subscribers only those that share a key are looked at.
    #[test]
    fn strangers_are_not_looked_at() {
        let mut index = FilterIndex::new();
        for number in 0..1000 {
            index.insert([filter(&format!(r##"{{"#t":["{number}"]}}"##))], ());
            index.insert([filter(&format!(r#"{{"kinds":[{}]}}"#, 1000 + number))], ());
        }
        let event = Counted { tags: &[(b't', "500"), (b't', "none")], looks: 0.into() };
        index.matches(&event, |_, ()| unreachable!("no filter is satisfied"));
        assert_eq!(event.looks.get(), 1);
    }

    /// A handle names one insertion, even after its place is used again.
    #[test]
    fn handles_do_not_outlive_their_subscriber() {
        let mut index = FilterIndex::new();
        let first = index.insert([filter("{}")], 1);
        assert_eq!(index.remove(first), Some(1));
        let second = index.insert([filter("{}")], 2);
        assert_eq!((first.slot, second.slot), (0, 0));
        assert_eq!(index.remove(first), None);
        assert_eq!(index.get(first), None);
        assert_eq!(index.get_mut(first), None);
        assert_eq!((index.get(second), index.len()), (Some(&2), 1));
        assert_eq!(index.filters(second).map(|filters| filters.len()), Some(1));
    }

    /// Memory follows the subscribers that are there, not those that ever were.
    #[test]
    fn memory_returns_after_churn() {
        let mut index = FilterIndex::new();
        let empty = index.heap_bytes();
        let mut held = std::collections::VecDeque::new();
        let insert = |index: &mut FilterIndex<()>, number: u32| {
            let filters = [
                filter(&format!(r##"{{"#t":["x","{number}","{}"]}}"##, number + 1)),
                filter(&format!(r#"{{"kinds":[{}]}}"#, number % 50)),
            ];
            index.insert(filters, ())
        };
        for number in 0..1000 {
            held.push_back(insert(&mut index, number));
        }
        let thousand = index.heap_bytes();
        for number in 1000..30_000 {
            held.push_back(insert(&mut index, number));
            let oldest = held.pop_front().expect("a thousand are held");
            index.remove(oldest).expect("held subscribers are there");
        }
        assert!(index.heap_bytes() < 2 * thousand, "{} of {thousand}", index.heap_bytes());
        for number in 30_000..60_000 {
            held.push_back(insert(&mut index, number));
        }
        for handle in held.drain(..) {
            index.remove(handle).expect("held subscribers are there");
        }
        assert!(index.is_empty() && index.filed == [0; 256]);
        let left = index.heap_bytes() - empty;
        assert!(left < 128 * 1024, "{left} bytes left");
    }
}
