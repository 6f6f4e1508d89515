//! The subscriptions and reconciliations that one connection holds.

use zeolite_proto::{Filter, SubId};

/// Names one REQ of one connection. A REQ that replaces another under the same id gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubKey(pub u64);

/// Names one reconciliation of one connection; a NEG-OPEN under an id in use gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NegKey(pub u64);

impl From<u64> for SubKey {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl From<u64> for NegKey {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

/// What is open under an id, and named by a key of type `K`. Sorted, because a vector of a few entries is smaller than any map.
pub(crate) struct Subscriptions<K> {
    open: Vec<Subscription<K>>,
    values: usize,
    keys_given: u64,
}

struct Subscription<K> {
    id: SubId,
    key: K,
    values: u32,
}

impl<K> Default for Subscriptions<K> {
    fn default() -> Self {
        Self { open: Vec::new(), values: 0, keys_given: 0 }
    }
}

impl<K: Copy + PartialEq + From<u64>> Subscriptions<K> {
    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// List entries in the filters of all that are open.
    pub(crate) fn values(&self) -> usize {
        self.values
    }

    /// Opens one under an id that is free.
    pub(crate) fn insert(&mut self, id: SubId, values: usize) -> K {
        let at = self.position(id.as_str()).expect_err("the id is free");
        let key = K::from(self.keys_given);
        self.keys_given += 1;
        self.values += values;
        let values = u32::try_from(values).expect("a message holds fewer values than bytes");
        self.open.insert(at, Subscription { id, key, values });
        key
    }

    /// The key of what is open under an id.
    pub(crate) fn key(&self, id: &str) -> Option<K> {
        self.position(id).ok().map(|at| self.open[at].key)
    }

    /// Frees an id.
    pub(crate) fn remove(&mut self, id: &str) -> Option<K> {
        self.position(id).ok().map(|at| self.remove_at(at))
    }

    /// Frees the id of one that somebody else ended. A key that was freed already is
    /// no error: both sides may end it at once.
    pub(crate) fn remove_key(&mut self, key: K) {
        if let Some(at) = self.open.iter().position(|sub| sub.key == key) {
            self.remove_at(at);
        }
    }

    fn remove_at(&mut self, at: usize) -> K {
        let gone = self.open.remove(at);
        self.values -= gone.values as usize;
        if self.open.is_empty() {
            self.open = Vec::new();
        }
        gone.key
    }

    fn position(&self, id: &str) -> Result<usize, usize> {
        self.open.binary_search_by(|sub| sub.id.as_str().cmp(id))
    }
}

/// List entries of some filters.
pub(crate) fn count_values(filters: &[Filter]) -> usize {
    let len = |list: Option<usize>| list.unwrap_or(0);
    let one = |filter: &Filter| {
        len(filter.ids.as_ref().map(|list| list.len()))
            + len(filter.authors.as_ref().map(|list| list.len()))
            + len(filter.kinds.as_ref().map(|list| list.len()))
            + filter.tags.iter().map(|tag| tag.values.len()).sum::<usize>()
    };
    filters.iter().map(one).sum()
}
