//! What a relay that follows NIPs 01, 09, 40 and 62 holds after it has taken all events of a corpus.
//!
//! It is worked out here from the whole corpus at once and so does not depend on any order; it
//! shares no code with the store. The rules, at a given `now`:
//!
//! 1. Ephemeral kinds are never held.
//! 2. What is expired at `now` has no effect at all: it was refused (a generated corpus has no event
//!    that expires between its end and the year 2100, so that every run refuses the same ones).
//! 3. A request to vanish (kind 62) that names the relay or `ALL_RELAYS` removes everything by its
//!    author up to and including its time, and gift wraps that `p`-tag the author. Requests of the
//!    author's latest such time stay, as the proof.
//! 4. A deletion request (kind 5) removes what it names by id, whatever its time, if the requester
//!    is the author or the recipient of a gift wrap; and versions of the requester's addresses up to
//!    and including its own time. Kinds 5 and 62 cannot be deleted. A deletion request acts even
//!    where rule 3 removes it.
//! 5. A version that is deleted by id takes the older versions of its address with it.
//! 6. Of the versions that are left of an address the newest is held; at equal times, the one with
//!    the lowest id.

pub(crate) mod fate;
pub(crate) mod set;

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use zeolite_proto::{
    Address, EventId, EventRef, Kind, KindClass, PubKey, TagStr, Timestamp, normalise_relay_url,
};

use crate::corpus::effective::fate::Fate;
use crate::corpus::effective::set::EffectiveSet;

/// What the effective set needs to know of one event: 56 bytes.
#[derive(Clone, Copy, Debug)]
struct Fact {
    id: EventId,
    time: Timestamp,
    author: u32,
    /// Number of its address, or [`NO_ADDRESS`].
    address: u32,
    kind: Kind,
    /// What is known from the event alone.
    note: Note,
}

const NO_ADDRESS: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Note {
    Plain,
    Ephemeral,
    Expired,
    /// A request to vanish that the relay obeys.
    Vanish,
}

/// Takes the events of a corpus in any order and works out the [`EffectiveSet`].
///
/// Memory: about 60 bytes for each event, 80 for each author and 120 for each address.
#[derive(Debug)]
pub struct EffectiveBuilder {
    now: Timestamp,
    own_urls: Vec<String>,
    facts: Vec<Fact>,
    authors: HashMap<PubKey, u32>,
    addresses: HashMap<Address, u32>,
    /// (target, who asked).
    kills: HashSet<(EventId, u32)>,
    /// By number of address: versions up to this time are dead.
    address_kills: HashMap<u32, Timestamp>,
    vanished: HashMap<u32, Timestamp>,
    /// (place of a gift wrap among the facts, recipient).
    wraps: Vec<(usize, u32)>,
}

impl EffectiveBuilder {
    /// For a relay with these URLs; without one, only requests to vanish from `ALL_RELAYS` count.
    pub fn new(now: Timestamp, own_urls: &[&str]) -> Self {
        Self {
            now,
            own_urls: own_urls.iter().filter_map(|url| normalise_relay_url(url)).collect(),
            facts: Vec::new(),
            authors: HashMap::new(),
            addresses: HashMap::new(),
            kills: HashSet::new(),
            address_kills: HashMap::new(),
            vanished: HashMap::new(),
            wraps: Vec::new(),
        }
    }

    /// Takes one valid event; repeats do no harm.
    pub fn add(&mut self, event: EventRef<'_>) {
        let note = self.note(event);
        let author = self.author(event.pubkey());
        let address = match event.address() {
            Some(address) if note == Note::Plain => self.address(address),
            _ => NO_ADDRESS,
        };
        if matches!(note, Note::Plain | Note::Vanish) {
            self.take_effects(event, author, note);
        }
        let (id, time, kind) = (event.id(), event.created_at(), event.kind());
        self.facts.push(Fact { id, time, author, address, kind, note });
    }

    fn note(&self, event: EventRef<'_>) -> Note {
        if event.kind().class() == KindClass::Ephemeral {
            Note::Ephemeral
        } else if event.is_expired(self.now) {
            Note::Expired
        } else if event.kind() == Kind::VANISH && self.is_called(event) {
            Note::Vanish
        } else {
            Note::Plain
        }
    }

    fn is_called(&self, vanish: EventRef<'_>) -> bool {
        let relays = vanish.tags().filter(|tag| tag.name() == Some(TagStr::Text(b"relay")));
        relays.filter_map(|tag| tag.value()).any(|value| {
            let url = value.to_bytes();
            url == b"ALL_RELAYS"
                || std::str::from_utf8(&url)
                    .ok()
                    .and_then(normalise_relay_url)
                    .is_some_and(|url| self.own_urls.contains(&url))
        })
    }

    fn take_effects(&mut self, event: EventRef<'_>, author: u32, note: Note) {
        let time = event.created_at();
        match event.kind() {
            Kind::DELETION => self.take_deletion(event, author),
            Kind::VANISH if note == Note::Vanish => {
                let until = self.vanished.entry(author).or_insert(time);
                *until = time.max(*until);
            }
            Kind::GIFT_WRAP => {
                let place = self.facts.len();
                for (letter, value) in event.letter_tags() {
                    if let (b'p', TagStr::Hex(key)) = (letter, value) {
                        let recipient = self.author(PubKey(*key));
                        self.wraps.push((place, recipient));
                    }
                }
            }
            _ => {}
        }
    }

    fn take_deletion(&mut self, request: EventRef<'_>, author: u32) {
        for (letter, value) in request.letter_tags() {
            match (letter, value) {
                (b'e', TagStr::Hex(id)) => {
                    self.kills.insert((EventId(*id), author));
                }
                (b'a', value) => {
                    let address = Address::parse(value);
                    if let Some(address) = address.filter(|a| a.author == request.pubkey()) {
                        let number = self.address(address);
                        let until = self.address_kills.entry(number).or_default();
                        *until = request.created_at().max(*until);
                    }
                }
                _ => {}
            }
        }
    }

    fn author(&mut self, key: PubKey) -> u32 {
        let next = self.authors.len() as u32;
        *self.authors.entry(key).or_insert(next)
    }

    fn address(&mut self, address: Address) -> u32 {
        let next = self.addresses.len() as u32;
        *self.addresses.entry(address).or_insert(next)
    }

    /// The set, once all events were added.
    pub fn finish(self) -> EffectiveSet {
        let mut fates: Vec<_> = self.facts.iter().map(|fact| self.fate_alone(fact)).collect();
        self.judge_wraps(&mut fates);
        self.judge_versions(&mut fates);
        let mut held: Vec<_> = self
            .facts
            .iter()
            .zip(&fates)
            .filter(|(_, fate)| fate.is_held())
            .map(|(fact, _)| (fact.time, fact.id))
            .collect();
        held.sort_unstable();
        held.dedup();
        let mut fates: Vec<_> =
            self.facts.iter().zip(fates).map(|(fact, fate)| (fact.id, fate)).collect();
        fates.sort_unstable();
        fates.dedup_by_key(|(id, _)| *id);
        EffectiveSet { held, fates }
    }

    /// The fate of an event, other versions of its address and recipients aside.
    fn fate_alone(&self, fact: &Fact) -> Fate {
        match fact.note {
            Note::Ephemeral => return Fate::Ephemeral,
            Note::Expired => return Fate::Expired,
            Note::Plain | Note::Vanish => {}
        }
        if let Some(&until) = self.vanished.get(&fact.author) {
            let is_proof = fact.note == Note::Vanish && fact.time == until;
            if fact.time <= until && !is_proof {
                return Fate::Vanished;
            }
        }
        if self.is_killed(fact, fact.author) {
            return Fate::Deleted;
        }
        match self.address_kills.get(&fact.address) {
            Some(&until) if fact.time <= until => match fact.kind.class() {
                KindClass::Addressable => Fate::DeletedByAddress,
                _ => Fate::DeletedReplaceable,
            },
            _ => Fate::Held,
        }
    }

    fn is_killed(&self, fact: &Fact, by: u32) -> bool {
        fact.kind != Kind::DELETION
            && fact.kind != Kind::VANISH
            && self.kills.contains(&(fact.id, by))
    }

    fn judge_wraps(&self, fates: &mut [Fate]) {
        for &(place, recipient) in &self.wraps {
            let (fact, fate) = (&self.facts[place], &mut fates[place]);
            if *fate != Fate::Held && *fate != Fate::DeletedWrap {
                continue;
            }
            if self.vanished.get(&recipient).is_some_and(|&until| fact.time <= until) {
                *fate = Fate::VanishedWrap;
            } else if self.is_killed(fact, recipient) {
                *fate = Fate::DeletedWrap;
            }
        }
    }

    /// Rules 5 and 6.
    fn judge_versions(&self, fates: &mut [Fate]) {
        let versions = || self.facts.iter().enumerate().filter(|(_, f)| f.address != NO_ADDRESS);
        let mut killed = vec![None; self.addresses.len()];
        for (_, fact) in versions().filter(|(_, fact)| self.is_killed(fact, fact.author)) {
            let newest = &mut killed[fact.address as usize];
            *newest = (*newest).max(Some(version(fact)));
        }
        let mut winners = vec![None; self.addresses.len()];
        for (place, fact) in
            versions().filter(|&(place, _)| fates[place] == Fate::Held).collect::<Vec<_>>()
        {
            if Some(version(fact)) <= killed[fact.address as usize] {
                fates[place] = Fate::DeletedWithNewer;
            } else {
                let winner = &mut winners[fact.address as usize];
                *winner = (*winner).max(Some(version(fact)));
            }
        }
        self.judge_losers(&winners, fates);
    }

    fn judge_losers(&self, winners: &[Option<Version>], fates: &mut [Fate]) {
        let mut ties = HashSet::new();
        for (place, fact) in self.facts.iter().enumerate() {
            if fact.address == NO_ADDRESS || fates[place] != Fate::Held {
                continue;
            }
            let winner = winners[fact.address as usize].expect("this version competes");
            if winner == version(fact) {
                continue;
            }
            fates[place] = if winner.0 == fact.time {
                ties.insert(winner.1.0);
                Fate::SupersededInTie
            } else {
                Fate::Superseded
            };
        }
        for (place, fact) in self.facts.iter().enumerate() {
            if fates[place] == Fate::Held && ties.contains(&fact.id) {
                fates[place] = Fate::HeldInTie;
            }
        }
    }
}

/// The greater of two versions is the newer one: the later, at equal times the one with the lower id
/// (R01-25).
type Version = (Timestamp, Reverse<EventId>);

fn version(fact: &Fact) -> Version {
    (fact.time, Reverse(fact.id))
}
