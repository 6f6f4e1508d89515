//! What lists of ids tell.

use std::collections::HashSet;

use zeolite_proto::EventId;

use crate::set::{Edge, Set};

/// The differences that one answer lists.
#[derive(Default)]
pub(crate) struct Found {
    /// Ids that only we have.
    pub(crate) have: Vec<EventId>,
    /// Ids that only the peer has.
    pub(crate) need: Vec<EventId>,
    /// `need` again, as a peer may list an id in several ranges.
    needed: HashSet<[u8; 32]>,
}

impl Found {
    /// Compares the ids that the peer has in a range with ours.
    pub(crate) fn compare<S: Set>(
        &mut self,
        set: &S,
        lower: &Edge,
        upper: &Edge,
        theirs: &[[u8; 32]],
    ) -> Result<(), S::Error> {
        let count = lower.count_to(upper);
        if count == 0 {
            self.needed.reserve(theirs.len());
            self.need.reserve(theirs.len());
            theirs.iter().for_each(|id| self.needs(id));
            return Ok(());
        }
        let id_at = |place: &usize| &theirs[*place];
        let mut sorted: Vec<usize> = (0..theirs.len()).collect();
        sorted.sort_unstable_by_key(|place| id_at(place));
        sorted.dedup_by_key(|place| id_at(place));
        let mut is_common = vec![false; sorted.len()];
        set.for_each(lower, count, &mut |item| match sorted
            .binary_search_by_key(&&item.id.0, |place| id_at(place))
        {
            Ok(at) => is_common[at] = true,
            Err(_) => self.have.push(item.id),
        })?;
        let mut is_common = is_common.into_iter();
        sorted.retain(|_| is_common.next() == Some(false));
        sorted.sort_unstable();
        sorted.iter().for_each(|place| self.needs(id_at(place)));
        Ok(())
    }

    fn needs(&mut self, id: &[u8; 32]) {
        if self.needed.insert(*id) {
            self.need.push(EventId(*id));
        }
    }
}
