//! The mark of a checked signature.

use std::ops::Deref;

use crate::event::Event;
use crate::ids::{EventId, PubKey, Signature};

/// Checks BIP-340 signatures. Implemented by the verifier; tests may bring their own.
pub trait SignatureCheck {
    /// For each item, whether `sig` is a signature of `id` by `pubkey`, in the order given.
    ///
    /// Items come as a slice so that an implementation can check them in one batch.
    fn check(&self, items: &[(PubKey, EventId, Signature)]) -> Vec<bool>;
}

/// A value whose signature was checked. What admits events takes nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified<T>(T);

impl Verified<Event> {
    /// Checks the signatures of `events`; the answer is in the same order. An event whose
    /// signature is wrong comes back as the error.
    pub fn check_all(
        events: Vec<Event>,
        check: &(impl SignatureCheck + ?Sized),
    ) -> Vec<Result<Self, Event>> {
        let items: Vec<_> = events
            .iter()
            .map(|event| {
                let view = event.view();
                (view.pubkey(), view.id(), view.sig())
            })
            .collect();
        let verdicts = check.check(&items);
        assert_eq!(verdicts.len(), events.len(), "one verdict for each item");
        let sorted = events.into_iter().zip(verdicts);
        sorted.map(|(event, good)| if good { Ok(Self(event)) } else { Err(event) }).collect()
    }

    /// Marks an event that another holder of the mark vouches for: one that was read back from a
    /// store, or that comes from an upstream the operator trusts.
    pub fn trusted(event: Event) -> Self {
        Self(event)
    }
}

impl<T> Verified<T> {
    /// The value without its mark.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Verified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
