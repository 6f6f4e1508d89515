//! A batch: what one call of the admitter changes, on its way to the log.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use zeolite_proto::{Event, EventId, PubKey, Seq, Timestamp};

use crate::archive::{ArchiveCause, ArchivePart};
use crate::keys::AddressKey;
use crate::sums::{Change, Place};
use crate::version::Bar;

/// A key of the `deleted` table.
pub(crate) type TombstoneKey = [u8; 64];

pub(crate) fn tombstone_key(target: &EventId, deleter: &PubKey) -> TombstoneKey {
    let mut key = [0; 64];
    key[..32].copy_from_slice(&target.0);
    key[32..].copy_from_slice(&deleter.0);
    key
}

/// A stored event that goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Removed {
    pub(crate) seq: Seq,
    pub(crate) place: Place,
    /// Why the archive is to have it, if it is.
    pub(crate) archive_as: Option<ArchiveCause>,
}

/// Everything a batch changes. It is final once the batch is published; until it is committed
/// the head shows it to readers and to the admissions that follow.
#[derive(Default)]
pub(crate) struct Batch {
    /// Batches are numbered in the order of their admission, without gaps.
    pub(crate) number: u64,
    /// The highest seq admitted so far, by this batch or before it.
    pub(crate) last_seq: Seq,
    /// New events that the batch itself did not remove again, in seq order.
    pub(crate) events: Arc<[(Seq, Event)]>,
    /// Bytes of the records of these events.
    pub(crate) record_bytes: usize,
    /// Events of earlier batches that go, by seq.
    pub(crate) removed: Vec<Removed>,
    /// New events that the batch itself removed again, for the archive.
    pub(crate) archived: Vec<(ArchiveCause, Event)>,
    /// What leaves the archive at an operator's wish.
    pub(crate) archive_wipes: Vec<ArchivePart>,
    /// What comes and goes, in the order of the timeline.
    pub(crate) sum_changes: Vec<Change>,
    /// Targets that must not come (back), with who asked for it.
    pub(crate) tombstones: HashSet<TombstoneKey>,
    /// Addresses with their new bar.
    pub(crate) bars: HashMap<AddressKey, Bar>,
    /// Keys with the time of the newest request to vanish that they made.
    pub(crate) vanished: HashMap<PubKey, Timestamp>,
    /// Removals on behalf of such requests: still going on, or (`None`) done.
    pub(crate) vanishing: HashMap<PubKey, Option<Timestamp>>,
}

impl Batch {
    pub(crate) fn removes(&self, seq: Seq) -> bool {
        !self.removed.is_empty()
            && self.removed.binary_search_by_key(&seq, |removed| removed.seq).is_ok()
    }

    pub(crate) fn event(&self, seq: Seq) -> Option<&Event> {
        let at = self.events.binary_search_by_key(&seq, |(seq, _)| *seq).ok()?;
        Some(&self.events[at].1)
    }

    /// True if committing it would change nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
            && self.removed.is_empty()
            && self.archived.is_empty()
            && self.archive_wipes.is_empty()
            && self.tombstones.is_empty()
            && self.bars.is_empty()
            && self.vanished.is_empty()
            && self.vanishing.is_empty()
    }
}

/// A batch that the committer has not seen yet. Hand every one over, in the order of admission.
#[must_use = "a batch that is not committed is lost"]
pub struct PendingBatch(pub(crate) Arc<Batch>);

impl PendingBatch {
    /// New events in it.
    pub fn events(&self) -> usize {
        self.0.events.len()
    }

    /// Bytes of the records in it.
    pub fn bytes(&self) -> usize {
        self.0.record_bytes
    }
}
