//! A bounded memory of ids.

use std::collections::HashMap;

use zeolite_proto::EventId;

/// What is kept of an id. Half of it cannot be met by chance, and whoever grinds for it gains
/// that one event is not mirrored.
type Prefix = [u8; 16];

/// Remembers ids, each with a number. When it is full the oldest half is forgotten: it always
/// holds at least the latest half of what it may hold, and never more than that.
#[derive(Debug, Default)]
pub(super) struct Recall {
    young: HashMap<Prefix, u8>,
    old: HashMap<Prefix, u8>,
    generation_max: usize,
}

impl Recall {
    /// A memory of at most `ids_max` ids.
    pub(super) fn new(ids_max: usize) -> Self {
        Self { generation_max: (ids_max / 2).max(1), ..Self::default() }
    }

    /// Remembers the id as one of the latest.
    pub(super) fn insert(&mut self, id: &EventId, number: u8) {
        let prefix = prefix(id);
        if self.young.len() >= self.generation_max && !self.young.contains_key(&prefix) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(prefix, number);
    }

    /// The number of an id that is remembered.
    pub(super) fn get(&self, id: &EventId) -> Option<u8> {
        let prefix = prefix(id);
        self.young.get(&prefix).or_else(|| self.old.get(&prefix)).copied()
    }

    /// Whether the id is remembered.
    pub(super) fn contains(&self, id: &EventId) -> bool {
        self.get(id).is_some()
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.young = HashMap::new();
        self.old = HashMap::new();
    }
}

fn prefix(id: &EventId) -> Prefix {
    *id.0.first_chunk().expect("an id has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> EventId {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        EventId(bytes)
    }

    /// M-04: the latest half always stays, the whole never grows beyond its bound.
    #[test]
    fn the_oldest_ids_are_forgotten_first() {
        let mut recall = Recall::new(100);
        for number in 0..1000 {
            recall.insert(&id(number), 7);
            assert!(recall.young.len() + recall.old.len() <= 100, "after {number}");
            assert_eq!(recall.get(&id(number.saturating_sub(49))), Some(7), "after {number}");
        }
        assert!(!recall.contains(&id(800)));
    }

    /// M-04: a million remembered ids take less than 64 MB, also while a table grows.
    #[test]
    fn a_million_ids_stay_small() {
        let mut recall = Recall::new(1 << 20);
        let mut most = 0;
        for number in 0..(1 << 20) + 500_000 {
            recall.insert(&id(number), 0);
            // A table has 8/7 of its capacity in slots of an id, a number and a control byte. While
            // it grows there is the old one beside it, of half the size.
            let slots = |map: &HashMap<Prefix, u8>| map.capacity() * 8 / 7;
            let young = slots(&recall.young);
            most = most.max((young + young / 2 + slots(&recall.old)) * 18);
        }
        assert!(most < 64 << 20, "{most} bytes");
    }
}
