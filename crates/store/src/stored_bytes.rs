//! What the stored events take, kept to the byte.
//!
//! Pages say too little of it: a page that lost half of its records counts whole until it is
//! empty. So each event has a price of its own, which its record tells, and `meta` holds their
//! sum. With the sum stand the length of the log and its last seq; a sum whose log has changed since,
//! by a version that knew nothing of it, is made anew.

use heed::{RoTxn, RwTxn};
use zeolite_proto::EventRef;

use crate::Store;
use crate::env::{Tables, meta};
use crate::error::ReadError;
use crate::limits::{
    INDEX_ENTRY_BYTES, INLINE_RECORD_BYTES_MAX, KEYS_PER_PLAIN_EVENT, LOG_NODE_BYTES, PAGE_BYTES,
    TIMELINE_ENTRY_BYTES_STORED,
};

/// Its name in `meta`.
const NAME: &str = "stored_bytes";

/// About how many bytes an event takes in a store: its record, its keys and its place in the
/// timeline.
pub fn event_bytes(event: EventRef<'_>) -> u64 {
    let keys = KEYS_PER_PLAIN_EVENT + event.letter_tags().count();
    record_bytes(event.record()) + (keys * INDEX_ENTRY_BYTES + TIMELINE_ENTRY_BYTES_STORED) as u64
}

/// LMDB gives a record that fills half a page pages of its own.
fn record_bytes(record: &[u8]) -> u64 {
    let bytes = record.len() + LOG_NODE_BYTES;
    let bytes =
        if bytes > INLINE_RECORD_BYTES_MAX { bytes.next_multiple_of(PAGE_BYTES) } else { bytes };
    bytes as u64
}

/// The same for a record that may be damaged.
pub(crate) fn price(record: &[u8]) -> u64 {
    EventRef::new(record).map_or_else(|_| record_bytes(record), event_bytes)
}

/// The sum in `meta`, if it is the one of this log.
pub(crate) fn read(tables: &Tables, txn: &RoTxn<'_>) -> Result<Option<u64>, ReadError> {
    let Some(row) = tables.meta.get(txn, NAME.as_bytes())? else { return Ok(None) };
    let Some((bytes, log)) = row.split_first_chunk() else {
        return Err(ReadError::DamagedEntry("meta"));
    };
    let is_current = log == log_of(tables, txn)?;
    Ok(is_current.then_some(u64::from_be_bytes(*bytes)))
}

/// Writes the sum of the log as the transaction has it.
pub(crate) fn write(tables: &Tables, txn: &mut RwTxn<'_>, bytes: u64) -> Result<(), ReadError> {
    let mut row = [0; 24];
    row[..8].copy_from_slice(&bytes.to_be_bytes());
    row[8..].copy_from_slice(&log_of(tables, txn)?);
    Ok(tables.meta.put(txn, NAME.as_bytes(), &row)?)
}

/// Adds up the log: about half a microsecond an event.
pub(crate) fn add_up(tables: &Tables, txn: &RoTxn<'_>) -> Result<u64, ReadError> {
    let mut sum = 0;
    for entry in tables.log.iter(txn)? {
        sum += price(entry?.1);
    }
    Ok(sum)
}

/// What tells one state of the log from another: its records, 8 bytes | its last seq, 8 bytes.
fn log_of(tables: &Tables, txn: &RoTxn<'_>) -> Result<[u8; 16], ReadError> {
    let mut log = [0; 16];
    log[..8].copy_from_slice(&tables.log.len(txn)?.to_be_bytes());
    let last_seq = tables.meta.get(txn, meta::LAST_SEQ.as_bytes())?;
    let last_seq = last_seq.filter(|seq| seq.len() == 8);
    log[8..].copy_from_slice(last_seq.ok_or(ReadError::DamagedEntry("meta"))?);
    Ok(log)
}

impl Store {
    /// About how many bytes the committed events take, what is free or waits to be purged left out:
    /// the sum of their [`event_bytes`].
    pub fn stored_bytes(&self) -> Result<u64, ReadError> {
        let (tables, txn) = (&self.0.tables, self.0.env.read_txn()?);
        match read(tables, &txn)? {
            Some(bytes) => Ok(bytes),
            None => add_up(tables, &txn),
        }
    }
}
