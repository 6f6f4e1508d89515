//! The limits of this crate, each with its arithmetic.

/// Size of the address space that LMDB maps by default. The file grows as it fills, so this costs
/// nothing until it is used: 1 TiB is a thousand million events of 1 kB, and 1/128 of what a
/// process on x86-64 can address.
pub const MAP_BYTES_DEFAULT: usize = 1 << 40;

/// What the map is a multiple of: the largest page size of any system.
pub(crate) const MAP_STEP_BYTES: usize = 64 << 10;

/// Events the head holds before flushing takes precedence over short commits. An event has about
/// nine index keys of 20 bytes and one timeline entry of 42 bytes, so 262,144 events are about
/// 58 MB, and reading them back at start takes about half a second.
pub const HEAD_EVENTS_MAX_DEFAULT: usize = 1 << 18;

/// Bytes of keys the head holds before flushing takes precedence over short commits: twice what
/// [`HEAD_EVENTS_MAX_DEFAULT`] usual events need. Contact lists of 2,000 tags reach it first.
pub const HEAD_BYTES_MAX_DEFAULT: usize = 128 << 20;

/// Keys in a run above which it is not merged any further: merging two runs of half this size
/// moves 12 MB, which takes about 5 ms on the admitter's thread, once in 65,536 events.
pub(crate) const RUN_KEYS_MAX: usize = 65_536 * 9;

/// Readers of all processes together. Each slot is 64 bytes of the lock file; a process needs as
/// many as it has threads that read.
pub(crate) const READERS_MAX: u32 = 1_024;

/// Keys that a flush writes in one commit while the head has room. One put takes about 0.15 us in
/// sorted order on a store of 1M events, and the 200 pages they touch have to be written: together
/// about 1 ms.
pub const FLUSH_KEYS_MIN_DEFAULT: usize = 2_048;

/// Removed events whose keys one commit purges while the graveyard is small. With nine keys each
/// at about 1 us, this adds about 0.6 ms to a commit.
pub const PURGE_EVENTS_MIN_DEFAULT: usize = 64;

/// Events that one call to the admitter removes on behalf of requests to vanish. Each costs a
/// look at its record and about ten keys to purge.
pub(crate) const VANISH_SLICE_EVENTS: usize = 512;

/// Events that one commit takes out of the archive: a few microseconds each.
pub(crate) const ARCHIVE_WIPE_EVENTS: usize = 1_024;

/// Keys read at a time when the newest version of an address is looked for. There is one live
/// version; more keys are there only until the removed ones are purged.
pub(crate) const ADDRESS_LOOK_KEYS: usize = 4;

/// Index keys that one call to the admitter looks at on behalf of requests to vanish: most keys of
/// a much mentioned author lead to events of others. At about 0.5 us each this is 2 ms.
pub(crate) const VANISH_SLICE_KEYS: usize = 4_096;

/// Dead index keys that one call for the removal of expired events looks at, for each event it may
/// remove.
pub(crate) const EXPIRE_KEYS_PER_EVENT: usize = 8;

/// Events of one run when the head is rebuilt from the log: 590,000 keys, as many as a run of the
/// admitter has at most.
pub(crate) const RECOVERY_RUN_EVENTS: usize = 1 << 16;

/// Keys of one commit when the whole head is flushed and nobody waits. The pages that such a slice
/// replaces stay in the file as free ones: 32,768 keys are 250 to 10,000 of them.
pub(crate) const FLUSH_ALL_KEYS: usize = 1 << 15;

/// Keys that a flush writes in one commit at most, however full the head is. In a store so large
/// that each key has a page of its own these are 512 MB of pages before the commit; and it is more
/// than 12,000 new events bring, so the head shrinks all the same.
pub(crate) const FLUSH_KEYS_MAX: usize = 1 << 17;

/// Bytes an index entry takes in LMDB: 20 of key, 10 of node, in pages that are two thirds full.
pub(crate) const INDEX_ENTRY_BYTES: usize = 45;

/// Index keys of an event without one-letter tags, address or expiration: id, author, kind, and
/// author with kind.
pub(crate) const KEYS_PER_PLAIN_EVENT: usize = 4;

/// Bytes a record takes in LMDB beside its own: the key, and a node of 10 bytes. The log is
/// appended to, so its pages are full.
pub(crate) const LOG_NODE_BYTES: usize = 18;

/// Bytes of a node above which LMDB gives its value pages of its own: two fit on a page.
pub(crate) const INLINE_RECORD_BYTES_MAX: usize = 2_038;

/// Bytes a timeline entry takes in LMDB: 42, and 10 of node, in pages that are two thirds full.
pub(crate) const TIMELINE_ENTRY_BYTES_STORED: usize = 78;

/// The part of the map that is kept free for deletions.
pub(crate) const RESERVE_FRACTION: usize = 8;
/// The least that is kept free: a commit that removes 250 events, each on a page of its own, needs
/// that many new pages before it frees the old ones, and so may the one after it.
pub(crate) const RESERVE_BYTES_MIN: usize = 2 << 20;
/// The most that is kept free: 65,536 pages.
pub(crate) const RESERVE_BYTES_MAX: usize = 256 << 20;

/// The size of a page in LMDB's file where memory has pages of this size.
pub(crate) const PAGE_BYTES: usize = 4_096;

/// Free pages that there must be for each key that a commit writes or deletes: one for the page of
/// the key, as many for branch pages in a sparse slice, twice that because what a commit frees
/// comes back two commits later, and as much again for what else is in the commit.
pub(crate) const FREE_PAGES_PER_KEY: usize = 8;

/// Keys of a removed event, about: how many a purge has to delete.
pub(crate) const KEYS_PER_EVENT: usize = 10;

/// Keys of one step of a walk over a whole family, 160 kB.
pub(crate) const WALK_KEYS: usize = 8_192;

/// Problems that a check reports in full; the others are counted.
pub(crate) const PROBLEMS_MAX: usize = 100;

/// Events whose keys a check looks up together, sorted: about 16 MB of keys.
pub(crate) const CHECK_CHUNK_EVENTS: usize = 65_536;

/// Entries between two reports of a check's progress: about 20 ms.
pub(crate) const CHECK_PROGRESS_ENTRIES: u64 = 65_536;

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

/// Entries looked at in a row after a filter's limit is reached, to learn whether there are more
/// matches. Past this the answer is "unknown", which NIP-67 allows: about a millisecond.
pub(crate) const LOOKAHEAD_ENTRIES_MAX: u64 = 1024;

/// Looks that every plan is good for, about a millisecond and a half: twenty times the cost of
/// planning again. Unit tests have small stores, and doubt early and often.
pub(crate) const DOUBT_LOOKS_MIN: u64 = if cfg!(test) { 2 } else { 2048 };

/// How many times the expected looks a walk may take before it is planned again.
pub(crate) const DOUBT_FACTOR: u64 = if cfg!(test) { 0 } else { 4 };

/// Dead and expired events up to which a count by index entries alone leaves them out by a set:
/// 16,384 take about a millisecond to gather for each slice of 20 ms.
pub(crate) const COUNT_UNSEEN_MAX: u64 = 16_384;

/// Cost of opening one group: a seek in LMDB and one in every run of the head.
pub(crate) const OPEN_NS: f64 = 1_500.0;

/// Cost of looking at one entry: reading its record and matching.
pub(crate) const LOOK_NS: f64 = 700.0;

/// Cost of finding one event by id.
pub(crate) const FIND_ID_NS: f64 = 3_000.0;

/// What an unlimited filter is planned as.
pub(crate) const UNLIMITED_PLANNED: u64 = 100_000;

/// Bytes of the file that may be mapped. Letting go of them takes about a millisecond, and mapping
/// them again, 16 pages at a time and a microsecond each, as long again: nothing beside what reading
/// or writing so much takes.
pub const MAPPED_BYTES_MAX_DEFAULT: usize = 64 << 20;

/// Items of a new bucket of sums. A bucket takes 120 bytes, half a byte for each item; reading one
/// takes about 15 us, and a message of a reconciliation reads two for each place that it names.
pub const BUCKET_ITEMS_DEFAULT: usize = 256;

/// Buckets of a new chunk: 7.5 kB that a batch copies for each chunk it touches, in about half a
/// microsecond. A million events are 64 of them, and publishing a head copies a pointer to each.
/// Unit tests have small stores, and cut and merge all the time.
pub(crate) const CHUNK_BUCKETS: usize = if cfg!(test) { 3 } else { 64 };
/// Buckets above which a chunk is cut.
pub(crate) const CHUNK_BUCKETS_MAX: usize = 2 * CHUNK_BUCKETS;

/// Events that a view of the sums looks at to learn which are expired or being wiped: a
/// microsecond each. Expired events are removed all the time, so there are rarely more than a few.
pub(crate) const HIDDEN_LOOKS_MAX: usize = 1 << 16;

/// Entries between two reports while the sums are made anew: about half a second.
pub(crate) const REBUILD_PROGRESS_EVENTS: u64 = 1_000_000;

/// Commits between two searches for readers that were killed: a few system calls each.
pub(crate) const STALE_READERS_COMMITS: u64 = 1_024;

/// Bytes by which the data file may be shorter than its last page: pages that a transaction took
/// and did not need are never written.
pub(crate) const UNWRITTEN_BYTES_MAX: u64 = 1 << 20;
