//! The decision about one event, given what is stored: pure, and the same in whatever order
//! events arrive and however they are cut into batches.

use zeolite_proto::{Address, EventId, EventRef, Kind, PubKey, Timestamp};

use crate::vanish::recipients;
use crate::version::{Bar, BarCause, Version};

/// What the decision needs to know of the store, admitted and uncommitted changes included.
pub(crate) trait Lookups {
    /// Why a lookup can fail.
    type Error;

    /// Whether the event is stored.
    fn is_stored(&self, id: &EventId) -> Result<bool, Self::Error>;
    /// Whether `deleter` asked for the deletion of this event.
    fn is_tombstoned(&self, id: &EventId, deleter: &PubKey) -> Result<bool, Self::Error>;
    /// What bars versions of this address.
    fn bar(&self, address: &Address) -> Result<Option<Bar>, Self::Error>;
    /// The time of the newest request to vanish by this key.
    fn vanished_until(&self, key: &PubKey) -> Result<Option<Timestamp>, Self::Error>;
    /// The stored version of this address.
    fn newest(&self, address: &Address) -> Result<Option<Version>, Self::Error>;
}

/// What is to be done with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is new and welcome.
    Store,
    /// It is stored.
    Duplicate,
    /// It expired before it arrived (NIP-40).
    Expired,
    /// Its author, or the recipient of a gift wrap, vanished after it was made (NIP-62).
    Vanished,
    /// Its deletion was asked for by id (NIP-09).
    DeletedById,
    /// Its deletion was asked for by address, or by the id of a newer version (NIP-09, E-41).
    DeletedByAddress,
    /// A newer version is or was stored (NIP-01, R40-07).
    Superseded,
}

/// Decides about `event`. `address` is the event's; `is_own_vanish` says that it is a request to
/// vanish that this store obeys.
pub(crate) fn decide<L: Lookups>(
    event: EventRef<'_>,
    address: Option<&Address>,
    is_own_vanish: bool,
    now: Timestamp,
    store: &L,
) -> Result<Verdict, L::Error> {
    // First of all: what is late has no effect, and whether an earlier copy of it was already
    // cleaned up must make no difference.
    if event.is_expired(now) {
        return Ok(Verdict::Expired);
    }
    if store.is_stored(&event.id())? {
        return Ok(Verdict::Duplicate);
    }
    if is_vanished(event, is_own_vanish, store)? {
        return Ok(Verdict::Vanished);
    }
    if is_deleted_by_id(event, store)? {
        return Ok(Verdict::DeletedById);
    }
    match address {
        Some(address) => decide_version(Version::of(event), address, store),
        None => Ok(Verdict::Store),
    }
}

fn decide_version<L: Lookups>(
    version: Version,
    address: &Address,
    store: &L,
) -> Result<Verdict, L::Error> {
    if let Some(bar) = store.bar(address)?.filter(|bar| bar.covers(&version)) {
        return Ok(match bar.cause {
            BarCause::Deletion => Verdict::DeletedByAddress,
            BarCause::Expiry => Verdict::Superseded,
        });
    }
    let newest = store.newest(address)?;
    let is_superseded = newest.is_some_and(|newest| newest.is_newer_than(&version));
    Ok(if is_superseded { Verdict::Superseded } else { Verdict::Store })
}

fn is_vanished<L: Lookups>(
    event: EventRef<'_>,
    is_own_vanish: bool,
    store: &L,
) -> Result<bool, L::Error> {
    let covers = |key: &PubKey| -> Result<bool, L::Error> {
        let Some(until) = store.vanished_until(key)? else { return Ok(false) };
        let time = event.created_at();
        Ok(time < until || (time == until && !is_own_vanish))
    };
    if covers(&event.pubkey())? {
        return Ok(true);
    }
    if event.kind() == Kind::GIFT_WRAP {
        for recipient in recipients(event) {
            if covers(&recipient)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn is_deleted_by_id<L: Lookups>(event: EventRef<'_>, store: &L) -> Result<bool, L::Error> {
    if !can_be_deleted(event.kind()) {
        return Ok(false);
    }
    let id = event.id();
    if store.is_tombstoned(&id, &event.pubkey())? {
        return Ok(true);
    }
    if event.kind() == Kind::GIFT_WRAP {
        for recipient in recipients(event) {
            if store.is_tombstoned(&id, &recipient)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// False for deletions and requests to vanish: nothing undoes those (R09-08, R09-09).
pub(crate) fn can_be_deleted(kind: Kind) -> bool {
    kind != Kind::DELETION && kind != Kind::VANISH
}
