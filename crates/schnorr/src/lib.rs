//! BIP-340 verification on k256's arithmetic.
//!
//! [`Verifier`] answers one question: is this a signature of that message by this key? Whatever
//! the bytes are, the answer is yes or no; nothing here panics or returns an error.
//!
//! Public keys are x coordinates. Finding the point that belongs to one costs a square root, a
//! tenth of a verification, so a [`Verifier`] remembers the points of recent keys, in bounded
//! memory. All inputs are public: nothing here needs constant time.

#![forbid(unsafe_code)]

mod key_cache;
mod verifier;

pub use verifier::Verifier;
