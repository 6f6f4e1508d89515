//! Events that came together, from a mirror, and are answered together.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::answer::Verdict;

/// Events that a mirror brought in one go. When the last of them is answered, or given up because
/// the relay stops, the verdicts go to who brought them, in the order of the events.
///
/// One permit covers the whole batch, from its submission to its answer.
pub(crate) struct MirrorBatch {
    verdicts: Mutex<Vec<Verdict>>,
    done: Option<oneshot::Sender<Vec<Verdict>>>,
    /// Another holder of the mark vouches for the signatures: an upstream the operator trusts.
    is_trusted: bool,
    upstream: Arc<str>,
    _permit: OwnedSemaphorePermit,
}

impl MirrorBatch {
    /// A batch of `events` events from the relay of this URL, and who waits for it.
    pub(crate) fn new(
        events: usize,
        is_trusted: bool,
        upstream: Arc<str>,
        permit: OwnedSemaphorePermit,
    ) -> (Arc<Self>, oneshot::Receiver<Vec<Verdict>>) {
        let (done, waiting) = oneshot::channel();
        // What is never answered was not stored.
        let verdicts = Mutex::new(vec![Verdict::Failed; events]);
        let done = Some(done);
        (Arc::new(Self { verdicts, done, is_trusted, upstream, _permit: permit }), waiting)
    }
}

impl Drop for MirrorBatch {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            // A mirror that is gone wants to know nothing.
            let _gone = done.send(std::mem::take(self.verdicts.get_mut()));
        }
    }
}

/// One event of a batch.
#[derive(Clone)]
pub(crate) struct BatchPlace {
    pub(crate) batch: Arc<MirrorBatch>,
    pub(crate) at: usize,
}

impl BatchPlace {
    pub(crate) fn is_trusted(&self) -> bool {
        self.batch.is_trusted
    }

    pub(crate) fn upstream(&self) -> &str {
        &self.batch.upstream
    }

    pub(crate) fn answer(self, verdict: Verdict) {
        self.batch.verdicts.lock()[self.at] = verdict;
    }
}

impl fmt::Debug for BatchPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} of a mirror's batch", self.at)
    }
}
