//! Sets of ids as one short text.

use zeolite_proto::EventId;

use crate::corpus::Fingerprint;
use crate::limits::RESULT_IDS_MAX;
use crate::report::ResultIds;

/// The ids of an answer, with the fingerprint of their sorted list.
pub(crate) fn result_ids(ids: &[EventId]) -> ResultIds {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    let listed = if ids.len() > RESULT_IDS_MAX { &[] } else { ids };
    ResultIds {
        count: ids.len() as u64,
        fingerprint: Fingerprint::of(&sorted).to_string(),
        ids: listed.iter().map(EventId::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fingerprint is that of the set, the list that of the answer.
    #[test]
    fn fingerprints_are_of_sets() {
        let (one, two) = (EventId([1; 32]), EventId([0xab; 32]));
        let (left, right) = (result_ids(&[one, two]), result_ids(&[two, one]));
        assert_eq!(left.fingerprint, Fingerprint::of(&[one, two]).to_string());
        assert_eq!(left.fingerprint, right.fingerprint);
        assert_ne!(left.ids, right.ids);
        assert_eq!(left.count, 2);
    }
}
