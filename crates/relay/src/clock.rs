//! The wall clock, read in one place.

use std::time::{SystemTime, UNIX_EPOCH};

use zeolite_proto::Timestamp;

/// Now; the epoch if the clock is set before it.
pub(crate) fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    Timestamp(since_epoch.map_or(0, |elapsed| elapsed.as_secs()))
}
