//! BIP-340 verification, one by one and in batches.
//!
//! [`Verifier`] answers one question: is this a signature of that message by this key? Whatever
//! the bytes are, the answer is yes or no; nothing here panics or returns an error.
//!
//! [`Verifier::verify_batch`] gives the same answers for a slice, at a tenth of the time: one equation
//! of random coefficients stands for all items, wrong ones are found by halving, and eight sums at a
//! time are computed where the processor has the instructions. `docs/batch-verification.md` in the
//! repository explains it from the start.
//!
//! ```
//! use zeolite_proto::{EventId, PubKey, Signature};
//! use zeolite_schnorr::Verifier;
//!
//! let verifier = Verifier::new(10_000); // share it between threads
//! let item = (PubKey([1; 32]), EventId([2; 32]), Signature([3; 64]));
//! assert_eq!(verifier.verify_batch(&[item; 20]), [false; 20]);
//! ```
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
mod inverse;
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
