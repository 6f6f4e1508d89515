//! Sizes that trade memory against time.

/// Author and kind pairs that one filter is filed under at most; a filter with more is filed
/// under its authors alone.
///
/// A pair costs 54 bytes and saves the look at an event by that author of another kind. Up to
/// this many cost 3.5 kB, less than a connection's socket buffers.
pub(crate) const PAIRS_MAX: usize = 64;

/// Hash maps that share the keys. One that grows is copied, and with a single map of a million
/// keys that would hold up everybody for 20 ms; a 256th of it holds them up for less than 0.1 ms.
pub(crate) const SHARDS: usize = 256;

/// Subscribers per chunk of memory: a chunk is the unit in which memory is taken and given back.
pub(crate) const CHUNK_SLOTS: usize = 1024;

/// Keys that the scratch buffers keep room for between calls: 64 kB each. An event or filter with
/// more pays for its own buffer.
pub(crate) const SCRATCH_KEYS_MAX: usize = 4096;

/// Keys up to which doubles are found by comparing each with each: 120 comparisons of 9 bytes, less
/// than sorting.
pub(crate) const KEYS_COMPARED_MAX: usize = 16;
