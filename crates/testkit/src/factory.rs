//! Events to order: any author, time, kind, tags, size and id prefix, signed or not.

use k256::schnorr::SigningKey;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::TestRng;
use crate::canonical::canonical_id;

/// Whether events get a real signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signing {
    /// BIP-340, about 50 us each.
    Real,
    /// 128 hex digits derived from the id, which no verifier accepts. For tests of what lies
    /// behind the verifier.
    Dummy,
}

/// Makes events; the same seed gives the same keys, ids and signatures.
pub struct Factory {
    seed: u64,
    rng: TestRng,
    keys: Vec<(SigningKey, String)>,
    signing: Signing,
}

impl Factory {
    /// A factory whose events carry real signatures.
    pub fn new(seed: u64) -> Self {
        Self::with_signing(seed, Signing::Real)
    }

    /// A factory whose events have the right id and a dummy signature.
    pub fn unsigned(seed: u64) -> Self {
        Self::with_signing(seed, Signing::Dummy)
    }

    fn with_signing(seed: u64, signing: Signing) -> Self {
        Self { seed, rng: TestRng::seed_from_u64(seed), keys: Vec::new(), signing }
    }

    /// The public key of the author with this index, as hex. Authors are made as they are asked
    /// for; an author depends on the seed and the index alone.
    pub fn pubkey(&mut self, author: usize) -> String {
        self.key(author).1.clone()
    }

    fn key(&mut self, author: usize) -> &(SigningKey, String) {
        while self.keys.len() <= author {
            let label = format!("zeolite test key {} {}", self.seed, self.keys.len());
            let secret = Sha256::digest(label.as_bytes());
            let key = SigningKey::from_slice(&secret).expect("a hash is below the group order");
            let pubkey = faster_hex::hex_string(&key.verifying_key().to_bytes());
            self.keys.push((key, pubkey));
        }
        &self.keys[author]
    }

    /// Starts an event of this author: kind 1, `created_at` 1,700,000,000, no tags, no content.
    pub fn draft(&mut self, author: usize) -> Draft<'_> {
        let event = json!({
            "id": "", "pubkey": self.pubkey(author), "created_at": 1_700_000_000, "kind": 1,
            "tags": [], "content": "", "sig": "",
        });
        Draft { factory: self, author, event }
    }

    /// A short text note.
    pub fn note(&mut self, author: usize, created_at: u64, content: &str) -> Value {
        self.draft(author).at(created_at).content(content).build()
    }

    /// Fills in id and signature of `event` for this author, whatever they were.
    pub fn seal(&mut self, author: usize, event: &mut Value) {
        let id = canonical_id(event);
        event["sig"] = self.signature(author, &id).into();
        event["id"] = id.into();
    }

    fn signature(&mut self, author: usize, id: &str) -> String {
        if self.signing == Signing::Dummy {
            return format!("{id}{id}");
        }
        let mut id_bytes = [0; 32];
        faster_hex::hex_decode(id.as_bytes(), &mut id_bytes).expect("an id is hex");
        let nonce = self.rng.random();
        let key = &self.key(author).0;
        let signature = key.sign_raw(&id_bytes, &nonce).expect("signing only fails by bad luck");
        faster_hex::hex_string(&signature.to_bytes())
    }
}

/// An event under way.
pub struct Draft<'f> {
    factory: &'f mut Factory,
    author: usize,
    event: Value,
}

impl Draft<'_> {
    /// Sets `created_at`.
    pub fn at(mut self, created_at: u64) -> Self {
        self.event["created_at"] = created_at.into();
        self
    }

    /// Sets the kind.
    pub fn kind(mut self, kind: u16) -> Self {
        self.event["kind"] = kind.into();
        self
    }

    /// Sets the content.
    pub fn content(mut self, content: &str) -> Self {
        self.event["content"] = content.into();
        self
    }

    /// Adds one tag.
    pub fn tag(mut self, strings: &[&str]) -> Self {
        let tags = self.event["tags"].as_array_mut().expect("a draft has tags");
        tags.push(strings.into());
        self
    }

    /// Replaces all tags by a JSON array of arrays.
    pub fn tags(mut self, tags: Value) -> Self {
        self.event["tags"] = tags;
        self
    }

    /// Lengthens the content so that the event's compact JSON is at least `bytes` long; exactly
    /// so long if it was shorter before.
    pub fn padded_to(mut self, bytes: usize) -> Self {
        const ID_AND_SIG: usize = 64 + 128;
        let now = self.event.to_string().len() + ID_AND_SIG;
        let mut content = self.event["content"].as_str().expect("a string").to_owned();
        content.extend(std::iter::repeat_n('x', bytes.saturating_sub(now)));
        self.event["content"] = content.into();
        self
    }

    /// The event with id and signature.
    pub fn build(self) -> Value {
        let Self { factory, author, mut event } = self;
        factory.seal(author, &mut event);
        event
    }

    /// The event as compact JSON text.
    pub fn json(self) -> String {
        self.build().to_string()
    }

    /// An event whose id begins with these hex digits, found by trying values of a `nonce` tag:
    /// about 16^digits tries of a microsecond each.
    pub fn with_id_prefix(self, prefix: &str) -> Value {
        let Self { factory, author, mut event } = self;
        let tags = event["tags"].as_array_mut().expect("a draft has tags");
        let at = tags.len();
        tags.push(json!(["nonce", ""]));
        for nonce in 0_u64.. {
            event["tags"][at][1] = nonce.to_string().into();
            if canonical_id(&event).starts_with(prefix) {
                break;
            }
        }
        factory.seal(author, &mut event);
        event
    }

    /// Two different events of the same author, time, kind and tags but for a `nonce`, whose ids
    /// share their first 8 hex digits (4 bytes). A birthday search: about 100,000 tries.
    pub fn twins(self) -> (Value, Value) {
        let Self { factory, author, mut event } = self;
        let tags = event["tags"].as_array_mut().expect("a draft has tags");
        let at = tags.len();
        tags.push(json!(["nonce", ""]));
        let mut seen = std::collections::HashMap::new();
        for nonce in 0_u64.. {
            event["tags"][at][1] = nonce.to_string().into();
            let head = canonical_id(&event)[..8].to_owned();
            if let Some(twin_nonce) = seen.insert(head, nonce) {
                let mut twin = event.clone();
                twin["tags"][at][1] = twin_nonce.to_string().into();
                factory.seal(author, &mut twin);
                factory.seal(author, &mut event);
                return (twin, event);
            }
        }
        unreachable!("2^64 tries without two equal heads of 32 bits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k256::schnorr::{Signature, VerifyingKey};

    fn hex<const N: usize>(value: &Value) -> [u8; N] {
        let mut bytes = [0; N];
        let text = value.as_str().expect("a string");
        faster_hex::hex_decode(text.as_bytes(), &mut bytes).expect("hex of the right length");
        bytes
    }

    /// R01-02, R01-03: the id is the hash, the signature verifies, and a seed repeats itself.
    #[test]
    fn events_are_valid_and_repeatable() {
        let make = || Factory::new(7).draft(2).kind(7).tag(&["e", "x"]).content("é").build();
        let event = make();
        assert_eq!(event, make());
        assert_eq!(event["id"], canonical_id(&event));
        let key = VerifyingKey::from_slice(&hex::<32>(&event["pubkey"])).expect("on the curve");
        let sig = Signature::try_from(&hex::<64>(&event["sig"])[..]).expect("in range");
        assert!(key.verify_raw(&hex::<32>(&event["id"]), &sig).is_ok());
    }

    #[test]
    fn sizes_and_ids_are_as_ordered() {
        let mut factory = Factory::unsigned(1);
        assert_eq!(factory.draft(0).padded_to(700).json().len(), 700);
        let ground = factory.draft(0).with_id_prefix("ff");
        assert!(ground["id"].as_str().expect("a string").starts_with("ff"));
        let (one, other) = factory.draft(0).kind(0).twins();
        let id = |event: &Value| event["id"].as_str().expect("a string").to_owned();
        assert_eq!(id(&one)[..8], id(&other)[..8]);
        assert_ne!(id(&one), id(&other));
    }
}
