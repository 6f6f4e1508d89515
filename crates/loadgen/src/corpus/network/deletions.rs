//! Deletions before and after their targets, and requests to vanish.

use zeolite_proto::{EventId, Kind};

use crate::corpus::body::{Body, push_decimal, push_hex};
use crate::corpus::compose::{Ahead, Composed};
use crate::corpus::network::roles::Role;
use crate::corpus::network::{DELETABLE, Deletable, Network};
use crate::corpus::rng::{Purpose, Rng};

/// What a deletion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    /// An earlier event, by its id.
    IdAfter,
    /// A later event, by its id.
    IdBefore,
    /// The address of an earlier event.
    AddressAfter,
    /// The address of an event of the same second, which comes before or after by chance of its id.
    AddressTie,
    /// The address of a later event, which lives.
    AddressBefore,
    /// Somebody else's event, which lives.
    Foreign,
    /// A gift wrap, by its recipient.
    Wrap,
    /// Nothing that can be read, an event nobody has, and an earlier event.
    Odd,
}

/// Of a hundred deletions so many are of a sort.
const SORTS: [(Deletion, u32); 8] = [
    (Deletion::IdAfter, 45),
    (Deletion::IdBefore, 12),
    (Deletion::AddressAfter, 17),
    (Deletion::AddressTie, 5),
    (Deletion::AddressBefore, 4),
    (Deletion::Foreign, 5),
    (Deletion::Wrap, 7),
    (Deletion::Odd, 5),
];

/// How far ahead a later target may lie.
const AHEAD_EVENTS: u32 = 2_000;
/// Requests to vanish in a thousand that name another relay.
const ELSEWHERE_SHARE: u32 = 300;
/// Authors that do not vanish: the busiest, so that one request does not empty a small corpus.
const STAYING: u32 = 50;

impl Network {
    fn sort_of_deletion(&self, number: u32) -> Option<Deletion> {
        if self.roles[number as usize] != Role::Deletion {
            return None;
        }
        let mut draw = Rng::new(self.seed, Purpose::Deletion, number.into()).below(100);
        let sort = SORTS.iter().find(|(_, weight)| {
            let is_here = draw < *weight;
            draw = draw.saturating_sub(*weight);
            is_here
        });
        sort.map(|(sort, _)| *sort)
    }

    /// Puts an addressable event into the second of each deletion that wants one: the next of them
    /// changes places with the event that follows the deletion.
    pub(super) fn plan_tied_deletions(&mut self) {
        for number in 0..self.roles.len().saturating_sub(1) {
            if self.sort_of_deletion(number as u32) != Some(Deletion::AddressTie) {
                continue;
            }
            let next = number + 1;
            let later = self.roles[next..].iter().position(|role| role.is_addressable());
            if let Some(later) = later {
                self.roles.swap(next, next + later);
                self.times[next] = self.times[number];
            }
        }
    }

    /// The later event that a deletion is about.
    pub(super) fn deletion_ahead(&self, number: u32) -> Option<u32> {
        let sort = self.sort_of_deletion(number)?;
        let role_wanted: fn(Role) -> bool = match sort {
            Deletion::IdBefore => |role| matches!(role, Role::Note | Role::Article),
            Deletion::AddressBefore => Role::is_addressable,
            Deletion::AddressTie => {
                let next = number + 1;
                let role = self.roles.get(next as usize)?;
                return role.is_addressable().then_some(next);
            }
            _ => return None,
        };
        let mut rng = Rng::new(self.seed, Purpose::Deletion, u64::from(number) | 1 << 32);
        let first = number + 1 + rng.below(AHEAD_EVENTS / 2);
        let end = (number + AHEAD_EVENTS).min(self.roles.len() as u32);
        (first..end).find(|&later| role_wanted(self.roles[later as usize]))
    }

    pub(super) fn remember_deletable(&mut self, role: Role, composed: &Composed, id: EventId) {
        let key = match role {
            Role::Vanish | Role::RemoteSigning | Role::Ephemeral | Role::Zap => return,
            Role::Wrap => self.wrap_recipient,
            _ => composed.key,
        };
        if self.deletable.len() == DELETABLE {
            self.deletable.pop_front();
        }
        let d = composed.d.clone();
        self.deletable.push_back(Deletable { id, key, kind: composed.kind, d });
    }

    /// A recent event that fits, sought from a random place on.
    fn deletable(&self, rng: &mut Rng, fits: impl Fn(Kind) -> bool) -> Option<&Deletable> {
        let len = self.deletable.len();
        let first = rng.below((len as u32).max(1)) as usize;
        (first..len).chain(0..first).map(|at| &self.deletable[at]).find(|found| fits(found.kind))
    }

    pub(super) fn compose_deletion(
        &mut self,
        number: u32,
        ahead: Option<&Ahead>,
        rng: &mut Rng,
        body: &mut Body,
    ) -> Composed {
        let sort = self.sort_of_deletion(number).unwrap_or(Deletion::Odd);
        let key = match (sort, ahead) {
            (Deletion::IdBefore, Some(ahead)) => {
                push_id(&ahead.id, ahead.composed.kind, body);
                ahead.composed.key
            }
            (Deletion::AddressTie | Deletion::AddressBefore, Some(ahead)) => {
                let Composed { key, kind, d } = &ahead.composed;
                self.push_address(*key, *kind, d, body);
                *key
            }
            (Deletion::AddressAfter, _) => self.push_earlier_address(rng, body),
            (Deletion::Wrap, _) => self.push_earlier(rng, body, |kind| kind == Kind::GIFT_WRAP),
            (Deletion::Foreign, _) => {
                self.push_earlier(rng, body, |kind| kind != Kind::GIFT_WRAP);
                self.any_author(rng)
            }
            (Deletion::Odd, _) => {
                body.tag("e", b"not an id");
                body.tag("a", b"1:not an address");
                body.hex_tag("e", &std::array::from_fn(|_| rng.bits() as u8));
                self.push_earlier(rng, body, |_| true)
            }
            _ => self.push_earlier(rng, body, |kind| kind != Kind::GIFT_WRAP),
        };
        if rng.per_mille(200) {
            body.content(b"deleted by mistake? \"no\"");
        }
        Composed::new(key, Kind::DELETION)
    }

    /// Names an earlier event, by its id; returns who may delete it.
    fn push_earlier(&self, rng: &mut Rng, body: &mut Body, fits: impl Fn(Kind) -> bool) -> u32 {
        match self.deletable(rng, fits) {
            Some(Deletable { id, key, kind, .. }) => {
                push_id(id, *kind, body);
                *key
            }
            None => self.any_author(rng),
        }
    }

    /// Names the address of an earlier event, of the replaceable kinds too.
    fn push_earlier_address(&self, rng: &mut Rng, body: &mut Body) -> u32 {
        let is_common = rng.per_mille(800);
        let fits =
            |kind: Kind| (30_000..40_000).contains(&kind.0) || (!is_common && kind.0 == 10_002);
        match self.deletable(rng, fits) {
            Some(Deletable { key, kind, d, .. }) => {
                self.push_address(*key, *kind, d, body);
                *key
            }
            None => self.any_author(rng),
        }
    }

    fn push_address(&self, key: u32, kind: Kind, d: &str, body: &mut Body) {
        let mut address = Vec::new();
        push_decimal(&mut address, kind.0.into());
        address.push(b':');
        push_hex(&mut address, &self.pubkey(key));
        address.push(b':');
        address.extend_from_slice(d.as_bytes());
        body.tag("a", &address);
    }

    pub(super) fn compose_vanish(&mut self, rng: &mut Rng, body: &mut Body) -> Composed {
        let authors = self.zipf.count();
        let staying = STAYING.min(authors - 1);
        let key = staying + rng.below(authors - staying);
        let relay =
            if rng.per_mille(ELSEWHERE_SHARE) { "wss://elsewhere.example" } else { "ALL_RELAYS" };
        body.tag("relay", relay.as_bytes());
        body.content(b"so long");
        Composed::new(key, Kind::VANISH)
    }
}

fn push_id(id: &EventId, kind: Kind, body: &mut Body) {
    body.hex_tag("e", &id.0);
    body.tag("k", kind.0.to_string().as_bytes());
}
