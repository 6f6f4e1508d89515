//! Keys by number, and events signed by them.

use k256::schnorr::SigningKey;
use k256::schnorr::signature::hazmat::PrehashSigner;
use sha2::{Digest, Sha256};
use zeolite_proto::{EventId, Kind, PubKey, Timestamp};

use crate::corpus::batch::CorpusEvent;
use crate::corpus::body::{Body, Head, SIG_DIGITS, SIG_FROM_END};

/// A key and its public key.
#[derive(Clone, Debug)]
pub struct Author {
    key: SigningKey,
    pubkey: PubKey,
}

impl Author {
    /// The author of this number under this seed. Equal arguments give equal keys, here and in
    /// generated corpora.
    pub fn new(seed: u64, number: u64) -> Self {
        Self::named(b"zeolite author", seed, number)
    }

    /// A key that belongs to a purpose.
    pub(crate) fn named(purpose: &[u8], seed: u64, number: u64) -> Self {
        let mut hash = Sha256::new();
        hash.update(purpose);
        hash.update(seed.to_be_bytes());
        hash.update(number.to_be_bytes());
        let secret: [u8; 32] = hash.finalize().into();
        let key = SigningKey::from_slice(&secret)
            .expect("a hash is a scalar but for one in 2^128, which no seed in use meets");
        let pubkey = PubKey(key.verifying_key().to_bytes().into());
        Self { key, pubkey }
    }

    /// The public key.
    pub fn pubkey(&self) -> PubKey {
        self.pubkey
    }

    /// The BIP-340 signature with 32 zeros of auxiliary randomness.
    pub(crate) fn sign_id(&self, id: &EventId) -> [u8; 64] {
        let signature = self
            .key
            .sign_prehash(&id.0)
            .expect("only a nonce of zero has no signature, which no hash in use gives");
        signature.to_bytes()
    }

    /// Writes the signature over the zeros of a message.
    pub(crate) fn sign_message(&self, id: &EventId, message: &mut [u8]) {
        let at = message.len() - SIG_FROM_END;
        faster_hex::hex_encode(&self.sign_id(id), &mut message[at..at + SIG_DIGITS])
            .expect("the room for a signature is its digits");
    }
}

/// An event with its signature, ready to send.
#[derive(Clone, Debug)]
pub struct SignedEvent {
    /// The id.
    pub id: EventId,
    /// The author.
    pub pubkey: PubKey,
    /// The time.
    pub created_at: Timestamp,
    /// The kind.
    pub kind: Kind,
    message: Box<[u8]>,
}

impl SignedEvent {
    /// The message `["EVENT",{...}]`.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The event alone, as JSON.
    pub fn json(&self) -> &[u8] {
        self.view().json()
    }

    /// The same view that a corpus gives of its events.
    pub fn view(&self) -> CorpusEvent<'_> {
        CorpusEvent::new(self.id, self.pubkey, self.created_at, self.kind, &self.message)
    }
}

/// Makes events of any content, for drivers that need special ones. Keeps its buffers.
#[derive(Debug, Default)]
pub struct EventSigner {
    body: Body,
    message: Vec<u8>,
}

impl EventSigner {
    /// A signer with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Signs one event. Deterministic: equal arguments give equal bytes.
    pub fn sign<S: AsRef<str>>(
        &mut self,
        author: &Author,
        created_at: Timestamp,
        kind: Kind,
        tags: &[&[S]],
        content: &str,
    ) -> SignedEvent {
        self.body.clear();
        for strings in tags {
            // A tag without strings is out of NIP-01's grammar; it is left out.
            let Some((name, values)) = strings.split_first() else { continue };
            self.body.start_tag(name.as_ref());
            for value in values {
                self.body.value(value.as_ref().as_bytes());
            }
            self.body.end_tag();
        }
        self.body.content(content.as_bytes());
        self.message.clear();
        let head = Head { pubkey: author.pubkey, created_at, kind };
        let id = self.body.push_message(&head, &mut self.message);
        author.sign_message(&id, &mut self.message);
        let message = self.message.as_slice().into();
        SignedEvent { id, pubkey: author.pubkey, created_at, kind, message }
    }
}

#[cfg(test)]
mod tests {
    use k256::schnorr::signature::hazmat::PrehashVerifier;
    use k256::schnorr::{Signature, VerifyingKey};
    use zeolite_proto::EventParser;

    use super::*;

    /// R01-03: signatures verify, and are the same every time.
    #[test]
    fn signed_events_verify() {
        let author = Author::new(1, 7);
        let mut signer = EventSigner::new();
        let mut sign = || {
            let tags: [&[&str]; 2] = [&["t", "zeolite"], &["expiration", "4102444800"]];
            signer.sign(&author, Timestamp(5), Kind(1), &tags, "hello \"you\"\n")
        };
        let (one, two) = (sign(), sign());
        assert_eq!(one.message(), two.message());
        let text = std::str::from_utf8(one.json()).expect("UTF-8");
        let event = EventParser::new().parse(text).expect("an event");
        let view = event.view();
        assert_eq!((view.id(), view.pubkey()), (one.id, author.pubkey()));
        let key = VerifyingKey::from_bytes(&view.pubkey().0.into()).expect("a key");
        let sig = Signature::try_from(&view.sig().0[..]).expect("a signature");
        assert!(key.verify_prehash(&view.id().0, &sig).is_ok());
        assert_ne!(Author::new(2, 7).pubkey(), author.pubkey());
    }
}
