//! Single verification.

use k256::schnorr;
use zeolite_proto::{EventId, PubKey, Signature, SignatureCheck};

use crate::key_cache::KeyCache;

/// Verifies BIP-340 signatures. Share one between threads.
pub struct Verifier {
    keys: KeyCache,
}

impl Verifier {
    /// A verifier that remembers the points of at most `cache_keys_max` public keys, at about
    /// 130 bytes each. With 0 it remembers none.
    pub fn new(cache_keys_max: usize) -> Self {
        Self { keys: KeyCache::new(cache_keys_max) }
    }

    /// Whether `sig` is a signature of the 32 bytes of `id` by `key` (NIP-01).
    pub fn verify(&self, key: &PubKey, id: &EventId, sig: &Signature) -> bool {
        self.verify_message(key, &id.0, sig)
    }

    /// Whether `sig` is a signature of `message`, of any length, by `key` (BIP-340).
    ///
    /// False as well when `key` is not the x coordinate of a point, or a half of `sig` is out of
    /// range.
    pub fn verify_message(&self, key: &PubKey, message: &[u8], sig: &Signature) -> bool {
        // The range checks are cheap: they come before the square root.
        let Ok(sig) = schnorr::Signature::from_bytes(&sig.0) else {
            return false;
        };
        let Some(key) = self.keys.lift(key) else {
            return false;
        };
        key.verify_raw(message, &sig).is_ok()
    }
}

impl SignatureCheck for Verifier {
    fn check(&self, items: &[(PubKey, EventId, Signature)]) -> Vec<bool> {
        items.iter().map(|(key, id, sig)| self.verify(key, id, sig)).collect()
    }
}
