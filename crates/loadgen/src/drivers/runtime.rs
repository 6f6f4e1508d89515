//! One thread for all sockets of a scenario.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep};

use super::error::DriveError;
use crate::descriptors;

/// How often a waiting driver looks whether what it waits for has come.
const LOOK: Duration = Duration::from_millis(5);

/// How long a driver listens for what must not come, after everything that must has.
pub(crate) const SETTLE: Duration = Duration::from_millis(250);

/// Runs a scenario on this thread: the second core is the relay's.
pub(crate) fn block_on<T>(
    work: impl Future<Output = Result<T, DriveError>>,
) -> Result<T, DriveError> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, work)
}

/// Makes room for this many sockets.
pub(crate) fn make_room(sockets: usize) -> Result<(), DriveError> {
    let allowed = descriptors::raise(sockets);
    if allowed < sockets {
        return Err(DriveError::Descriptors { wanted: sockets, allowed });
    }
    Ok(())
}

/// Waits until `count` reaches `wanted`, or does not move for `silence`. Says whether it did.
pub(crate) async fn wait_for(wanted: u64, silence: Duration, count: impl Fn() -> u64) -> bool {
    let (mut last, mut moved) = (count(), Instant::now());
    while last < wanted {
        if moved.elapsed() > silence {
            return false;
        }
        sleep(LOOK).await;
        let found = count();
        if found != last {
            (last, moved) = (found, Instant::now());
        }
    }
    true
}
