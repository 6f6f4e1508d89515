//! The verifier: single verification, and batches on top of it.

use k256::schnorr;
use parking_lot::Mutex;
use zeolite_proto::{EventId, PubKey, Signature, SignatureCheck};

use crate::arithmetic::Backend;
use crate::batch::{Item, Workspace};
use crate::key_cache::KeyCache;
use crate::limits::{BATCH_ITEMS_MAX, BATCH_ITEMS_MIN, WORKSPACES_MAX};

/// Verifies BIP-340 signatures. Share one between threads.
pub struct Verifier {
    keys: KeyCache,
    backend: Backend,
    /// Not in use by any thread.
    workspaces: Mutex<Vec<Workspace>>,
}

impl Verifier {
    /// A verifier that remembers the points of at most `cache_keys_max` public keys, at 80 bytes each,
    /// taken at once. With 0 it remembers none.
    pub fn new(cache_keys_max: usize) -> Self {
        Self::with_backend(cache_keys_max, Backend::best())
    }

    /// A verifier that uses these instructions, or the portable ones where the processor lacks
    /// them.
    pub fn with_backend(cache_keys_max: usize, backend: Backend) -> Self {
        Self { keys: KeyCache::new(cache_keys_max), backend, workspaces: Mutex::default() }
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

    /// Verifies each item, in order, with the answers of [`Verifier::verify`].
    ///
    /// The more items, the less each costs: `docs/batch-verification.md` has the figures. What is wrong
    /// in a slice changes the time and no other answer. As in any batch of BIP-340, a wrong signature
    /// can pass by chance: in one of 2^118 batches, be they chosen as they may.
    pub fn verify_batch(&self, items: &[Item]) -> Vec<bool> {
        let mut verdicts = vec![false; items.len()];
        let mut workspace = None;
        let batches = items.chunks(BATCH_ITEMS_MAX).zip(verdicts.chunks_mut(BATCH_ITEMS_MAX));
        for (items, verdicts) in batches {
            if items.len() < BATCH_ITEMS_MIN {
                for (verdict, item) in verdicts.iter_mut().zip(items) {
                    *verdict = self.verify_item(item);
                }
            } else {
                let workspace = workspace.get_or_insert_with(|| self.take_workspace());
                workspace.verify(items, &self.keys, &|item| self.verify_item(item), verdicts);
            }
        }
        if let Some(workspace) = workspace {
            self.give_back(workspace);
        }
        verdicts
    }

    fn verify_item(&self, (key, id, sig): &Item) -> bool {
        self.verify(key, id, sig)
    }

    fn take_workspace(&self) -> Workspace {
        let idle = self.workspaces.lock().pop();
        idle.unwrap_or_else(|| Workspace::new(self.backend))
    }

    fn give_back(&self, workspace: Workspace) {
        let mut idle = self.workspaces.lock();
        if idle.len() < WORKSPACES_MAX {
            idle.push(workspace);
        }
    }
}

impl SignatureCheck for Verifier {
    fn check(&self, items: &[Item]) -> Vec<bool> {
        self.verify_batch(items)
    }
}
