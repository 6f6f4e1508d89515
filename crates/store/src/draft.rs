//! A batch in the making: events are admitted one by one, each seeing what the ones before it
//! changed.

use std::collections::HashMap;
use std::sync::Arc;

use zeolite_proto::{Address, Event, EventId, EventRef, Kind, PubKey, Seq, Timestamp, Verified};

use crate::Outcome;
use crate::admission::{Lookups, Verdict, decide};
use crate::archive::{ArchiveCause, ArchivePart};
use crate::batch::{Batch, Removed, tombstone_key};
use crate::deletion::{Target, may_delete, targets};
use crate::error::ReadError;
use crate::keys::FIVE_BYTES_MAX;
use crate::snapshot::Snapshot;
use crate::sums::{self, ItemKey};
use crate::vanish::Vanish;
use crate::version::{Bar, BarCause, Version};

/// Where a live event was found.
pub(crate) enum Place {
    /// In this draft, at this position.
    Here(usize),
    /// Admitted by an earlier batch.
    Stored(Removed),
}

/// A batch that is still growing.
pub(crate) struct Draft<'a> {
    pub(crate) snapshot: &'a Snapshot<'a>,
    /// Events of this draft; `None` once the draft itself removed one again.
    events: Vec<(Seq, Option<Event>)>,
    by_id: HashMap<EventId, usize>,
    by_address: HashMap<Address, usize>,
    removed: HashMap<Seq, Removed>,
    /// What the batch will change in tables.
    changes: Batch,
    /// Requests to vanish whose removals have not begun.
    pub(crate) new_vanishes: Vec<Vanish>,
}

impl<'a> Draft<'a> {
    /// A draft whose events get the seqs after `last_seq`.
    pub(crate) fn new(snapshot: &'a Snapshot<'a>, last_seq: Seq) -> Self {
        Self {
            snapshot,
            events: Vec::new(),
            by_id: HashMap::new(),
            by_address: HashMap::new(),
            removed: HashMap::new(),
            changes: Batch { last_seq, ..Batch::default() },
            new_vanishes: Vec::new(),
        }
    }

    /// Decides about an event and carries the decision out.
    pub(crate) fn admit(
        &mut self,
        event: Verified<Event>,
        now: Timestamp,
    ) -> Result<Outcome, ReadError> {
        let event = event.into_inner();
        let view = event.view();
        let address = view.address();
        let is_own_vanish = self.snapshot.inner.own_urls.are_called_by(view);
        match decide(view, address.as_ref(), is_own_vanish, now, self)? {
            Verdict::Store => {
                let frees = view.kind() == Kind::DELETION || is_own_vanish;
                if self.snapshot.inner.is_full() && !frees {
                    return Ok(Outcome::Full);
                }
                self.prepare_for(view, address.as_ref(), is_own_vanish)?;
                Ok(Outcome::Stored(self.push(event, address)))
            }
            Verdict::Duplicate => Ok(Outcome::Duplicate),
            Verdict::Expired => Ok(Outcome::Expired),
            Verdict::Vanished => {
                // A deletion that was wiped keeps what it did, so one that comes too late to be
                // stored must do it too: the order of arrival must not matter.
                if view.kind() == Kind::DELETION {
                    self.delete_targets(view)?;
                }
                Ok(Outcome::Vanished)
            }
            Verdict::DeletedById => {
                if let Some(address) = address {
                    self.bar_address(&address, Version::of(view), BarCause::Deletion)?;
                }
                Ok(Outcome::Deleted)
            }
            Verdict::DeletedByAddress => Ok(Outcome::Deleted),
            Verdict::Superseded => Ok(Outcome::Superseded),
        }
    }

    /// Makes room for an event that is about to be stored, and does what it asks for.
    fn prepare_for(
        &mut self,
        event: EventRef<'_>,
        address: Option<&Address>,
        is_own_vanish: bool,
    ) -> Result<(), ReadError> {
        if let Some(address) = address
            && let Some((place, _)) = self.find_address(address)?
        {
            self.remove(place, Some(ArchiveCause::Replaced));
        }
        if event.kind() == Kind::DELETION {
            self.delete_targets(event)?;
        }
        if is_own_vanish {
            self.vanish(event);
        }
        Ok(())
    }

    fn push(&mut self, event: Event, address: Option<Address>) -> Seq {
        let seq = self.changes.last_seq.next();
        assert!(seq.0 <= FIVE_BYTES_MAX, "a store has room for 2^40 events in its life");
        self.changes.last_seq = seq;
        self.by_id.insert(event.view().id(), self.events.len());
        if let Some(address) = address {
            self.by_address.insert(address, self.events.len());
        }
        self.events.push((seq, Some(event)));
        seq
    }

    fn delete_targets(&mut self, request: EventRef<'_>) -> Result<(), ReadError> {
        let deleter = request.pubkey();
        for target in targets(request) {
            match target {
                Target::Event(id) => self.delete_event(&id, &deleter)?,
                Target::Address(address) => {
                    let through = Version::newest_at(request.created_at());
                    self.bar_address(&address, through, BarCause::Deletion)?;
                }
            }
        }
        Ok(())
    }

    fn delete_event(&mut self, id: &EventId, deleter: &PubKey) -> Result<(), ReadError> {
        self.changes.tombstones.insert(tombstone_key(id, deleter));
        let Some((place, event)) = self.find_id(id)? else { return Ok(()) };
        if !may_delete(deleter, event) {
            return Ok(());
        }
        let address = event.address().map(|address| (address, Version::of(event)));
        self.remove(place, Some(ArchiveCause::Deleted));
        match address {
            Some((address, version)) => self.bar_address(&address, version, BarCause::Deletion),
            None => Ok(()),
        }
    }

    /// Keeps versions up to `through` out, and removes the stored one if it is among them.
    pub(crate) fn bar_address(
        &mut self,
        address: &Address,
        through: Version,
        cause: BarCause,
    ) -> Result<(), ReadError> {
        let bar = Bar { through, cause };
        let known = self.bar(address)?;
        if known.is_none_or(|known| bar.through.is_newer_than(&known.through)) {
            let key = self.snapshot.inner.keys.address_bar(address);
            self.changes.bars.insert(key, bar);
        }
        if let Some((place, version)) = self.find_address(address)?
            && bar.covers(&version)
        {
            let is_deletion = cause == BarCause::Deletion;
            self.remove(place, is_deletion.then_some(ArchiveCause::Deleted));
        }
        Ok(())
    }

    fn vanish(&mut self, request: EventRef<'_>) {
        let vanish = Vanish { author: request.pubkey(), until: request.created_at() };
        self.changes.vanished.insert(vanish.author, vanish.until);
        let own_urls = &self.snapshot.inner.own_urls;
        let wiped: Vec<_> = (0..self.events.len())
            .filter(|at| self.event_here(*at).is_some_and(|event| vanish.wipes(event, own_urls)))
            .collect();
        for at in wiped {
            self.remove(Place::Here(at), None);
        }
        self.new_vanishes.retain(|earlier| earlier.author != vanish.author);
        self.new_vanishes.push(vanish);
    }

    /// Removes an event that was found alive; it goes to the archive if there is a cause for that.
    pub(crate) fn remove(&mut self, place: Place, archive_as: Option<ArchiveCause>) {
        let archive_as = archive_as.filter(|_| self.snapshot.inner.options.archive);
        match place {
            Place::Here(at) => {
                if let Some(event) = self.events[at].1.take() {
                    self.by_id.remove(&event.view().id());
                    if let Some(address) = event.view().address() {
                        self.by_address.remove(&address);
                    }
                    self.changes.archived.extend(archive_as.map(|cause| (cause, event)));
                }
            }
            Place::Stored(removed) => {
                self.removed.insert(removed.seq, Removed { archive_as, ..removed });
            }
        }
    }

    /// The place of an event of an earlier batch.
    pub(crate) fn stored(&self, seq: Seq, event: EventRef<'_>) -> Place {
        let is_gated = self.snapshot.inner.options.is_gated(event.kind());
        let place = sums::Place { key: ItemKey::of(event), is_gated };
        Place::Stored(Removed { seq, place, archive_as: None })
    }

    /// Whether this draft removes a stored event.
    pub(crate) fn removes(&self, seq: Seq) -> bool {
        self.removed.contains_key(&seq)
    }

    /// How many stored events this draft removes.
    pub(crate) fn removals(&self) -> usize {
        self.removed.len()
    }

    /// Takes something out of the archive.
    pub(crate) fn wipe_archive(&mut self, part: ArchivePart) {
        self.changes.archive_wipes.push(part);
    }

    /// Records how far the removals on behalf of a request to vanish are.
    pub(crate) fn set_vanishing(&mut self, author: PubKey, until: Option<Timestamp>) {
        self.changes.vanishing.insert(author, until);
    }

    fn event_here(&self, at: usize) -> Option<EventRef<'_>> {
        self.events[at].1.as_ref().map(Event::view)
    }

    fn find_id(&self, id: &EventId) -> Result<Option<(Place, EventRef<'_>)>, ReadError> {
        if let Some(at) = self.by_id.get(id) {
            return Ok(self.event_here(*at).map(|event| (Place::Here(*at), event)));
        }
        let found = self.snapshot.by_id(id)?;
        let found = found.filter(|(seq, event)| !self.removes(*seq) && !self.is_wiped(*event));
        Ok(found.map(|(seq, event)| (self.stored(seq, event), event)))
    }

    fn find_address(&self, address: &Address) -> Result<Option<(Place, Version)>, ReadError> {
        if let Some(at) = self.by_address.get(address) {
            let event = self.event_here(*at);
            return Ok(event.map(|event| (Place::Here(*at), Version::of(event))));
        }
        let found = self
            .snapshot
            .newest_of(address, |seq, event| !self.removes(seq) && !self.is_wiped(event))?;
        Ok(found.map(|(seq, event)| (self.stored(seq, event), Version::of(event))))
    }

    /// Whether a request to vanish in this draft covers a stored event.
    fn is_wiped(&self, event: EventRef<'_>) -> bool {
        self.new_vanishes.iter().any(|vanish| vanish.wipes(event, &self.snapshot.inner.own_urls))
    }

    /// The finished batch.
    pub(crate) fn finish(self, number: u64) -> Batch {
        let live = self.events.into_iter().filter_map(|(seq, event)| Some((seq, event?)));
        let events: Arc<[_]> = live.collect();
        let record_bytes = events.iter().map(|(_, event)| event.record_bytes()).sum();
        let mut removed: Vec<_> = self.removed.into_values().collect();
        removed.sort_unstable_by_key(|removed| removed.seq);
        Batch { number, events, record_bytes, removed, ..self.changes }
    }
}

impl Lookups for Draft<'_> {
    type Error = ReadError;

    fn is_stored(&self, id: &EventId) -> Result<bool, ReadError> {
        Ok(self.find_id(id)?.is_some())
    }

    fn is_tombstoned(&self, id: &EventId, deleter: &PubKey) -> Result<bool, ReadError> {
        let key = tombstone_key(id, deleter);
        if self.changes.tombstones.contains(&key) {
            return Ok(true);
        }
        self.snapshot.is_tombstoned(&key)
    }

    fn bar(&self, address: &Address) -> Result<Option<Bar>, ReadError> {
        let key = self.snapshot.inner.keys.address_bar(address);
        match self.changes.bars.get(&key) {
            Some(bar) => Ok(Some(*bar)),
            None => self.snapshot.bar(&key),
        }
    }

    fn vanished_until(&self, key: &PubKey) -> Result<Option<Timestamp>, ReadError> {
        match self.changes.vanished.get(key) {
            Some(until) => Ok(Some(*until)),
            None => self.snapshot.vanished_until(key),
        }
    }

    fn newest(&self, address: &Address) -> Result<Option<Version>, ReadError> {
        Ok(self.find_address(address)?.map(|(_, version)| version))
    }
}
