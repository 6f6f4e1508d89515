//! `classic-v1`: the shape that published relay figures use.

use std::sync::Arc;

use zeolite_proto::{EventId, Kind, Timestamp};

use crate::corpus::body::Body;
use crate::corpus::compose::{Ahead, Composed, Story};
use crate::corpus::fixed::{Exp2, Spread};
use crate::corpus::plan::{self, BASE_TIME};
use crate::corpus::rng::{Purpose, Rng};
use crate::corpus::signer::Author;
use crate::corpus::social::{
    Distinct, Target, Zap, early_place, push_profile, push_zap, recent_place,
};
use crate::corpus::text::{LATIN, Writer};
use crate::corpus::zipf::Zipf;

/// Most authors.
const AUTHORS_MAX: u32 = 2_000;
/// Frequency of the k-th author: k to minus this many hundredths.
const ZIPF_EXPONENT: i64 = 90;
/// Follows in all contact lists together for each event of the corpus, in hundredths. With the other
/// tags this makes the published number of single-letter tags, at any size.
const FOLLOWS_PER_EVENT: u64 = 150;
/// References that go to one of the latest [`RECENT_TARGETS`], in a thousand.
const RECENT_SHARE: u32 = 700;
const RECENT_TARGETS: u32 = 200;

#[derive(Clone, Copy, Debug)]
enum Role {
    Profile,
    Contacts,
    Note,
    Reply,
    Repost,
    Reaction,
    Zap,
}

/// What follows the profiles and contact lists, in the ratio that was published for 10,000 events.
const ROLES: [Role; 5] = [Role::Note, Role::Reply, Role::Repost, Role::Reaction, Role::Zap];
const WEIGHTS: [u32; 5] = [3235, 1707, 702, 2711, 645];

const NOTE: Spread = Spread { median: 154, deviation: 110, max: 4_000 };
const REPLY: Spread = Spread { median: 100, deviation: 110, max: 2_000 };
const ABOUT: Spread = Spread { median: 150, deviation: 60, max: 1_000 };
const COMMENT: Spread = Spread { median: 20, deviation: 80, max: 200 };

/// How many authors a corpus of so many events has.
pub(crate) fn authors(events: u32) -> u32 {
    (events / 20).clamp(1, AUTHORS_MAX)
}

/// How the corpus goes.
pub(crate) struct Classic {
    keys: Arc<[Author]>,
    roles: Vec<Role>,
    times: Vec<u32>,
    targets: Vec<Target>,
    writer: Writer,
    exp2: Exp2,
    zipf: Zipf,
    distinct: Distinct,
    scratch: Vec<u8>,
}

impl Classic {
    pub(crate) fn new(events: u32, seed: u64, keys: Arc<[Author]>) -> Self {
        let authors = authors(events);
        let mut roles = vec![Role::Profile; authors.min(events) as usize];
        let contacts = authors.min(events - roles.len() as u32);
        roles.extend((0..contacts).map(|_| Role::Contacts));
        let shares = plan::shares(events - roles.len() as u32, &WEIGHTS);
        roles.extend(plan::deal(&ROLES, &shares, &mut Rng::new(seed, Purpose::Kinds, 0)));
        let mut rng = Rng::new(seed, Purpose::Times, 0);
        let exp2 = Exp2::new();
        Self {
            keys,
            roles,
            times: plan::times(events, plan::span_s(events), &mut rng, |_| false),
            targets: Vec::new(),
            writer: Writer::new(),
            zipf: Zipf::new(&exp2, authors, ZIPF_EXPONENT),
            exp2,
            distinct: Distinct::new(authors),
            scratch: Vec::new(),
        }
    }

    fn target(&self, rng: &mut Rng) -> Target {
        let len = self.targets.len();
        let place = if rng.per_mille(RECENT_SHARE) {
            recent_place(len, RECENT_TARGETS, rng)
        } else {
            early_place(len, rng)
        };
        self.targets[place]
    }

    fn pubkey(&self, key: u32) -> [u8; 32] {
        self.keys[key as usize].pubkey().0
    }

    /// Follows of one author: even from 0.3 to 1.7 times the mean, at most two thirds of all.
    fn push_follows(&mut self, author: u32, rng: &mut Rng, body: &mut Body) {
        let authors = self.zipf.count();
        let all = FOLLOWS_PER_EVENT * self.roles.len() as u64 / 100;
        let least = all * 3 / (10 * u64::from(authors));
        let spread = all * 14 / (10 * u64::from(authors));
        let wanted = least as u32 + rng.below(spread as u32 + 2);
        self.distinct.clear();
        self.distinct.is_new(author);
        for _ in 0..wanted.min(authors * 2 / 3) {
            let followed = loop {
                let drawn = self.zipf.draw(rng);
                if self.distinct.is_new(drawn) {
                    break drawn;
                }
            };
            body.hex_tag("p", &self.pubkey(followed));
        }
    }

    fn push_text(&mut self, spread: Spread, rng: &mut Rng, body: &mut Body) {
        self.scratch.clear();
        let bytes = spread.draw(&self.exp2, rng);
        self.writer.words(LATIN, bytes, rng, &mut self.scratch);
        body.content(&self.scratch);
    }

    fn push_note(&mut self, rng: &mut Rng, body: &mut Body) {
        for _ in 0..rng.below(4) {
            body.tag("t", self.writer.name(rng));
        }
        self.push_text(NOTE, rng, body);
    }

    fn push_reply(&mut self, rng: &mut Rng, body: &mut Body) {
        let (root, parent) = (self.target(rng), self.target(rng));
        for (target, marker) in [(root, "root"), (parent, "reply")] {
            body.start_tag("e");
            body.hex_value(&target.id.0);
            body.value(b"");
            body.value(marker.as_bytes());
            body.end_tag();
        }
        body.hex_tag("p", &self.pubkey(root.key));
        body.hex_tag("p", &self.pubkey(parent.key));
        self.push_text(REPLY, rng, body);
    }

    fn push_repost(&mut self, rng: &mut Rng, body: &mut Body) {
        let target = self.target(rng);
        body.start_tag("e");
        body.hex_value(&target.id.0);
        body.value(b"wss://relay.example");
        body.end_tag();
        body.hex_tag("p", &self.pubkey(target.key));
    }

    fn push_reaction(&mut self, rng: &mut Rng, body: &mut Body) {
        let target = self.target(rng);
        body.hex_tag("e", &target.id.0);
        body.hex_tag("p", &self.pubkey(target.key));
        body.tag("k", b"1");
        body.content(rng.pick(&["+", "+", "+", "🤙", "❤️", "🔥"]).as_bytes());
    }

    fn push_zap(&mut self, number: u32, rng: &mut Rng, body: &mut Body) {
        let (target, sender) = (self.target(rng), self.zipf.draw(rng));
        self.scratch.clear();
        let bytes = COMMENT.draw(&self.exp2, rng);
        self.writer.words(LATIN, bytes, rng, &mut self.scratch);
        let zap = Zap {
            sender: self.keys[sender as usize].pubkey(),
            recipient: self.keys[target.key as usize].pubkey(),
            target: target.id,
            created_at: self.created_at(number).0,
        };
        push_zap(&zap, &self.scratch, rng, body);
    }
}

impl Story for Classic {
    fn events(&self) -> u32 {
        self.roles.len() as u32
    }

    fn created_at(&self, number: u32) -> Timestamp {
        Timestamp(BASE_TIME + u64::from(self.times[number as usize]))
    }

    fn ahead(&self, _: u32) -> Option<u32> {
        None
    }

    fn compose(
        &mut self,
        number: u32,
        _: Option<&Ahead>,
        rng: &mut Rng,
        body: &mut Body,
    ) -> Composed {
        let authors = self.zipf.count();
        let role = self.roles[number as usize];
        let (key, kind) = match role {
            Role::Profile => (number, Kind::METADATA),
            Role::Contacts => (number - authors, Kind::CONTACTS),
            Role::Note | Role::Reply => (self.zipf.draw(rng), Kind::TEXT_NOTE),
            Role::Repost => (self.zipf.draw(rng), Kind(6)),
            Role::Reaction => (self.zipf.draw(rng), Kind(7)),
            Role::Zap => (self.zipf.draw(rng), Kind(9735)),
        };
        match role {
            Role::Profile => {
                let bytes = ABOUT.draw(&self.exp2, rng);
                push_profile(&self.writer, LATIN, bytes, rng, body);
            }
            Role::Contacts => self.push_follows(key, rng, body),
            Role::Note => self.push_note(rng, body),
            Role::Reply => self.push_reply(rng, body),
            Role::Repost => self.push_repost(rng, body),
            Role::Reaction => self.push_reaction(rng, body),
            Role::Zap => self.push_zap(number, rng, body),
        }
        Composed::new(key, kind)
    }

    /// Notes are what others refer to; before the first there is a profile.
    fn remember(&mut self, _: u32, composed: &Composed, id: EventId) {
        if composed.kind == Kind::TEXT_NOTE || self.targets.is_empty() {
            self.targets.push(Target { id, key: composed.key });
        }
    }
}
