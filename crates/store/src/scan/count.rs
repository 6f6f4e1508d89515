//! NIP-45: how many stored events match.

use std::time::Duration;

use zeolite_proto::{Filter, Timestamp};

use super::{ScanState, build};
use crate::Store;
use crate::error::ReadError;
use crate::slice::SliceBudget;

/// A slice of a count: long enough to make a snapshot's cost small, short enough that no read
/// transaction grows old.
const SLICE: SliceBudget =
    SliceBudget { events_max: usize::MAX, time_max: Duration::from_millis(20) };

/// Counts the events that any of `filters` matches, each once, without regard to limits. Expired
/// ones are not counted.
///
/// `keep_going` is asked with the number so far every 20 ms; when it answers false the count is
/// given up and `None` comes back.
pub fn count(
    store: &Store,
    filters: &[Filter],
    now: Timestamp,
    keep_going: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<u64>, ReadError> {
    let mut snapshot = store.snapshot()?;
    let ceiling = snapshot.ceiling();
    let (mut union, _) = build(&snapshot, filters, |_| None)?;
    let mut counted = 0;
    loop {
        let state = union.slice(&snapshot, now, SLICE, &mut |_, _| {
            counted += 1;
            true
        })?;
        match state {
            ScanState::Done { .. } => return Ok(Some(counted)),
            ScanState::More if !keep_going(counted) => return Ok(None),
            ScanState::More => {}
        }
        drop(snapshot);
        snapshot = store.snapshot()?.with_ceiling(ceiling);
    }
}
