//! How much room is left in the map.

use heed::RoTxn;

use crate::Inner;
use crate::head::Head;
use crate::limits::{
    FREE_PAGES_PER_KEY, INDEX_ENTRY_BYTES, PAGE_BYTES, RESERVE_BYTES_MAX, RESERVE_BYTES_MIN,
    RESERVE_FRACTION,
};

/// Bytes of the pages that tables use, pages that may be used again left out.
pub(crate) fn used_bytes(inner: &Inner, txn: &RoTxn<'_>) -> Result<usize, heed::Error> {
    let mut used = 0;
    for (_, table) in inner.tables.named() {
        used += table.stat(txn)?.non_free_page_size();
    }
    Ok(used)
}

/// How many keys a commit may touch in LMDB's indexes. Each may need a new page, and the pages it
/// replaces cannot be used before the commit after the next.
pub(crate) fn keys_max(inner: &Inner, txn: &RoTxn<'_>) -> Result<usize, heed::Error> {
    let free = inner.options.map_bytes.saturating_sub(used_bytes(inner, txn)?);
    Ok((free / PAGE_BYTES / FREE_PAGES_PER_KEY).max(1))
}

/// True when nothing more can be taken in. What stays free is for the keys that are still in the
/// head and for deletions, which need new pages before they free old ones. `in_txn` is the number
/// of the newest batch whose records the transaction holds.
pub(crate) fn is_full(
    inner: &Inner,
    txn: &RoTxn<'_>,
    head: &Head,
    in_txn: u64,
) -> Result<bool, heed::Error> {
    let map_bytes = inner.options.map_bytes;
    let reserve = (map_bytes / RESERVE_FRACTION).clamp(RESERVE_BYTES_MIN, RESERVE_BYTES_MAX);
    let keys: usize = head.runs.iter().map(|run| run.keys()).sum();
    let uncommitted: usize = head
        .uncommitted
        .iter()
        .filter(|batch| batch.number > in_txn)
        .map(|batch| batch.record_bytes)
        .sum();
    let needed = keys * INDEX_ENTRY_BYTES + uncommitted;
    Ok(used_bytes(inner, txn)? + needed + reserve > map_bytes)
}
