//! Whose turn it is: lanes of jobs, one for each connection.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;
use zeolite_session::{NegKey, SubKey};

use super::job::{Job, Step};
use crate::conn::Conn;
use crate::limits::{COUNTS_WAITING_MAX, NEG_MESSAGES_WAITING_MAX};

/// What a connection's lane is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// No jobs.
    #[default]
    Idle,
    /// Waits for its turn.
    Ready,
    /// A worker runs one of its jobs.
    Running,
    /// Its outbox is full.
    Parked,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    phase: Phase,
    counts: usize,
    reconciles: usize,
}

/// The jobs of one connection. At most one for each of its subscriptions, [`COUNTS_WAITING_MAX`]
/// counts, and [`NEG_MESSAGES_WAITING_MAX`] messages of reconciliations: for the next one the reader
/// waits.
#[derive(Default)]
pub struct Lane {
    state: Mutex<State>,
    done: Notify,
}

impl Lane {
    /// Waits until another count may be pushed.
    pub async fn count_room(&self) {
        while self.state.lock().counts >= COUNTS_WAITING_MAX {
            self.done.notified().await;
        }
    }

    /// Waits until another message of a reconciliation may be pushed.
    pub async fn reconcile_room(&self) {
        while self.state.lock().reconciles >= NEG_MESSAGES_WAITING_MAX {
            self.done.notified().await;
        }
    }

    /// Drops what waits for this subscription. What runs at this moment finds the subscription
    /// ended.
    pub fn cancel(&self, key: SubKey) {
        self.state.lock().jobs.retain(|job| job.key() != Some(key));
    }

    /// Drops what waits for this reconciliation. What runs at this moment finds it ended.
    pub fn cancel_reconciliation(&self, key: NegKey) {
        let mut state = self.state.lock();
        let before = state.jobs.len();
        state.jobs.retain(|job| job.neg_key() != Some(key));
        state.reconciles -= before - state.jobs.len();
    }

    /// Drops everything that waits: the connection is gone.
    pub fn clear(&self) {
        self.state.lock().jobs.clear();
    }
}

/// The lanes that have work. Each is queued at most once, so connections bound the queue.
#[derive(Default)]
pub struct Lanes {
    ready: Mutex<Ready>,
    filled: Condvar,
}

#[derive(Default)]
struct Ready {
    conns: VecDeque<Arc<Conn>>,
    closed: bool,
}

impl Lanes {
    /// Adds a job at the end of its connection's lane.
    pub fn push(&self, conn: &Arc<Conn>, job: Job) {
        let mut lane = conn.lane.state.lock();
        lane.counts += usize::from(job.is_count());
        lane.reconciles += usize::from(job.neg_key().is_some());
        lane.jobs.push_back(job);
        if lane.phase == Phase::Idle {
            lane.phase = Phase::Ready;
            self.enqueue(conn);
        }
    }

    /// Lets a parked lane go on.
    pub fn unpark(&self, conn: &Arc<Conn>) {
        let mut lane = conn.lane.state.lock();
        if lane.phase == Phase::Parked {
            lane.phase = Phase::Ready;
            self.enqueue(conn);
        }
    }

    fn enqueue(&self, conn: &Arc<Conn>) {
        self.ready.lock().conns.push_back(Arc::clone(conn));
        self.filled.notify_one();
    }

    /// Waits for the next job; `None` once the lanes are closed.
    pub fn next(&self) -> Option<(Arc<Conn>, Job)> {
        let mut ready = self.ready.lock();
        loop {
            if ready.closed {
                return None;
            }
            let Some(conn) = ready.conns.pop_front() else {
                self.filled.wait(&mut ready);
                continue;
            };
            let job = parking_lot::MutexGuard::unlocked(&mut ready, || conn.lane.start());
            if let Some(job) = job {
                return Some((conn, job));
            }
        }
    }

    /// The next job if there is one; for those who drive the lanes without threads.
    pub fn try_next(&self) -> Option<(Arc<Conn>, Job)> {
        loop {
            let conn = self.ready.lock().conns.pop_front()?;
            if let Some(job) = conn.lane.start() {
                return Some((conn, job));
            }
        }
    }

    /// Takes back a job that has run for a slice.
    pub fn finish(&self, conn: &Arc<Conn>, job: Job, step: &Step) {
        let mut lane = conn.lane.state.lock();
        match step {
            Step::Done(_) => {
                lane.counts -= usize::from(job.is_count());
                lane.reconciles -= usize::from(job.neg_key().is_some());
                conn.lane.done.notify_one();
            }
            Step::More => lane.jobs.push_back(job),
            Step::Parked => lane.jobs.push_front(job),
        }
        if *step == Step::Parked {
            lane.phase = Phase::Parked;
            drop(lane);
            if !conn.outbox.wait_for_low_water() {
                self.unpark(conn);
            }
        } else if lane.jobs.is_empty() {
            lane.phase = Phase::Idle;
        } else {
            lane.phase = Phase::Ready;
            self.enqueue(conn);
        }
    }

    /// Sends the workers home.
    pub fn close(&self) {
        self.ready.lock().closed = true;
        self.filled.notify_all();
    }
}

impl Lane {
    fn start(&self) -> Option<Job> {
        let mut lane = self.state.lock();
        let job = lane.jobs.pop_front();
        lane.phase = if job.is_some() { Phase::Running } else { Phase::Idle };
        job
    }
}
