//! A store that is a list: what a relay keeps and shows, by the plainest reading of the rules.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::matcher::oracle_matches;
use crate::relay_url::same_relay;

/// What became of a published event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OracleOutcome {
    /// It is kept.
    Stored,
    /// It is here already.
    Duplicate,
    /// A newer version of its address is here, or was here and has expired.
    Superseded,
    /// Its author, or the recipient of a gift wrap, deleted it or a version that replaces it.
    Deleted,
    /// It falls under a request to vanish.
    Vanished,
    /// It was expired when it came.
    Expired,
    /// It is of a kind that is never kept.
    Ephemeral,
}

/// `kind`, author and `d`: what all versions of a replaceable or addressable event share.
type Address = (u64, String, String);

/// The naive store.
///
/// # Rules
/// Numbers in brackets are lines of the relay's specification notes (NIP and edge cases).
/// At a fixed `now` the set that is shown does not depend on the order of arrival; every rule
/// is phrased so that this holds.
///
/// 1. *Ephemeral* kinds are never kept (R01-22), whatever else is true of them.
/// 2. An event that is *expired* on arrival is refused and has no effect at all (R40-02). This is
///    looked at before duplicates, so that the answer does not depend on whether an expired event
///    was already cleaned up. An event that expires later is hidden from then on (R40-03), still
///    blocks what it replaced, and what it did as a deletion stays done (R40-07, E-47, E-51).
/// 3. A *deletion request* (kind 5) by D kills every event it names by id whose author is D, or
///    which is a gift wrap (kind 1059) with D in a `p` tag; before or after its arrival, whatever
///    its time (R09-07, R09-10, R09-16). By address it kills versions of D's own address up to
///    and including its own time (R09-03, E-44). Kinds 5 and 62 cannot be killed so (R09-09).
/// 4. A version that is killed by id also kills all versions that it would replace, also when
///    it arrives after the request or after them (E-41, E-49).
/// 5. A *request to vanish* (kind 62) of P that names this relay or `ALL_RELAYS` kills everything
///    by P up to and including its time, and so the gift wraps that `p`-tag P (R62-03, R62-04). Of
///    P's requests that name this relay those with the latest time stay, as the proof.
/// 6. A deletion request that rule 5 kills or refuses has acted nevertheless (R62-09).
/// 7. Of the versions of one address the newest stays, and of equally new ones the one with the
///    lowest id (R01-21, R01-23, R01-25). The address of an addressable event uses the first `d`
///    tag, absent or without value being empty (R01-28).
///
/// 8. The *archive* has what was kept once and was then deleted or replaced (not what vanished or
///    expired), unless it has an expiration. Rule 5 takes it out of there as well. Unlike all else
///    it depends on the order of arrival: what is refused was never kept.
///
/// When several refusals apply, the answer is the first of: ephemeral, expired, duplicate,
/// vanished, deleted, superseded.
#[derive(Clone, Debug, Default)]
pub struct OracleStore {
    own_urls: Vec<String>,
    /// Includes events that have expired since: they are hidden, not gone.
    kept: Vec<Value>,
    /// (target id, who asked).
    deleted: BTreeSet<(String, String)>,
    /// Versions up to this time are dead.
    deleted_addresses: BTreeMap<Address, u64>,
    /// The version killed by id that replaces all others so killed: time and id.
    deleted_versions: BTreeMap<Address, (u64, String)>,
    vanished: BTreeMap<String, u64>,
    archive: Vec<Value>,
}

impl OracleStore {
    /// An empty store of a relay with these URLs.
    pub fn new(own_urls: &[&str]) -> Self {
        let own_urls = own_urls.iter().map(|&url| url.to_owned()).collect();
        Self { own_urls, ..Self::default() }
    }

    /// Takes one valid event.
    pub fn publish(&mut self, event: &Value, now: u64) -> OracleOutcome {
        if (20_000..30_000).contains(&kind(event)) {
            return OracleOutcome::Ephemeral;
        }
        if is_expired(event, now) {
            return OracleOutcome::Expired;
        }
        if self.kept.iter().any(|kept| kept["id"] == event["id"]) {
            return OracleOutcome::Duplicate;
        }
        self.note_effects(event);
        let outcome = self.judge(event);
        if outcome == OracleOutcome::Stored {
            self.kept.push(event.clone());
        }
        self.sweep();
        outcome
    }

    /// The ids of all stored events that match any of the filters and are not expired, each
    /// filter cut to its own `limit`; newest first, at equal times the lowest id first.
    pub fn query(&self, filters: &[Value], now: u64) -> Vec<String> {
        let mut found: Vec<&Value> = Vec::new();
        for filter in filters {
            let mut hits = self.visible(std::slice::from_ref(filter), now);
            if let Some(limit) = filter["limit"].as_u64() {
                hits.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            }
            found.extend(hits);
        }
        sort(&mut found);
        found.iter().map(|event| text(event, "id")).collect()
    }

    /// How many stored events match any of the filters, limits aside (R45-01, R45-05).
    pub fn count(&self, filters: &[Value], now: u64) -> usize {
        self.visible(filters, now).len()
    }

    /// The ids of all that is shown at `now`, in the order of an answer.
    pub fn effective_set(&self, now: u64) -> Vec<String> {
        self.query(&[serde_json::json!({})], now)
    }

    /// The ids of all that a store with an archive has in it, sorted.
    pub fn archived(&self) -> Vec<String> {
        let ids: BTreeSet<_> = self.archive.iter().map(|event| text(event, "id")).collect();
        ids.into_iter().collect()
    }

    /// The kept event with this id, shown or expired.
    pub fn get(&self, id: &str) -> Option<&Value> {
        self.kept.iter().find(|event| event["id"] == id)
    }

    fn visible(&self, filters: &[Value], now: u64) -> Vec<&Value> {
        let matches = |event: &Value| filters.iter().any(|filter| oracle_matches(event, filter));
        let mut hits: Vec<_> =
            self.kept.iter().filter(|event| !is_expired(event, now) && matches(event)).collect();
        sort(&mut hits);
        hits
    }

    /// What the event's arrival changes, whether it is kept or not.
    fn note_effects(&mut self, event: &Value) {
        let author = text(event, "pubkey");
        match kind(event) {
            5 => self.note_deletion(event, &author),
            62 if self.concerns_us(event) => {
                let watermark = self.vanished.entry(author).or_default();
                *watermark = time(event).max(*watermark);
            }
            _ => {}
        }
        self.note_deleted_version(event);
    }

    fn note_deletion(&mut self, event: &Value, author: &str) {
        for id in values(event, "e").filter(|id| is_hex64(id)) {
            self.deleted.insert((id.to_owned(), author.to_owned()));
        }
        for address in values(event, "a").filter_map(parse_address) {
            if address.1 == author {
                let until = self.deleted_addresses.entry(address).or_default();
                *until = time(event).max(*until);
            }
        }
    }

    /// Rule 4.
    fn note_deleted_version(&mut self, event: &Value) {
        let Some(address) = address(event).filter(|_| self.is_deleted_by_id(event)) else { return };
        let version = (time(event), text(event, "id"));
        let slot = self.deleted_versions.entry(address).or_insert_with(|| version.clone());
        if replaces(&version, slot) {
            *slot = version;
        }
    }

    fn judge(&self, event: &Value) -> OracleOutcome {
        if self.is_vanished(event) {
            OracleOutcome::Vanished
        } else if self.is_deleted(event) {
            OracleOutcome::Deleted
        } else if self.is_superseded(event) {
            OracleOutcome::Superseded
        } else {
            OracleOutcome::Stored
        }
    }

    /// Drops what the latest event has killed.
    fn sweep(&mut self) {
        for event in self.kept.clone() {
            self.note_deleted_version(&event);
        }
        let judged = self.clone();
        let (kept, gone) = std::mem::take(&mut self.kept)
            .into_iter()
            .partition(|event| judged.judge(event) == OracleOutcome::Stored);
        self.kept = kept;
        self.archive.extend(gone);
        self.archive.retain(|event| !has_expiration(event) && !judged.is_vanished(event));
    }

    fn is_vanished(&self, event: &Value) -> bool {
        let is_under = |key: &str| self.vanished.get(key).is_some_and(|&t| time(event) <= t);
        let author = text(event, "pubkey");
        let is_proof = kind(event) == 62
            && self.concerns_us(event)
            && self.vanished.get(&author) == Some(&time(event));
        (is_under(&author) && !is_proof)
            || (kind(event) == 1059 && values(event, "p").any(is_under))
    }

    fn is_deleted(&self, event: &Value) -> bool {
        self.is_deleted_by_id(event)
            || address(event).is_some_and(|address| {
                let by_address = self.deleted_addresses.get(&address);
                let by_version = self.deleted_versions.get(&address);
                by_address.is_some_and(|&until| time(event) <= until)
                    || by_version.is_some_and(|dead| replaces(dead, &version(event)))
            })
    }

    fn is_deleted_by_id(&self, event: &Value) -> bool {
        let asked_by = |key: &str| self.deleted.contains(&(text(event, "id"), key.to_owned()));
        match kind(event) {
            5 | 62 => false,
            1059 => asked_by(&text(event, "pubkey")) || values(event, "p").any(asked_by),
            _ => asked_by(&text(event, "pubkey")),
        }
    }

    fn is_superseded(&self, event: &Value) -> bool {
        let Some(wanted) = address(event) else { return false };
        self.kept.iter().any(|kept| {
            address(kept).as_ref() == Some(&wanted) && replaces(&version(kept), &version(event))
        })
    }

    fn concerns_us(&self, vanish: &Value) -> bool {
        values(vanish, "relay")
            .any(|url| url == "ALL_RELAYS" || self.own_urls.iter().any(|own| same_relay(own, url)))
    }
}

/// Newest first, lowest id first; doubles go.
fn sort(events: &mut Vec<&Value>) {
    events.sort_by_key(|event| (std::cmp::Reverse(time(event)), text(event, "id")));
    events.dedup_by_key(|event| text(event, "id"));
}

fn replaces(one: &(u64, String), other: &(u64, String)) -> bool {
    one.0 > other.0 || (one.0 == other.0 && one.1 < other.1)
}

fn version(event: &Value) -> (u64, String) {
    (time(event), text(event, "id"))
}

fn address(event: &Value) -> Option<Address> {
    let d = match kind(event) {
        0 | 3 | 10_000..20_000 => String::new(),
        30_000..40_000 => {
            let tags = event["tags"].as_array().expect("an event has tags");
            let first = tags.iter().find(|tag| tag[0] == "d");
            first.and_then(|tag| tag[1].as_str()).unwrap_or_default().to_owned()
        }
        _ => return None,
    };
    Some((kind(event), text(event, "pubkey"), d))
}

/// `kind:pubkey:d`, split at the first two colons (R01-29, E-45, E-46).
fn parse_address(value: &str) -> Option<Address> {
    let mut parts = value.splitn(3, ':');
    let (kind, author, d) = (parts.next()?, parts.next()?, parts.next()?);
    let kind: u16 = kind.parse().ok().filter(|_| kind.bytes().all(|b| b.is_ascii_digit()))?;
    let d = match kind {
        0 | 3 | 10_000..20_000 => "",
        30_000..40_000 => d,
        _ => return None,
    };
    is_hex64(author).then(|| (kind.into(), author.to_owned(), d.to_owned()))
}

/// The first `expiration` tag counts; one that is not a plain number is ignored (R40-06).
fn expiration(event: &Value) -> Option<u64> {
    let tags = event["tags"].as_array().expect("an event has tags");
    let first = tags.iter().find(|tag| tag[0] == "expiration");
    let at =
        first.and_then(|tag| tag[1].as_str()).filter(|v| v.bytes().all(|b| b.is_ascii_digit()));
    at.and_then(|at| at.parse().ok())
}

fn is_expired(event: &Value, now: u64) -> bool {
    expiration(event).is_some_and(|at| now >= at)
}

fn has_expiration(event: &Value) -> bool {
    expiration(event).is_some()
}

fn values<'e>(event: &'e Value, name: &'e str) -> impl Iterator<Item = &'e str> {
    let tags = event["tags"].as_array().expect("an event has tags");
    tags.iter().filter(move |tag| tag[0] == name).filter_map(|tag| tag[1].as_str())
}

fn is_hex64(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn kind(event: &Value) -> u64 {
    event["kind"].as_u64().expect("an event has a kind")
}

fn time(event: &Value) -> u64 {
    event["created_at"].as_u64().expect("an event has a time")
}

fn text(event: &Value, member: &str) -> String {
    event[member].as_str().expect("a string member").to_owned()
}
