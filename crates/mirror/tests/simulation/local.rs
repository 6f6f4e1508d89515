//! The simulated local side: answers effects, slowly if told so.

use std::collections::HashMap;

use zeolite_mirror::{Input, JobId, ReconcileFault, ReconcileStep, Verdict};
use zeolite_proto::{Event, EventId, Filter, Timestamp};
use zeolite_reconcile::{FrameLimit, Initiator, Item, SortedSet};

use crate::store::Store;

pub(crate) struct Local {
    pub store: Store,
    jobs: HashMap<JobId, (Initiator, Filter, SortedSet)>,
    /// Whether each step of a job sees the store as it is then, as sets do that are kept, and not
    /// as it was at the first, as sets do that were built for it.
    pub sets_move: bool,
    pub is_following: bool,
    /// Events that were given and not answered, and the most of them at any time.
    pub unanswered: usize,
    pub unanswered_max: usize,
    /// Bytes of records that were read to be sent up.
    pub read_bytes: usize,
}

impl Local {
    pub(crate) fn new() -> Self {
        Self {
            store: Store::new(),
            jobs: HashMap::new(),
            sets_move: false,
            is_following: false,
            unanswered: 0,
            unanswered_max: 0,
            read_bytes: 0,
        }
    }

    pub(crate) fn reconcile(&mut self, job: JobId, step: ReconcileStep) -> Input {
        match step {
            ReconcileStep::Start { filter, frame_bytes_max } => {
                let set = self.set(&filter);
                let frame = FrameLimit::new(frame_bytes_max).expect("a legal frame");
                let mut initiator = Initiator::new(frame);
                let Ok(message) = initiator.start(&set);
                self.jobs.insert(job, (initiator, filter, set));
                Input::Reconciled { job, next: Some(message), have: Vec::new(), need: Vec::new() }
            }
            ReconcileStep::Answer { message } => {
                let entry = self.jobs.remove(&job);
                let (mut initiator, filter, mut set) = entry.expect("a job that was started");
                if self.sets_move {
                    set = self.set(&filter);
                }
                let step = initiator.step(&set, &message);
                self.jobs.insert(job, (initiator, filter, set));
                match step {
                    Ok(step) => {
                        Input::Reconciled { job, next: step.next, have: step.have, need: step.need }
                    }
                    Err(error) => {
                        let cause = ReconcileFault::Malformed(error.to_string());
                        Input::ReconcileFailed { job, cause }
                    }
                }
            }
        }
    }

    pub(crate) fn end(&mut self, job: JobId) {
        self.jobs.remove(&job);
    }

    pub(crate) fn open_jobs(&self) -> usize {
        self.jobs.len()
    }

    pub(crate) fn compare(
        &self,
        job: JobId,
        filter: &Filter,
        items: &[(Timestamp, EventId)],
    ) -> Input {
        assert!(items.is_sorted(), "items come sorted");
        let ours = self.set(filter);
        let is_ours = |item: &&(Timestamp, EventId)| {
            ours.items().binary_search(&Item { time: item.0, id: item.1 }).is_ok()
        };
        let is_theirs = |item: &&Item| items.binary_search(&(item.time, item.id)).is_ok();
        Input::Compared {
            job,
            have: ours.items().iter().filter(|item| !is_theirs(item)).map(|item| item.id).collect(),
            need: items.iter().filter(|item| !is_ours(item)).map(|item| item.1).collect(),
        }
    }

    fn set(&self, filter: &Filter) -> SortedSet {
        let items = self.store.query(filter).into_iter().map(|event| {
            let view = event.view();
            Item { time: view.created_at(), id: view.id() }
        });
        SortedSet::new(items.collect())
    }

    /// Takes events; also says which of them are new, for whoever follows.
    pub(crate) fn ingest(&mut self, events: Vec<Event>) -> (Vec<(EventId, Verdict)>, Vec<Event>) {
        let mut verdicts = Vec::new();
        let mut fresh = Vec::new();
        for event in events {
            let verdict = self.store.publish(&event);
            verdicts.push((event.view().id(), verdict));
            if matches!(verdict, Verdict::Stored | Verdict::Ephemeral) {
                fresh.push(event);
            }
        }
        (verdicts, fresh)
    }

    pub(crate) fn read(&mut self, ids: &[EventId], bytes_max: usize) -> Input {
        let (mut events, mut missing, mut unread) = (Vec::<Event>::new(), Vec::new(), Vec::new());
        let mut bytes = 0;
        for id in ids {
            match self.store.get(id) {
                _ if bytes >= bytes_max => unread.push(*id),
                Some(event) => {
                    bytes += event.record_bytes();
                    events.push(event);
                }
                None => missing.push(*id),
            }
        }
        self.read_bytes += bytes;
        Input::LocalEvents { events, missing, unread }
    }
}
