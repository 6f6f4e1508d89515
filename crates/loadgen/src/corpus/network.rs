//! `network-v1`: closer to a public relay.

mod deletions;
mod lists;
mod private;
mod public;
mod roles;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use zeolite_proto::{EventId, Kind, Timestamp};

use crate::corpus::body::Body;
use crate::corpus::compose::{Ahead, Composed, Story};
use crate::corpus::fixed::{Exp2, Spread};
use crate::corpus::plan::{self, BASE_TIME};
use crate::corpus::rng::{Purpose, Rng};
use crate::corpus::signer::Author;
use crate::corpus::social::{Distinct, Target, early_place, recent_place};
use crate::corpus::text::{Script, Writer};
use crate::corpus::zipf::Zipf;
use roles::{MIX, Role};

/// Frequency of the k-th author: k to minus this many hundredths. The first of 50,000 makes 2.5 % of
/// what authors make.
const ZIPF_EXPONENT: i64 = 80;
/// Keys of wallet servers, which sign zap receipts; their numbers follow those of the authors.
const WALLETS: u32 = 12;
/// Times that an event falls into the second of the one before, in a thousand.
const TIE_SHARE: u32 = 120;
/// Once in so many events a burst of [`BURST_EVENTS`] falls into one second.
const BURST_EVERY: u32 = 4_000;
const BURST_EVENTS: u32 = 40;
/// Once in so many notes, one goes viral.
const VIRAL_EVERY: u32 = 800;
/// Viral threads that are alive at a time.
const VIRAL_ALIVE: usize = 8;
/// Events that a deletion may be about: the latest ones.
const DELETABLE: usize = 4_096;
/// An `expiration` that no run reaches: the year 2100, and later.
const FAR_FUTURE: u64 = 4_102_444_800;

/// How many authors a corpus of so many events has.
fn authors(events: u32) -> u32 {
    (events / 20).max(5)
}

/// How many keys a corpus of so many events needs: authors, wallets, senders of gift wraps.
pub(crate) fn keys(events: u32) -> u32 {
    authors(events) + WALLETS + roles::wraps(events)
}

/// An event that its author, or the recipient of a gift wrap, may delete.
#[derive(Clone, Debug)]
struct Deletable {
    id: EventId,
    key: u32,
    kind: Kind,
    d: String,
}

/// How the corpus goes.
pub(crate) struct Network {
    keys: Arc<[Author]>,
    roles: Vec<Role>,
    times: Vec<u32>,
    seed: u64,
    targets: Vec<Target>,
    /// Places of viral notes among the targets.
    viral: VecDeque<usize>,
    /// Events that are another version of what the event before them is, in the same second.
    twins: HashSet<u32>,
    deletable: VecDeque<Deletable>,
    wraps_made: u32,
    /// The recipient of the gift wrap that was composed last.
    wrap_recipient: u32,
    writer: Writer,
    exp2: Exp2,
    zipf: Zipf,
    distinct: Distinct,
    scratch: Vec<u8>,
}

impl Network {
    pub(crate) fn new(events: u32, seed: u64, keys: Arc<[Author]>) -> Self {
        let authors = authors(events);
        let mut rng = Rng::new(seed, Purpose::Kinds, 0);
        let roles = plan::deal(&MIX.map(|(role, _)| role), &roles::shares(events), &mut rng);
        let exp2 = Exp2::new();
        let mut network = Self {
            keys,
            roles,
            times: times(events, seed),
            seed,
            targets: Vec::new(),
            viral: VecDeque::new(),
            twins: HashSet::new(),
            deletable: VecDeque::new(),
            wraps_made: 0,
            wrap_recipient: 0,
            writer: Writer::new(),
            zipf: Zipf::new(&exp2, authors, ZIPF_EXPONENT),
            exp2,
            distinct: Distinct::new(authors),
            scratch: Vec::new(),
        };
        network.plan_tied_deletions();
        network.plan_twins();
        network
    }

    fn pubkey(&self, key: u32) -> [u8; 32] {
        self.keys[key as usize].pubkey().0
    }

    /// An author: some are busy.
    fn busy_author(&self, rng: &mut Rng) -> u32 {
        self.zipf.draw(rng)
    }

    /// An author: each as likely as the other.
    fn any_author(&self, rng: &mut Rng) -> u32 {
        rng.below(self.zipf.count())
    }

    /// The stream of what an author is like, the same for all of its events.
    fn author_rng(&self, author: u32) -> Rng {
        Rng::new(self.seed, Purpose::Author, author.into())
    }

    fn script_of(&self, author: u32) -> Script {
        self.writer.script_of(&mut self.author_rng(author))
    }

    /// An event to refer to: a recent one, one of the viral ones, or any.
    fn target(&self, rng: &mut Rng) -> Target {
        let len = self.targets.len();
        if len == 0 {
            // Whatever came before is not on this relay.
            let id = std::array::from_fn(|_| rng.bits() as u8);
            return Target { id: EventId(id), key: self.busy_author(rng) };
        }
        let place = match rng.below(100) {
            0..55 => recent_place(len, 300, rng),
            55..85 if !self.viral.is_empty() => self.viral[early_place(self.viral.len(), rng)],
            _ => early_place(len, rng),
        };
        self.targets[place]
    }

    /// Fills the scratch buffer with a text of an author's script.
    fn write(&mut self, script: Script, spread: Spread, rng: &mut Rng) {
        self.scratch.clear();
        let bytes = spread.draw(&self.exp2, rng);
        self.writer.words(script, bytes, rng, &mut self.scratch);
    }

    /// Adds an `expiration` to so many in a thousand: two in five have passed by the end of the
    /// corpus, the others never do.
    fn push_expiration(&self, share: u32, number: u32, rng: &mut Rng, body: &mut Body) {
        if !rng.per_mille(share) {
            return;
        }
        let end = BASE_TIME + u64::from(plan::span_s(self.events()));
        let time = if rng.per_mille(400) {
            end.min(self.created_at(number).0 + u64::from(rng.below(86_400)))
        } else {
            FAR_FUTURE + u64::from(rng.below(1_000_000))
        };
        body.tag("expiration", time.to_string().as_bytes());
    }
}

fn times(events: u32, seed: u64) -> Vec<u32> {
    let mut rng = Rng::new(seed, Purpose::Times, 0);
    let mut burst = 0;
    plan::times(events, plan::span_s(events), &mut rng, |rng| {
        if burst > 0 {
            burst -= 1;
            return true;
        }
        if rng.below(BURST_EVERY) == 0 {
            burst = BURST_EVENTS - 2;
            return true;
        }
        rng.per_mille(TIE_SHARE)
    })
}

impl Story for Network {
    fn events(&self) -> u32 {
        self.roles.len() as u32
    }

    fn created_at(&self, number: u32) -> Timestamp {
        Timestamp(BASE_TIME + u64::from(self.times[number as usize]))
    }

    fn ahead(&self, number: u32) -> Option<u32> {
        self.deletion_ahead(number)
    }

    fn compose(
        &mut self,
        number: u32,
        ahead: Option<&Ahead>,
        rng: &mut Rng,
        body: &mut Body,
    ) -> Composed {
        let role = self.roles[number as usize];
        match role {
            Role::Profile | Role::Contacts | Role::RelayList | Role::DmRelays => {
                self.compose_list(role, number, rng, body)
            }
            Role::Article | Role::AppData | Role::Handler => {
                self.compose_addressable(role, number, rng, body)
            }
            Role::Note | Role::Reply | Role::Repost | Role::Reaction | Role::Report | Role::Zap => {
                self.compose_public(role, number, rng, body)
            }
            Role::Dm | Role::Wrap | Role::RemoteSigning | Role::Ephemeral => {
                self.compose_private(role, rng, body)
            }
            Role::Deletion => self.compose_deletion(number, ahead, rng, body),
            Role::Vanish => self.compose_vanish(rng, body),
        }
    }

    fn remember(&mut self, number: u32, composed: &Composed, id: EventId) {
        let role = self.roles[number as usize];
        if matches!(role, Role::Note | Role::Reply | Role::Article) {
            if number % VIRAL_EVERY == VIRAL_EVERY / 2 || self.viral.is_empty() {
                self.viral.push_front(self.targets.len());
                self.viral.truncate(VIRAL_ALIVE);
            }
            self.targets.push(Target { id, key: composed.key });
        }
        self.remember_deletable(role, composed, id);
    }
}
