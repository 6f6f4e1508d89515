//! A store in a temporary directory, driven step by step.

#![allow(dead_code, reason = "each test binary uses its own part of this")]

pub(crate) mod sets;

use std::collections::VecDeque;

use serde_json::Value;
use zeolite_proto::{Event, EventParser, Filter, Reader, Seq, Timestamp, Verified};
use zeolite_store::{
    Admitted, Admitter, ArchiveCause, ArchivePart, ArchiveWalk, Committer, Options, Outcome,
    PendingBatch, Scan, ScanOptions, ScanState, SliceBudget, Store, open,
};
use zeolite_testkit::{OracleOutcome, Universe};

/// The one event that this JSON spells.
pub(crate) fn event(json: &Value) -> Event {
    EventParser::new().parse(&json.to_string()).expect("the factory makes valid events")
}

/// The same, marked as verified.
pub(crate) fn verified(json: &Value) -> Verified<Event> {
    Verified::trusted(event(json))
}

/// An open store with its two writers and the batches between them.
pub(crate) struct World {
    dir: tempfile::TempDir,
    options: Options,
    open: Option<(Store, Admitter, Committer)>,
    pending: VecDeque<PendingBatch>,
}

impl World {
    pub(crate) fn new(options: Options) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let options = Options { own_urls: vec![Universe::OWN_URL.to_owned()], ..options };
        let open = Some(open(dir.path(), options.clone()).expect("a new store"));
        Self { dir, options, open, pending: VecDeque::new() }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.open.as_ref().expect("the store is open").0
    }

    pub(crate) fn admitter(&mut self) -> &mut Admitter {
        &mut self.open.as_mut().expect("the store is open").1
    }

    pub(crate) fn committer(&mut self) -> &mut Committer {
        &mut self.open.as_mut().expect("the store is open").2
    }

    pub(crate) fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    pub(crate) fn admit(&mut self, events: &[Value], now: u64) -> Vec<Outcome> {
        self.admit_events(events.iter().map(event).collect(), now)
    }

    pub(crate) fn admit_events(&mut self, events: Vec<Event>, now: u64) -> Vec<Outcome> {
        let events = events.into_iter().map(Verified::trusted).collect();
        let admitted = self.admitter().admit(events, Timestamp(now)).expect("admission");
        self.keep(admitted).0
    }

    pub(crate) fn expire(&mut self, now: u64, max: usize) -> usize {
        let admitted = self.admitter().expire(Timestamp(now), max).expect("expiry");
        self.keep(admitted).1
    }

    pub(crate) fn remove(&mut self, seqs: &[Seq]) -> usize {
        let admitted = self.admitter().remove(seqs).expect("removal");
        self.keep(admitted).1
    }

    pub(crate) fn wipe_archive(&mut self, parts: &[ArchivePart]) {
        let admitted = self.admitter().wipe_archive(parts).expect("a wipe");
        self.keep(admitted);
    }

    fn keep(&mut self, admitted: Admitted) -> (Vec<Outcome>, usize) {
        let Admitted { outcomes, stored, removed, pending } = admitted;
        for (seq, event) in stored.iter() {
            let there = self.store().snapshot().expect("a snapshot");
            let found = there.get(*seq).expect("a read").map(|found| found.id());
            assert_eq!(found, Some(event.view().id()), "what is published can be read");
        }
        self.pending.push_back(pending);
        (outcomes, removed)
    }

    /// Commits the oldest `count` batches that are not committed yet.
    pub(crate) fn commit(&mut self, count: usize) {
        let count = count.min(self.pending.len());
        let batches = self.pending.drain(..count).collect();
        self.committer().commit(batches).expect("a commit");
    }

    pub(crate) fn commit_all(&mut self) {
        self.commit(self.pending.len());
    }

    pub(crate) fn flush_all(&mut self) {
        self.committer().flush_all().expect("a flush");
    }

    /// Closes without a flush, dropping what is not committed.
    pub(crate) fn close(&mut self) {
        self.pending.clear();
        self.open = None;
    }

    /// What the next opening goes by.
    pub(crate) fn options(&mut self) -> &mut Options {
        &mut self.options
    }

    /// Closes, if it is open, and opens again.
    pub(crate) fn reopen(&mut self) {
        self.close();
        self.open = Some(open(self.dir.path(), self.options.clone()).expect("a store"));
    }

    /// The ids that a scan gives, in its order.
    pub(crate) fn query(&self, filters: &[Value], now: u64) -> Vec<String> {
        query(self.store(), filters, now)
    }

    /// Everything that is shown.
    pub(crate) fn all(&self, now: u64) -> Vec<String> {
        all_of(self.store(), now)
    }

    /// What a walk over the archive gives, in its order.
    pub(crate) fn archived(&self) -> Vec<(ArchiveCause, String)> {
        archived_in(self.store())
    }

    /// The ids that a replay of the log gives, in seq order.
    pub(crate) fn replay(&self) -> Vec<String> {
        let mut ids = Vec::new();
        let through = self.store().snapshot().expect("a snapshot").ceiling();
        let mut after = Seq::ZERO;
        let budget = SliceBudget { events_max: 3, ..SliceBudget::UNLIMITED };
        while after < through {
            let mut sink = |seq: Seq, event: zeolite_proto::EventRef<'_>| {
                assert!(seq > after, "replay goes up");
                ids.push(event.id().to_string());
                true
            };
            after = self.store().read_log(after, through, budget, &mut sink).expect("a replay");
        }
        ids
    }

    /// Every cross reference holds.
    pub(crate) fn assert_clean(&self) {
        let report = self.store().check(&mut |_| {}).expect("a check");
        assert!(report.is_clean(), "{report:?}");
    }
}

/// The ids that a scan gives, in its order.
fn query(store: &Store, filters: &[Value], now: u64) -> Vec<String> {
    let parse = |filter: &Value| Filter::from_json(&filter.to_string()).expect("a filter");
    let filters: Vec<_> = filters.iter().map(parse).collect();
    let mut scan =
        Scan::new(store, &filters, ScanOptions::default(), &Reader::of_everything().into())
            .expect("a scan");
    let mut ids = Vec::new();
    let budget = SliceBudget { events_max: 3, ..SliceBudget::UNLIMITED };
    loop {
        let mut sink = |_, event: zeolite_proto::EventRef<'_>| {
            ids.push(event.id().to_string());
            true
        };
        let state = scan.slice(Timestamp(now), budget, &mut sink).expect("a slice");
        if matches!(state, ScanState::Done { .. }) {
            return ids;
        }
    }
}

/// Everything that a store shows.
pub(crate) fn all_of(store: &Store, now: u64) -> Vec<String> {
    query(store, &[serde_json::json!({})], now)
}

/// What a walk over a store's archive gives, in its order.
pub(crate) fn archived_in(store: &Store) -> Vec<(ArchiveCause, String)> {
    let mut walk = ArchiveWalk::new(store);
    let mut archived = Vec::new();
    let budget = SliceBudget { events_max: 3, ..SliceBudget::UNLIMITED };
    let mut sink = |cause, event: zeolite_proto::EventRef<'_>| {
        archived.push((cause, event.id().to_string()));
        true
    };
    while walk.slice(budget, &mut sink).expect("a slice") {}
    archived
}

/// The ids of these, sorted.
pub(crate) fn sorted_ids(archived: Vec<(ArchiveCause, String)>) -> Vec<String> {
    let mut ids: Vec<_> = archived.into_iter().map(|(_, id)| id).collect();
    ids.sort_unstable();
    ids
}

/// What the oracle calls an outcome.
pub(crate) fn in_oracle_terms(outcome: Outcome) -> OracleOutcome {
    match outcome {
        Outcome::Stored(_) => OracleOutcome::Stored,
        Outcome::Duplicate => OracleOutcome::Duplicate,
        Outcome::Superseded => OracleOutcome::Superseded,
        Outcome::Deleted => OracleOutcome::Deleted,
        Outcome::Vanished => OracleOutcome::Vanished,
        Outcome::Expired => OracleOutcome::Expired,
        Outcome::Full => unreachable!("these stores have room"),
    }
}
