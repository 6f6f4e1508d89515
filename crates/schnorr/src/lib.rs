//! BIP-340 verification on k256's arithmetic.
//!
//! [`Verifier`] answers one question: is this a signature of that message by this key? Whatever
//! the bytes are, the answer is yes or no; nothing here panics or returns an error.
//!
//! Public keys are x coordinates. Finding the point that belongs to one costs a square root, a
//! tenth of a verification, so a [`Verifier`] remembers the points of recent keys, in bounded
//! memory. All inputs are public: nothing here needs constant time.
#![deny(unsafe_code)]

mod arithmetic;
mod batch;
mod buckets;
mod field;
mod glv;
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "vector instructions; see the module's justification")]
mod ifma;
mod key_cache;
mod limits;
mod point;
mod portable;
#[cfg(test)]
mod sum_cases;
mod verifier;
mod windows;

pub use arithmetic::Backend;
pub use batch::Item;
pub use verifier::Verifier;
