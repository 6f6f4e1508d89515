//! What is bounded, and why there.

/// Fewer items than this are verified one by one: the fixed cost of a batch (130 doublings, and a
/// handful of inversions) is then more than it saves. Measured in `docs/batch-verification.md`.
pub(crate) const BATCH_ITEMS_MIN: usize = 6;

/// Longer slices are cut: from 1,024 to 4,096 items the time of one falls by a sixth, beyond that by
/// little, while the workspace grows with the batch.
pub(crate) const BATCH_ITEMS_MAX: usize = 4096;

/// Workspaces kept for the next batch, one for each thread that verified at the same time. One is at
/// most 6 MB: for 4,096 items three terms each of 112 bytes (1.4 MB) with their digits (0.4 MB) and
/// bucketed points (1.3 MB), additions and bucket sums of 0.6 MB each, 170 bytes for each item
/// (0.7 MB) and its author (0.6 MB). More threads still work, and drop theirs.
pub(crate) const WORKSPACES_MAX: usize = 16;

/// Ranges of this length are not split further in the search for wrong signatures: verifying each of
/// them takes no longer than two more sums.
pub(crate) const SEARCH_ITEMS_MIN: usize = 8;

/// Items summed in the search for wrong signatures, for each item of the batch. One culprit takes 1
/// (a half, a quarter, an eighth, ...), two take at most 2. Past that there are so many that verifying
/// one by one is no slower, and all that is still open is.
pub(crate) const SEARCH_SUMS_MAX: usize = 2;
