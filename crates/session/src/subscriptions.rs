//! The subscriptions that one connection holds.

use zeolite_proto::{Filter, SubId};

/// Names one REQ of one connection. A REQ that replaces another under the same id gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubKey(pub u64);

/// Open subscriptions by id. Sorted, because a vector of a few entries is smaller than any map.
#[derive(Default)]
pub(crate) struct Subscriptions {
    open: Vec<Subscription>,
    values: usize,
    keys_given: u64,
}

struct Subscription {
    id: SubId,
    key: SubKey,
    values: u32,
}

impl Subscriptions {
    /// Open subscriptions.
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// List entries in the filters of all open subscriptions.
    pub(crate) fn values(&self) -> usize {
        self.values
    }

    /// Opens a subscription under an id that is free.
    pub(crate) fn insert(&mut self, id: SubId, values: usize) -> SubKey {
        let at = self.position(id.as_str()).expect_err("the id is free");
        let key = SubKey(self.keys_given);
        self.keys_given += 1;
        self.values += values;
        let values = u32::try_from(values).expect("a message holds fewer values than bytes");
        self.open.insert(at, Subscription { id, key, values });
        key
    }

    /// Frees an id.
    pub(crate) fn remove(&mut self, id: &str) -> Option<SubKey> {
        self.position(id).ok().map(|at| self.remove_at(at))
    }

    /// Frees the id of a subscription that somebody else ended. A key that was freed already is
    /// no error: both sides may end it at once.
    pub(crate) fn remove_key(&mut self, key: SubKey) {
        if let Some(at) = self.open.iter().position(|sub| sub.key == key) {
            self.remove_at(at);
        }
    }

    fn remove_at(&mut self, at: usize) -> SubKey {
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
