//! A quick "not here" for ids.

use zeolite_proto::EventId;

use crate::keys::IndexKey;

/// Bits for each id: one look in 32 says "perhaps" wrongly.
const BITS_PER_ID: usize = 32;
const WORD_BITS: usize = u64::BITS as usize;

/// A set of ids that is sometimes wrong when it says "perhaps", never when it says "no".
///
/// It is one bit for each place that the first eight bytes of an id can be scaled to. Ids are
/// hashes, so they spread evenly; whoever grinds ids that do not makes look-ups slower, not wrong.
pub(crate) struct IdFilter {
    words: Vec<u64>,
}

impl IdFilter {
    /// The filter of the ids in these keys of the id family.
    pub(crate) fn new(keys: &[IndexKey]) -> Self {
        let words = vec![0; (keys.len() * BITS_PER_ID).div_ceil(WORD_BITS)];
        let mut filter = Self { words };
        for key in keys {
            let place = filter.place(key.id_head());
            filter.words[place / WORD_BITS] |= 1 << (place % WORD_BITS);
        }
        filter
    }

    pub(crate) fn may_contain(&self, id: &EventId) -> bool {
        let place = self.place(*id.0.first_chunk().expect("an id has 32 bytes"));
        self.words.get(place / WORD_BITS).is_some_and(|word| word >> (place % WORD_BITS) & 1 == 1)
    }

    fn place(&self, head: [u8; 8]) -> usize {
        let bits = (self.words.len() * WORD_BITS) as u128;
        ((u128::from(u64::from_be_bytes(head)) * bits) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use zeolite_proto::Seq;

    #[test]
    fn members_are_never_missed_and_others_mostly_are() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for count in [0, 1, 2, 1_000] {
            let mut ids: Vec<_> = (0..count).map(|_| EventId(rng.random())).collect();
            ids.extend([EventId([0; 32]), EventId([0xff; 32])].into_iter().take(count));
            let keys: Vec<_> = ids.iter().map(|id| IndexKey::of_id(id, Seq(1))).collect();
            let filter = IdFilter::new(&keys);
            assert!(ids.iter().all(|id| filter.may_contain(id)));
            let others = (0..1_000).filter(|_| filter.may_contain(&EventId(rng.random()))).count();
            assert!(others < 100, "{others} of 1,000 strangers among {count}");
        }
    }
}
