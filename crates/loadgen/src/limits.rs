//! Hard limits of the load generator.

/// Ids that a report carries in full: the largest answer of the query table (5,000) with room, and
/// less than a megabyte of JSON. Larger answers are compared by their fingerprint.
pub const RESULT_IDS_MAX: usize = 10_000;
