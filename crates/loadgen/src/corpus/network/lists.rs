//! Replaceable and addressable events: profiles, contact lists, relay lists, articles, data of apps.

use crate::corpus::body::Body;
use crate::corpus::compose::{Composed, Story};
use crate::corpus::fixed::Spread;
use crate::corpus::network::Network;
use crate::corpus::network::roles::Role;
use crate::corpus::rng::{Purpose, Rng};
use crate::corpus::social::push_profile;
use crate::corpus::text::{LATIN, push_base64, push_link};

const ABOUT: Spread = Spread { median: 120, deviation: 120, max: 3_000 };
/// Follows of an author at the end of the corpus.
const FOLLOWS: Spread = Spread { median: 250, deviation: 190, max: 2_000 };
const ARTICLE: Spread = Spread { median: 5_000, deviation: 130, max: 60_000 };
const TITLE: Spread = Spread { median: 40, deviation: 60, max: 200 };
const SUMMARY: Spread = Spread { median: 200, deviation: 100, max: 2_000 };
const APP_DATA: Spread = Spread { median: 700, deviation: 200, max: 60_000 };
/// Data of apps that expires, in a thousand.
const EXPIRATION_SHARE: u32 = 30;
/// Names of the apps that keep data on relays.
const APPS: &[&str] = &["settings", "drafts/v1", "read-state", "wallet:cache", "ünïcode ключ", ""];

/// Versions in a thousand that another one follows in the same second.
const TWIN_SHARE: u32 = 10;

impl Network {
    /// Some versions have another one in the same second: the next event of the same role changes
    /// places with the one that follows them.
    pub(super) fn plan_twins(&mut self) {
        let mut rng = Rng::new(self.seed, Purpose::Twins, 0);
        for number in 0..self.roles.len().saturating_sub(1) {
            let role = self.roles[number];
            if !role.has_versions() || !rng.per_mille(TWIN_SHARE) {
                continue;
            }
            let next = number + 1;
            if let Some(later) = self.roles[next..].iter().position(|&other| other == role) {
                self.roles.swap(next, next + later);
                self.times[next] = self.times[number];
                self.twins.insert(next as u32);
            }
        }
    }

    /// What decides whose version of what an event is: of twins, the first one's.
    fn version_rng(&self, number: u32) -> Rng {
        let mut first = number;
        while self.twins.contains(&first) {
            first -= 1;
        }
        Rng::new(self.seed, Purpose::Version, first.into())
    }

    /// Half of these are by busy authors, so that addresses have many versions; the other half by
    /// any author.
    fn list_author(&self, rng: &mut Rng) -> u32 {
        if rng.per_mille(500) { self.busy_author(rng) } else { self.any_author(rng) }
    }

    pub(super) fn compose_list(
        &mut self,
        role: Role,
        number: u32,
        rng: &mut Rng,
        body: &mut Body,
    ) -> Composed {
        let author = self.list_author(&mut self.version_rng(number));
        match role {
            Role::Profile => {
                let bytes = ABOUT.draw(&self.exp2, rng);
                push_profile(&self.writer, self.script_of(author), bytes, rng, body);
            }
            Role::Contacts => self.push_follows(author, number, rng, body),
            _ => self.push_relays(role, rng, body),
        }
        Composed::new(author, role.kind())
    }

    /// The versions of one author's list are beginnings of one sequence, longer as time goes on.
    fn push_follows(&mut self, author: u32, number: u32, rng: &mut Rng, body: &mut Body) {
        let mut author_rng = self.author_rng(author);
        let last = FOLLOWS.draw(&self.exp2, &mut author_rng) as u64;
        let events = u64::from(self.events());
        let wanted = last * (events + u64::from(number)) / (2 * events);
        // Rejecting repeats grows slow when almost everyone is followed.
        let wanted = wanted.min(u64::from(self.zipf.count() / 2));
        let style = author_rng.below(4);
        self.distinct.clear();
        self.distinct.is_new(author);
        for _ in 0..wanted {
            let followed = loop {
                let drawn = self.zipf.draw(&mut author_rng);
                if self.distinct.is_new(drawn) {
                    break drawn;
                }
            };
            body.start_tag("p");
            body.hex_value(&self.pubkey(followed));
            if style == 0 {
                body.value(b"wss://relay.example");
                body.value(self.writer.name(&mut author_rng));
            }
            body.end_tag();
        }
        if rng.per_mille(200) {
            body.content(b"{\"wss://relay.example\":{\"read\":true,\"write\":true}}");
        }
    }

    fn push_relays(&mut self, role: Role, rng: &mut Rng, body: &mut Body) {
        let is_list = role == Role::RelayList;
        for _ in 0..1 + rng.below(8) {
            self.scratch.clear();
            self.scratch.extend_from_slice(b"wss://");
            self.scratch.extend_from_slice(self.writer.name(rng));
            self.scratch.extend_from_slice(b".relays.example");
            body.start_tag(if is_list { "r" } else { "relay" });
            body.value(&self.scratch);
            match rng.below(4) {
                0 if is_list => body.value(b"read"),
                1 if is_list => body.value(b"write"),
                _ => {}
            }
            body.end_tag();
        }
    }

    pub(super) fn compose_addressable(
        &mut self,
        role: Role,
        number: u32,
        rng: &mut Rng,
        body: &mut Body,
    ) -> Composed {
        let mut version_rng = self.version_rng(number);
        let author = self.list_author(&mut version_rng);
        let d = match role {
            Role::Article => format!("article-{}", version_rng.below(6)),
            Role::AppData => (*version_rng.pick(APPS)).to_owned(),
            _ => format!("{:08x}", self.author_rng(author).bits() as u32),
        };
        body.tag("d", d.as_bytes());
        match role {
            Role::Article => self.push_article(author, number, rng, body),
            Role::AppData => self.push_app_data(number, rng, body),
            _ => self.push_handler(rng, body),
        }
        Composed { d, ..Composed::new(author, role.kind()) }
    }

    fn push_article(&mut self, author: u32, number: u32, rng: &mut Rng, body: &mut Body) {
        let script = self.script_of(author);
        self.write(script, TITLE, rng);
        body.tag("title", &self.scratch);
        self.write(script, SUMMARY, rng);
        body.tag("summary", &self.scratch);
        self.scratch.clear();
        push_link(rng, &mut self.scratch);
        body.tag("image", self.scratch.trim_ascii());
        body.tag("published_at", self.created_at(number).0.to_string().as_bytes());
        for _ in 0..rng.below(5) {
            body.tag("t", self.writer.name(rng));
        }
        self.write(script, ARTICLE, rng);
        body.content(b"# ");
        body.content(&self.scratch);
    }

    /// Encrypted, or JSON full of quotes.
    fn push_app_data(&mut self, number: u32, rng: &mut Rng, body: &mut Body) {
        self.push_expiration(EXPIRATION_SHARE, number, rng, body);
        let bytes = APP_DATA.draw(&self.exp2, rng);
        self.scratch.clear();
        if rng.per_mille(500) {
            push_base64(bytes, rng, &mut self.scratch);
        } else {
            self.scratch.extend_from_slice(b"{\"v\":1");
            while self.scratch.len() < bytes {
                self.scratch.extend_from_slice(b",\"");
                self.scratch.extend_from_slice(self.writer.name(rng));
                self.scratch.extend_from_slice(b"\":{\"at\":");
                self.scratch.extend_from_slice(rng.below(1_000_000).to_string().as_bytes());
                self.scratch.extend_from_slice(b",\"path\":\"C:\\\\");
                self.scratch.extend_from_slice(self.writer.name(rng));
                self.scratch.extend_from_slice(b"\"}");
            }
            self.scratch.push(b'}');
        }
        body.content(&self.scratch);
    }

    fn push_handler(&mut self, rng: &mut Rng, body: &mut Body) {
        for kind in ["1", "6", "7", "30023"] {
            body.tag("k", kind.as_bytes());
        }
        body.start_tag("web");
        body.value(b"https://app.example/e/<bech32>");
        body.value(b"nevent");
        body.end_tag();
        push_profile(&self.writer, LATIN, 100, rng, body);
    }
}
