//! What both shapes are made of: profiles, targets, zaps.

use zeolite_proto::{EventId, PubKey};

use crate::corpus::body::{Body, push_decimal, push_escaped, push_hex};
use crate::corpus::rng::Rng;
use crate::corpus::text::{Script, Writer, push_bech32};

/// An event that others refer to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) id: EventId,
    /// The number of its author's key.
    pub(crate) key: u32,
}

/// A place below `len` among the last `window` ones.
pub(crate) fn recent_place(len: usize, window: u32, rng: &mut Rng) -> usize {
    len - 1 - rng.below(window.min(len as u32)) as usize
}

/// A place below `len`, early ones more often: what is old and popular.
pub(crate) fn early_place(len: usize, rng: &mut Rng) -> usize {
    let first = rng.below(len as u32);
    let second = rng.below(first + 1);
    rng.below(second + 1) as usize
}

/// Writes a profile as content: a JSON object inside the event's JSON.
pub(crate) fn push_profile(
    writer: &Writer,
    script: Script,
    about_bytes: usize,
    rng: &mut Rng,
    body: &mut Body,
) {
    let mut profile = Vec::with_capacity(512);
    profile.extend_from_slice(b"{\"name\":\"");
    let name = writer.name(rng).to_vec();
    profile.extend_from_slice(&name);
    profile.extend_from_slice(b"\",\"about\":\"");
    let mut about = Vec::new();
    writer.words(script, about_bytes, rng, &mut about);
    push_escaped(&mut profile, &about);
    profile.extend_from_slice(b"\",\"picture\":\"https://media.example/");
    push_hex(&mut profile, &rng.bits().to_be_bytes());
    profile.extend_from_slice(b".jpg\",\"nip05\":\"");
    profile.extend_from_slice(&name);
    profile.extend_from_slice(b"@names.example\",\"lud16\":\"");
    profile.extend_from_slice(&name);
    profile.extend_from_slice(b"@wallet.example\"}");
    body.content(&profile);
}

/// Who zaps what.
pub(crate) struct Zap {
    pub(crate) sender: PubKey,
    pub(crate) recipient: PubKey,
    pub(crate) target: EventId,
    pub(crate) created_at: u64,
}

/// Writes the tags of a zap receipt (NIP-57): `p`, `P`, `e`, an invoice, the request as JSON inside
/// a tag, and a preimage.
pub(crate) fn push_zap(zap: &Zap, comment: &[u8], rng: &mut Rng, body: &mut Body) {
    body.hex_tag("p", &zap.recipient.0);
    body.hex_tag("P", &zap.sender.0);
    body.hex_tag("e", &zap.target.0);
    let mut text = b"lnbc".to_vec();
    push_decimal(&mut text, u64::from(21 + rng.below(10_000)));
    push_bech32(240, rng, &mut text);
    body.tag("bolt11", &text);
    text.clear();
    push_zap_request(zap, comment, rng, &mut text);
    body.tag("description", &text);
    body.start_tag("preimage");
    push_random_hex(32, rng, &mut text);
    body.value(&text[text.len() - 64..]);
    body.end_tag();
}

fn push_zap_request(zap: &Zap, comment: &[u8], rng: &mut Rng, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"id\":\"");
    push_random_hex(32, rng, out);
    out.extend_from_slice(b"\",\"pubkey\":\"");
    push_hex(out, &zap.sender.0);
    out.extend_from_slice(b"\",\"created_at\":");
    push_decimal(out, zap.created_at);
    out.extend_from_slice(b",\"kind\":9734,\"tags\":[[\"e\",\"");
    push_hex(out, &zap.target.0);
    out.extend_from_slice(b"\"],[\"p\",\"");
    push_hex(out, &zap.recipient.0);
    out.extend_from_slice(b"\"],[\"relays\",\"wss://relay.example\"]],\"content\":\"");
    push_escaped(out, comment);
    out.extend_from_slice(b"\",\"sig\":\"");
    push_random_hex(64, rng, out);
    out.extend_from_slice(b"\"}");
}

/// Appends the hex of random bytes, a multiple of eight.
pub(crate) fn push_random_hex(bytes: usize, rng: &mut Rng, out: &mut Vec<u8>) {
    for _ in 0..bytes / 8 {
        push_hex(out, &rng.bits().to_be_bytes());
    }
}

/// Draws distinct numbers; remembers which it gave since it was last cleared.
#[derive(Debug)]
pub(crate) struct Distinct {
    /// For each number, the round in which it was last given.
    given: Vec<u32>,
    round: u32,
}

impl Distinct {
    pub(crate) fn new(count: u32) -> Self {
        Self { given: vec![0; count as usize], round: 0 }
    }

    /// Forgets all that was given.
    pub(crate) fn clear(&mut self) {
        self.round += 1;
    }

    /// Whether the number was not given yet.
    pub(crate) fn is_new(&mut self, number: u32) -> bool {
        std::mem::replace(&mut self.given[number as usize], self.round) != self.round
    }
}
