//! Sets of ids as one short text.

use sha2::{Digest, Sha256};
use zeolite_proto::EventId;

use crate::limits::RESULT_IDS_MAX;
use crate::report::ResultIds;

/// The first 16 hex digits of SHA-256 over the concatenated lower-case hex ids, in this order.
pub fn fingerprint<'a>(ids: impl IntoIterator<Item = &'a EventId>) -> String {
    let mut hash = Sha256::new();
    let mut hex = Vec::with_capacity(64);
    for id in ids {
        hex.clear();
        id.push_hex(&mut hex);
        hash.update(&hex);
    }
    faster_hex::hex_string(&hash.finalize()[..8])
}

/// The ids of an answer, with the fingerprint of their sorted list.
pub fn result_ids(ids: &[EventId]) -> ResultIds {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    let listed = if ids.len() > RESULT_IDS_MAX { &[] } else { ids };
    ResultIds {
        count: ids.len() as u64,
        fingerprint: fingerprint(&sorted),
        ids: listed.iter().map(EventId::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fingerprint is that of the hex digits, and of the set whatever the order.
    #[test]
    fn fingerprints_are_of_hex_and_of_sets() {
        let (one, two) = (EventId([1; 32]), EventId([0xab; 32]));
        let expected = Sha256::digest(format!("{one}{two}").as_bytes());
        assert_eq!(fingerprint([&one, &two]), faster_hex::hex_string(&expected[..8]));
        let (left, right) = (result_ids(&[one, two]), result_ids(&[two, one]));
        assert_eq!(left.fingerprint, right.fingerprint);
        assert_ne!(left.ids, right.ids);
        assert_eq!(left.count, 2);
    }
}
