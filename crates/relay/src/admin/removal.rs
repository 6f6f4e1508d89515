//! What a ban takes out of the store and its archive.

use std::sync::Arc;

use crossbeam_channel::Sender;
use zeolite_policy::Moderation;
use zeolite_proto::{EventId, Filter, PubKey, Reader, Seq};
use zeolite_store::{ArchivePart, ReadError, Scan, ScanOptions, ScanState, SliceBudget, Store};

use crate::clock;
use crate::inbox::AdmitterIn;
use crate::limits::PURGE_SLICE_EVENTS;

/// Removes events by way of the admitter, behind everything that it was given before.
#[derive(Clone)]
pub(super) struct Remover {
    store: Store,
    admitter: Sender<AdmitterIn>,
}

impl Remover {
    pub(super) fn new(store: Store, admitter: Sender<AdmitterIn>) -> Self {
        Self { store, admitter }
    }

    /// Removes one event. What is on its way at this moment is refused at admission.
    pub(super) fn event(&self, id: EventId) {
        let found =
            self.store.snapshot().and_then(|snapshot| Ok(snapshot.by_id(&id)?.map(|(seq, _)| seq)));
        match found {
            Ok(Some(seq)) => _ = self.admitter.send(AdmitterIn::Remove(vec![seq])),
            Ok(None) => {}
            Err(error) => tracing::error!(%error, %id, "a banned event was not removed"),
        }
        self.wipe_archive(vec![ArchivePart::Event(id)]);
    }

    /// Removes what is banned and still there, in a thread of its own: a crash may have come between a
    /// decision and what follows from it.
    pub(super) fn rest(&self, moderation: Arc<Moderation>) {
        let remover = self.clone();
        spawn(move || {
            if let Err(error) = remover.all_banned(&moderation) {
                tracing::error!(%error, "what is banned was not all removed");
            }
        });
    }

    fn all_banned(&self, moderation: &Moderation) -> Result<(), ReadError> {
        let mut parts = Vec::new();
        for id in moderation.banned_events() {
            if let Some((seq, _)) = self.store.snapshot()?.by_id(id)? {
                let _stopping = self.admitter.send(AdmitterIn::Remove(vec![seq]));
            }
            parts.push(ArchivePart::Event(*id));
        }
        for author in moderation.banned_pubkeys() {
            self.stored_by(*author)?;
            parts.push(ArchivePart::Author(*author));
        }
        if !parts.is_empty() {
            self.wipe_archive(parts);
        }
        Ok(())
    }

    /// Behind the removal: what was replaced or deleted until then is there by now.
    fn wipe_archive(&self, parts: Vec<ArchivePart>) {
        let wipe = AdmitterIn::WipeArchive { parts, done: None };
        let _stopping = self.admitter.send(wipe);
    }

    /// Removes everything by an author, in slices, in a thread of its own: there may be millions.
    pub(super) fn author(&self, author: PubKey) {
        let remover = self.clone();
        spawn(move || {
            if let Err(error) = remover.stored_by(author) {
                tracing::error!(%error, %author, "a banned author's events were not all removed");
            }
            remover.wipe_archive(vec![ArchivePart::Author(author)]);
        });
    }

    fn stored_by(&self, author: PubKey) -> Result<(), ReadError> {
        let filter = Filter { authors: Some([author].into()), ..Filter::default() };
        let options = ScanOptions { default_limit: None, max_limit: None };
        let mut scan = Scan::new(&self.store, &[filter], options, &Reader::of_everything().into())?;
        let budget = SliceBudget { events_max: PURGE_SLICE_EVENTS, ..SliceBudget::UNLIMITED };
        loop {
            let mut found: Vec<Seq> = Vec::new();
            let state = scan.slice(clock::now(), budget, &mut |seq, _| {
                found.push(seq);
                true
            })?;
            if !found.is_empty() && self.admitter.send(AdmitterIn::Remove(found)).is_err() {
                return Ok(());
            }
            if matches!(state, ScanState::Done { .. }) {
                return Ok(());
            }
        }
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) {
    if let Err(error) = std::thread::Builder::new().name("purge".into()).spawn(work) {
        tracing::error!(%error, "what is banned was not removed");
    }
}
