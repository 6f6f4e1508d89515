//! New events of this store, for mirrors that send them up.
//!
//! They are read from the log, which is what the live feed is made of: a follower that is slow
//! holds nothing in memory and misses nothing. The fan-out says when there is something to read.

use tokio::sync::{mpsc, watch};
use zeolite_proto::{Event, Filter, Seq};
use zeolite_store::{ReadError, SliceBudget, Store};

/// How much of the log is read at once.
const SLICE_EVENTS_MAX: usize = 512;

/// Gives every event admitted from now on that matches, until the receiver is gone.
pub(super) async fn run(
    store: Store,
    mut newest: watch::Receiver<Seq>,
    filter: Filter,
    followed: mpsc::Sender<Vec<Event>>,
) {
    let mut seen = match store.snapshot().map(|snapshot| snapshot.ceiling()) {
        Ok(ceiling) => ceiling,
        Err(error) => return tracing::error!(%error, "the store cannot be followed"),
    };
    loop {
        let known = *newest.borrow_and_update();
        while seen < known {
            let (store, filter) = (store.clone(), filter.clone());
            let slice = tokio::task::spawn_blocking(move || read(&store, seen, known, &filter));
            match slice.await {
                Ok(Ok((reached, events))) => {
                    seen = reached;
                    if !events.is_empty() && followed.send(events).await.is_err() {
                        return;
                    }
                }
                Ok(Err(error)) => return tracing::error!(%error, "the store cannot be followed"),
                Err(_stopping) => return,
            }
        }
        tokio::select! {
            changed = newest.changed() => if changed.is_err() { return },
            () = followed.closed() => return,
        }
    }
}

fn read(
    store: &Store,
    after: Seq,
    through: Seq,
    filter: &Filter,
) -> Result<(Seq, Vec<Event>), ReadError> {
    let budget = SliceBudget { events_max: SLICE_EVENTS_MAX, ..SliceBudget::UNLIMITED };
    let mut events = Vec::new();
    let reached = store.read_log(after, through, budget, &mut |_, event| {
        if filter.matches(event) {
            events.push(Event::from_stored(event));
        }
        true
    })?;
    Ok((reached, events))
}
