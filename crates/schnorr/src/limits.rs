//! What is bounded, and why there.

/// Fewer items than this are verified one by one: the fixed cost of a batch (130 doublings, and a
/// handful of inversions) is then as much as it saves. Measured at 60 us for one item by itself: four in
/// a batch take 57 us each in portable code and 27 us with vector instructions, three 65 and 36 us.
pub(crate) const BATCH_ITEMS_MIN: usize = 4;

/// Longer slices are cut: from 1,024 to 4,096 items the time of one falls by a sixth, beyond that by
/// little, while the workspace grows with the batch.
pub(crate) const BATCH_ITEMS_MAX: usize = 4096;

/// Workspaces kept for the next batch, one for each thread that verified at the same time. One is at
/// most 8 MB: for 4,096 items three terms each of 112 bytes (1.4 MB) with their digits (0.4 MB), words
/// (0.8 MB) and bucketed points (1.3 MB, and what is left of all windows 1 MB), additions and bucket
/// sums of 0.6 MB each, 200 bytes for each item (0.8 MB) and its author (0.8 MB). More threads still
/// work, and drop theirs.
pub(crate) const WORKSPACES_MAX: usize = 16;

/// Ranges up to this length are not split further in the search for wrong signatures, for the same
/// reason.
pub(crate) const SEARCH_ITEMS_MIN: usize = 4;

/// What a sum in the search costs whatever its length, counted in items of a long one: 60 to 80 us to
/// 4 us.
pub(crate) const SEARCH_SUM_ITEMS: usize = 16;

/// What the search may cost, in items for each item of the batch. One culprit takes 1 (a half, a
/// quarter, an eighth, ...) and the fixed costs, two take at most 2. Past that there are so many that
/// verifying one by one is faster, and all that is still open is. So a batch that is all wrong costs a
/// quarter more than its single verifications with vector instructions, and twice as much in portable
/// code.
pub(crate) const SEARCH_ITEMS_MAX: usize = 2;
