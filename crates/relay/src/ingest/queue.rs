//! Parsed events on their way to the verifiers.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use zeolite_proto::Event;

use super::answer::{Client, Origin, Source, Verdict};
use super::batch::{BatchPlace, MirrorBatch};
use crate::conn::Conn;
use crate::limits::{INGEST_BYTES_MAX, VERIFY_SLICE_EVENTS_MAX, VERIFY_SLICE_EVENTS_SHARED};
use crate::metrics::Metrics;

/// The publishers' end of the queue.
pub(crate) struct Ingest {
    queue: Arc<Queue>,
    permits: Arc<Semaphore>,
    /// The least an event counts for, so that the bound on bytes bounds events too.
    cost_bytes_min: usize,
    metrics: Arc<Metrics>,
}

impl Ingest {
    /// At most `events_max` events and [`INGEST_BYTES_MAX`] bytes are under way.
    pub(crate) fn new(queue: Arc<Queue>, events_max: usize, metrics: Arc<Metrics>) -> Self {
        Self {
            queue,
            permits: Arc::new(Semaphore::new(INGEST_BYTES_MAX)),
            cost_bytes_min: (INGEST_BYTES_MAX / events_max.max(1)).max(1),
            metrics,
        }
    }

    /// Lets an event in. When too many are under way the publisher waits: its reader reads nothing
    /// more meanwhile, and TCP tells the client.
    pub(crate) async fn let_in(&self, conn: &Arc<Conn>, event: Event) -> Submission {
        self.metrics.events_received.increment(1);
        let cost_bytes = event.record_bytes().clamp(self.cost_bytes_min, INGEST_BYTES_MAX);
        let permit = self.permit(cost_bytes).await;
        conn.outbox.ingest_began(cost_bytes);
        let id = event.view().id();
        let client = Client { conn: Arc::clone(conn), cost_bytes, _permit: permit };
        Submission { origin: Origin { id, source: Source::Client(client) }, event }
    }

    /// Lets in and hands over what a mirror brings, once there is room for it. The verdicts come
    /// when all of it is durable or refused. A batch counts for at most half of what may be under
    /// way, so that it never waits for an empty queue.
    pub(crate) async fn submit_mirrored(
        &self,
        events: Vec<Event>,
        is_trusted: bool,
        upstream: Arc<str>,
    ) -> oneshot::Receiver<Vec<Verdict>> {
        self.metrics.events_received.increment(events.len() as u64);
        let cost = |event: &Event| event.record_bytes().max(self.cost_bytes_min);
        let cost_bytes = events.iter().map(cost).sum::<usize>().min(INGEST_BYTES_MAX / 2);
        let permit = self.permit(cost_bytes).await;
        let (batch, verdicts) = MirrorBatch::new(events.len(), is_trusted, upstream, permit);
        let submissions = events.into_iter().enumerate().map(|(at, event)| {
            let source = Source::Mirror(BatchPlace { batch: Arc::clone(&batch), at });
            Submission { origin: Origin { id: event.view().id(), source }, event }
        });
        self.queue.push(submissions.collect());
        verdicts
    }

    async fn permit(&self, cost_bytes: usize) -> OwnedSemaphorePermit {
        let permits = u32::try_from(cost_bytes).expect("the bound is below 4 GiB");
        let permit = Arc::clone(&self.permits).acquire_many_owned(permits).await;
        permit.expect("the semaphore is never closed")
    }

    /// Hands over what was let in.
    pub(crate) fn submit(&self, batch: &SubmissionBatch) {
        let mut batch = batch.0.lock();
        if !batch.is_empty() {
            self.queue.push(std::mem::take(&mut *batch));
        }
    }

    /// Waits until no event is on its way. Whoever submits one meanwhile waits as well.
    pub(crate) async fn idle(&self) {
        let all = u32::try_from(INGEST_BYTES_MAX).expect("the bound is below 4 GiB");
        let _all = self.permits.acquire_many(all).await;
    }
}

/// An event whose signature nobody has looked at.
#[derive(Debug)]
pub(crate) struct Submission {
    pub(crate) origin: Origin,
    pub(crate) event: Event,
}

/// What one connection sent in one go. Waking a verifier costs more than parsing an event, and a
/// slice of many is verified at a fraction of the cost of each alone, so events are handed over
/// together: as soon as their reader would have to wait for anything, or has as many as a slice.
#[derive(Default)]
pub(crate) struct SubmissionBatch(Mutex<Vec<Submission>>);

impl SubmissionBatch {
    /// Adds one; true if it is time to hand over.
    pub(crate) fn push(&self, submission: Submission) -> bool {
        let mut batch = self.0.lock();
        batch.push(submission);
        batch.len() >= VERIFY_SLICE_EVENTS_SHARED
    }
}

/// The queue between sessions and verifiers. [`Ingest`] bounds it.
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    takers: usize,
}

#[derive(Default)]
struct State {
    submissions: VecDeque<Submission>,
    next_ticket: u64,
    closed: bool,
}

/// A slice of the queue and its place in the order.
pub(crate) struct Slice {
    pub(crate) ticket: u64,
    pub(crate) submissions: Vec<Submission>,
}

impl Queue {
    /// A queue for this many verifiers.
    pub(crate) fn new(takers: usize) -> Self {
        Self { state: Mutex::default(), filled: Condvar::new(), takers }
    }

    fn push(&self, submissions: Vec<Submission>) {
        self.state.lock().submissions.extend(submissions);
        self.filled.notify_one();
    }

    /// Waits for events and takes what is there, or a fair share of it when there is much; `None`
    /// once the queue is closed and empty.
    pub(crate) fn take(&self) -> Option<Slice> {
        let mut state = self.state.lock();
        while state.submissions.is_empty() {
            if state.closed {
                return None;
            }
            self.filled.wait(&mut state);
        }
        let queued = state.submissions.len();
        let share = queued.div_ceil(self.takers).max(VERIFY_SLICE_EVENTS_SHARED);
        let submissions = state.submissions.drain(..queued.min(share.min(VERIFY_SLICE_EVENTS_MAX)));
        let submissions: Vec<_> = submissions.collect();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let more = !state.submissions.is_empty();
        drop(state);
        if more {
            self.filled.notify_one();
        }
        Some(Slice { ticket, submissions })
    }

    /// Whether the verifiers keep up.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.lock().submissions.is_empty()
    }

    /// Lets the verifiers go home when the queue is empty.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.filled.notify_all();
    }
}
