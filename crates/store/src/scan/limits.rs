//! Bounds and cost figures of scans.

/// Entries of a walk's first refill. A twenty-row answer from one group takes two refills.
pub(crate) const REFILL_KEYS_MIN: usize = 8;

/// Entries of a late refill, 4 KiB. A refill costs about 1.5 us before its first entry: over 256
/// entries that is 6 ns each.
pub(crate) const REFILL_KEYS_MAX: usize = 256;

/// Groups of one candidate index that the planner reads from: 16 refills are about 30 us.
pub(crate) const PROBED_GROUPS_MAX: usize = 16;

/// Author and kind pairs up to which that index is considered. A walk takes about 250 bytes, so
/// one filter's walks take at most half a megabyte.
pub(crate) const PAIRS_MAX: usize = 2048;

/// Events the planner matches to see how many of another index's entries fit: 32 are about 25 us.
pub(crate) const SAMPLED_EVENTS_MAX: usize = 32;

/// Entries looked at after a filter's limit is reached, to learn whether there are more matches.
/// Past this the answer is "unknown", which NIP-67 allows: about a millisecond.
pub(crate) const LOOKAHEAD_ENTRIES_MAX: u64 = 1024;

/// Cost of opening one group: a seek in LMDB and one in every run of the head.
pub(crate) const OPEN_NS: f64 = 1_500.0;

/// Cost of looking at one entry: reading its record and matching.
pub(crate) const LOOK_NS: f64 = 700.0;

/// Cost of finding one event by id.
pub(crate) const FIND_ID_NS: f64 = 3_000.0;

/// What an unlimited filter is planned as.
pub(crate) const UNLIMITED_PLANNED: u64 = 100_000;
