//! What everyone reads: notes, replies, reposts, reactions, reports, zaps.

use crate::corpus::body::{Body, push_decimal, push_escaped, push_hex};
use crate::corpus::compose::{Composed, Story};
use crate::corpus::fixed::Spread;
use crate::corpus::network::Network;
use crate::corpus::network::roles::Role;
use crate::corpus::rng::Rng;
use crate::corpus::social::{Target, Zap, push_random_hex, push_zap};
use crate::corpus::text::{Script, push_link};

const NOTE: Spread = Spread { median: 150, deviation: 190, max: 30_000 };
const REPLY: Spread = Spread { median: 90, deviation: 150, max: 10_000 };
const COMMENT: Spread = Spread { median: 24, deviation: 130, max: 1_000 };
/// One-letter values of up to this many bytes: several relays index no more than 255 of them, and
/// one refuses events with more than 1,024.
const LONG_VALUE: Spread = Spread { median: 300, deviation: 80, max: 1_000 };
/// Notes in a thousand that carry a long value, a picture's description, an `expiration`.
const LONG_VALUE_SHARE: u32 = 12;
const PICTURE_SHARE: u32 = 120;
const EXPIRATION_SHARE: u32 = 15;
/// Replies in a thousand that mention a crowd, and how many it is.
const CROWD_SHARE: u32 = 4;
const CROWD: Spread = Spread { median: 100, deviation: 100, max: 500 };
const RELAYS: &[&str] =
    &["", "", "wss://relay.example", "wss://relay.example/inbox", "wss://nos.example"];
const REACTIONS: &[&str] =
    &["+", "+", "+", "+", "🤙", "❤️", "🔥", "😂", "💜", "👍🏽", "-", ":zeolite:", "🫂", ""];
const REPORTS: &[&str] = &["spam", "spam", "nudity", "impersonation", "illegal", "other"];

impl Network {
    pub(super) fn compose_public(
        &mut self,
        role: Role,
        number: u32,
        rng: &mut Rng,
        body: &mut Body,
    ) -> Composed {
        let author = self.busy_author(rng);
        let script = self.script_of(author);
        let mut key = author;
        match role {
            Role::Note => self.push_note(script, number, rng, body),
            Role::Reply => self.push_reply(script, rng, body),
            Role::Repost => self.push_repost(number, rng, body),
            Role::Reaction => self.push_reaction(rng, body),
            Role::Report => self.push_report(rng, body),
            _ => {
                key = self.zipf.count() + rng.below(super::WALLETS);
                self.push_zap(author, script, number, rng, body);
            }
        }
        Composed::new(key, role.kind())
    }

    fn push_note(&mut self, script: Script, number: u32, rng: &mut Rng, body: &mut Body) {
        for _ in 0..rng.below(10).saturating_sub(5) {
            body.tag("t", self.writer.name(rng));
        }
        if rng.per_mille(PICTURE_SHARE) {
            self.push_picture(script, rng, body);
        }
        if rng.per_mille(LONG_VALUE_SHARE) {
            self.write(script, LONG_VALUE, rng);
            let name = *rng.pick(&["r", "l", "t", "alt", "summary"]);
            body.tag(name, &self.scratch);
        }
        self.push_expiration(EXPIRATION_SHARE, number, rng, body);
        self.write(script, NOTE, rng);
        body.content(&self.scratch);
    }

    /// A tag of many strings that describe a picture (NIP-92).
    fn push_picture(&mut self, script: Script, rng: &mut Rng, body: &mut Body) {
        body.start_tag("imeta");
        let mut text = b"url".to_vec();
        push_link(rng, &mut text);
        body.value(text.trim_ascii_end());
        body.value(b"m image/jpeg");
        body.value(b"dim 1920x1080");
        text.clear();
        text.extend_from_slice(b"x ");
        push_random_hex(32, rng, &mut text);
        body.value(&text);
        self.write(script, COMMENT, rng);
        body.value(&[b"alt ", self.scratch.as_slice()].concat());
        body.end_tag();
    }

    fn push_reference(&self, target: &Target, marker: &str, rng: &mut Rng, body: &mut Body) {
        body.start_tag("e");
        body.hex_value(&target.id.0);
        body.value(rng.pick(RELAYS).as_bytes());
        if !marker.is_empty() {
            body.value(marker.as_bytes());
            body.hex_value(&self.pubkey(target.key));
        }
        body.end_tag();
    }

    fn push_reply(&mut self, script: Script, rng: &mut Rng, body: &mut Body) {
        let (root, parent) = (self.target(rng), self.target(rng));
        self.push_reference(&root, "root", rng, body);
        if parent.id != root.id {
            self.push_reference(&parent, "reply", rng, body);
        }
        body.hex_tag("p", &self.pubkey(root.key));
        body.hex_tag("p", &self.pubkey(parent.key));
        let others = if rng.per_mille(CROWD_SHARE) {
            CROWD.draw(&self.exp2, rng)
        } else {
            rng.below(3) as usize
        };
        for _ in 0..others {
            let mentioned = self.busy_author(rng);
            body.hex_tag("p", &self.pubkey(mentioned));
        }
        self.write(script, REPLY, rng);
        body.content(&self.scratch);
    }

    /// Two in three carry the reposted event as JSON inside their content.
    fn push_repost(&mut self, number: u32, rng: &mut Rng, body: &mut Body) {
        let target = self.target(rng);
        self.push_reference(&target, "", rng, body);
        body.hex_tag("p", &self.pubkey(target.key));
        if rng.per_mille(333) {
            return;
        }
        self.write(self.script_of(target.key), NOTE, rng);
        let mut json = Vec::with_capacity(512 + self.scratch.len());
        json.extend_from_slice(b"{\"id\":\"");
        push_hex(&mut json, &target.id.0);
        json.extend_from_slice(b"\",\"pubkey\":\"");
        push_hex(&mut json, &self.pubkey(target.key));
        json.extend_from_slice(b"\",\"created_at\":");
        push_decimal(&mut json, self.created_at(number).0);
        json.extend_from_slice(b",\"kind\":1,\"tags\":[],\"content\":\"");
        push_escaped(&mut json, &self.scratch);
        json.extend_from_slice(b"\",\"sig\":\"");
        push_random_hex(64, rng, &mut json);
        json.extend_from_slice(b"\"}");
        body.content(&json);
    }

    fn push_reaction(&mut self, rng: &mut Rng, body: &mut Body) {
        let target = self.target(rng);
        self.push_reference(&target, "", rng, body);
        body.hex_tag("p", &self.pubkey(target.key));
        if rng.per_mille(400) {
            body.tag("k", b"1");
        }
        let reaction = *rng.pick(REACTIONS);
        if reaction == ":zeolite:" {
            body.start_tag("emoji");
            body.value(b"zeolite");
            body.value(b"https://media.example/zeolite.png");
            body.end_tag();
        }
        body.content(reaction.as_bytes());
    }

    fn push_report(&mut self, rng: &mut Rng, body: &mut Body) {
        let (target, reason) = (self.target(rng), *rng.pick(REPORTS));
        body.start_tag("e");
        body.hex_value(&target.id.0);
        body.value(reason.as_bytes());
        body.end_tag();
        body.start_tag("p");
        body.hex_value(&self.pubkey(target.key));
        body.value(reason.as_bytes());
        body.end_tag();
    }

    fn push_zap(
        &mut self,
        sender: u32,
        script: Script,
        number: u32,
        rng: &mut Rng,
        body: &mut Body,
    ) {
        let target = self.target(rng);
        self.write(script, COMMENT, rng);
        let zap = Zap {
            sender: self.keys[sender as usize].pubkey(),
            recipient: self.keys[target.key as usize].pubkey(),
            target: target.id,
            created_at: self.created_at(number).0,
        };
        push_zap(&zap, &self.scratch, rng, body);
    }
}
