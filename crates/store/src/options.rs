//! What an operator chooses about a store.

use zeolite_proto::Kind;

use crate::limits::{
    BUCKET_ITEMS_DEFAULT, FLUSH_KEYS_MIN_DEFAULT, HEAD_BYTES_MAX_DEFAULT, HEAD_EVENTS_MAX_DEFAULT,
    MAP_BYTES_DEFAULT, MAPPED_BYTES_MAX_DEFAULT, PURGE_EVENTS_MIN_DEFAULT,
};

/// What a commit waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Data and meta page are on disk when a commit returns. Nothing acknowledged is ever lost.
    #[default]
    Durable,
    /// The data is on disk, the meta page follows with the next commit. A crash of the system may
    /// undo the last commit, but never damages the store.
    Relaxed,
    /// Nothing is waited for. A crash of the system may damage the store; a crash of the process
    /// loses nothing.
    Fast,
}

/// How to open a store.
#[derive(Clone, Debug)]
pub struct Options {
    /// What a commit waits for.
    pub durability: Durability,
    /// Address space for the store, rounded up to 64 KiB. The store cannot grow past it.
    pub map_bytes: usize,
    /// Events in the head above which flushing takes precedence over short commits.
    pub head_events_max: usize,
    /// Bytes of keys in the head above which flushing takes precedence over short commits.
    pub head_bytes_max: usize,
    /// Index entries that a commit takes along to disk while the head has room.
    pub flush_keys_min: usize,
    /// Removed events whose index entries a commit takes from disk while few are waiting.
    pub purge_events_min: usize,
    /// Bytes of the store's file that may lie mapped in this process's memory; above it the map is
    /// let go, and read again from the system's cache.
    pub mapped_bytes_max: usize,
    /// Whether what is replaced or deleted is kept in the archive, where only
    /// [`ArchiveWalk`](crate::ArchiveWalk) finds it.
    pub archive: bool,
    /// The URLs under which this relay is reached: whom requests to vanish are addressed to
    /// (NIP-62).
    pub own_urls: Vec<String>,
    /// Kinds that not everybody may read, sorted: sets for reconciliation can be had without
    /// them at no further cost. Another list than the last time costs a walk over the store at
    /// opening.
    pub gated_kinds: Vec<Kind>,
    /// Items of which a sum is kept: what a reconciliation reads to look between two of them.
    pub bucket_items: usize,
}

impl Options {
    /// Whether events of this kind are not for everybody.
    pub(crate) fn is_gated(&self, kind: Kind) -> bool {
        self.gated_kinds.binary_search(&kind).is_ok()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            map_bytes: MAP_BYTES_DEFAULT,
            head_events_max: HEAD_EVENTS_MAX_DEFAULT,
            head_bytes_max: HEAD_BYTES_MAX_DEFAULT,
            flush_keys_min: FLUSH_KEYS_MIN_DEFAULT,
            purge_events_min: PURGE_EVENTS_MIN_DEFAULT,
            mapped_bytes_max: MAPPED_BYTES_MAX_DEFAULT,
            archive: false,
            own_urls: Vec::new(),
            gated_kinds: Vec::new(),
            bucket_items: BUCKET_ITEMS_DEFAULT,
        }
    }
}
