//! Many signatures in one equation.
//!
//! A signature (r, s) of a message m by a key P is right when s G - R - e P is zero, with R the point
//! of even y at r and e the hash of r, P and m. Each of these *errors* is weighted with a random
//! coefficient of 128 bits; if their sum is zero, so is each of them, but for one case in 2^128
//! (`docs/batch-verification.md` has the argument). A sum of many products is far cheaper than the
//! products.
//!
//! The roads to an answer:
//!
//! ```text
//! no   the key or r has no point, or s is out of range (shown by k256's field)
//! yes  the weighted sum of a range is zero
//! all else is said by single verification
//! ```
//!
//! So an error in the vector code can cost time, and never refuse a good signature.

mod authors;
mod challenge;
mod coefficients;
mod culprits;
mod equation;

use k256::Scalar;
use zeolite_proto::{EventId, PubKey, Signature};

use self::challenge::{Challenges, Digest256};
use self::coefficients::Coefficients;
use self::culprits::Search;
use self::equation::{Equation, Weighted};
use crate::arithmetic::Backend;
use crate::key_cache::KeyCache;
use crate::limits::BATCH_ITEMS_MIN;
use crate::point::Affine;

/// What is verified: whose signature, of what, and the signature.
pub type Item = (PubKey, EventId, Signature);

/// All buffers of a batch. They grow to the largest batch seen and stay.
pub(crate) struct Workspace {
    challenges: Challenges,
    digests: Vec<Digest256>,
    candidates: Vec<Candidate>,
    nonces: Vec<[u8; 32]>,
    nonce_points: Vec<Option<Affine>>,
    equation: Equation,
}

/// An item whose key has a point and whose s is in range.
struct Candidate {
    item: u32,
    author: u32,
    s: Scalar,
}

impl Workspace {
    pub(crate) fn new(backend: Backend) -> Self {
        Self {
            challenges: Challenges::new(),
            digests: Vec::new(),
            candidates: Vec::new(),
            nonces: Vec::new(),
            nonce_points: Vec::new(),
            equation: Equation::new(backend.arithmetic()),
        }
    }

    /// Writes whether each item is right. `single` is asked where the sums leave a question.
    pub(crate) fn verify(
        &mut self,
        items: &[Item],
        keys: &KeyCache,
        single: &dyn Fn(&Item) -> bool,
        verdicts: &mut [bool],
    ) {
        verdicts.fill(false);
        self.find_candidates(items, keys);
        self.weigh(items);
        let open = self.equation.weighted.len();
        let mut search =
            Search { equation: &mut self.equation, items, single, verdicts, budget: 0 };
        if open < BATCH_ITEMS_MIN {
            search.verify_singly(0..open);
        } else {
            search.run();
        }
    }

    /// Sorts out what can be refused by looking at the parts alone.
    fn find_candidates(&mut self, items: &[Item], keys: &KeyCache) {
        let Self { candidates, nonces, equation, .. } = self;
        equation.authors.collect(items, keys, &mut *equation.arithmetic);
        candidates.clear();
        nonces.clear();
        for (index, (item, author)) in items.iter().zip(equation.authors.of_items()).enumerate() {
            let (r, s) = halves(&item.2);
            let Some(s) = challenge::parse_s(s) else { continue };
            if equation.authors.point(*author).is_some() {
                nonces.push(*r);
                candidates.push(Candidate { item: index as u32, author: *author, s });
            }
        }
        equation.arithmetic.lift(nonces, &mut self.nonce_points);
    }

    /// The source of coefficients of a batch. Leaves the hashes of the challenges.
    fn coefficients(&mut self, items: &[Item]) -> Coefficients {
        let Self { challenges, digests, .. } = self;
        digests.clear();
        digests
            .extend(items.iter().map(|(key, id, sig)| challenges.digest(halves(sig).0, key, id)));
        Coefficients::of(digests.iter().zip(items.iter().map(|(_, _, sig)| halves(sig).1)))
    }

    /// Gives each candidate with a point at r its coefficient.
    fn weigh(&mut self, items: &[Item]) {
        let mut coefficients = self.coefficients(items);
        self.equation.weighted.clear();
        for (candidate, nonce) in self.candidates.iter().zip(&self.nonce_points) {
            let Some(nonce) = nonce else { continue };
            let coefficient = coefficients.next();
            let scalar = coefficients::scalar(coefficient);
            let challenge = challenge::from_digest(&self.digests[candidate.item as usize]);
            self.equation.weighted.push(Weighted {
                item: candidate.item,
                author: candidate.author,
                nonce: *nonce,
                coefficient,
                s: scalar * candidate.s,
                challenge: scalar * challenge,
            });
        }
    }
}

/// The x coordinate r and the scalar s of a signature.
fn halves(sig: &Signature) -> (&[u8; 32], &[u8; 32]) {
    let (halves, _) = sig.0.as_chunks::<32>();
    (&halves[0], &halves[1])
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use k256::schnorr::SigningKey;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::limits::SEARCH_ITEMS_MIN;

    fn sign(count: usize) -> Vec<Item> {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let keys: Vec<_> = (0..count.div_ceil(2).max(1))
            .map(|_| SigningKey::from_bytes(&rng.random::<[u8; 32]>().into()).expect("a key"))
            .collect();
        let sign = |index: usize| {
            let (key, id) = (&keys[index % keys.len()], rng.random::<[u8; 32]>());
            let sig = key.sign_raw(&id, &rng.random()).expect("a random nonce works");
            let key = PubKey(key.verifying_key().to_bytes().into());
            (key, EventId(id), Signature(sig.to_bytes()))
        };
        (0..count).map(sign).collect()
    }

    /// Verifies with every back end; answers how many single verifications that took in each.
    fn singles(items: &[Item], expected: &[bool]) -> Vec<usize> {
        let backends =
            [Backend::Portable, Backend::Ifma].into_iter().filter(|it| it.is_available());
        let keys = KeyCache::new(64);
        backends
            .map(|backend| {
                let asked = Cell::new(0);
                let single = |item: &Item| {
                    asked.set(asked.get() + 1);
                    let index = items.iter().position(|it| it == item).expect("one of them");
                    expected[index]
                };
                let mut verdicts = vec![true; items.len()];
                Workspace::new(backend).verify(items, &keys, &single, &mut verdicts);
                assert_eq!(verdicts, expected, "{backend:?}");
                asked.get()
            })
            .collect()
    }

    /// Without this, wrong sums would only show in the time: single verification would answer.
    #[test]
    fn valid_batches_are_decided_by_their_sum() {
        for count in [BATCH_ITEMS_MIN, 30, 200] {
            let mut items = sign(count);
            assert!(singles(&items, &vec![true; count]).iter().all(|asked| *asked == 0));
            // Equal points: each item twice.
            items.extend_from_within(..);
            assert!(singles(&items, &vec![true; 2 * count]).iter().all(|asked| *asked == 0));
        }
    }

    #[test]
    fn a_culprit_takes_a_handful_of_single_verifications() {
        let items = sign(200);
        for place in [0, 63, 199] {
            let mut items = items.clone();
            items[place].1.0[0] ^= 1;
            let mut expected = vec![true; items.len()];
            expected[place] = false;
            let asked = singles(&items, &expected);
            assert!(asked.iter().all(|asked| (1..=SEARCH_ITEMS_MIN).contains(asked)), "{asked:?}");
        }
    }

    /// What can be refused by its parts alone does not spoil the sum.
    #[test]
    fn parts_out_of_range_take_no_single_verification() {
        let mut items = sign(40);
        let mut expected = vec![true; items.len()];
        for place in 0..16 {
            let (key, _, sig) = &mut items[place];
            match place % 4 {
                0 => key.0.fill(0xff),
                1 => sig.0[..32].fill(0xff),
                2 => sig.0[32..].fill(0xff),
                _ => sig.0[32..].fill(0),
            }
            expected[place] = false;
        }
        assert!(singles(&items, &expected).iter().all(|asked| *asked == 0));
    }

    /// Every bit of every part of every item changes them all.
    #[test]
    fn coefficients_depend_on_the_whole_batch() {
        let items = [(PubKey([1; 32]), EventId([2; 32]), Signature([3; 64])); 2];
        let mut workspace = Workspace::new(Backend::Portable);
        let mut take = |items: &[Item]| {
            let mut coefficients = workspace.coefficients(items);
            [coefficients.next(), coefficients.next(), coefficients.next()]
        };
        let plain = take(&items);
        assert_eq!(plain[0], 1);
        assert_eq!(plain, take(&items));
        let mut differs = |changed: &[Item]| {
            let changed = take(changed);
            assert!(changed[0] == 1 && changed[1] != plain[1] && changed[2] != plain[2]);
        };
        for (index, bit) in (0..2).flat_map(|index| (0..512).map(move |bit| (index, bit))) {
            let mut changed = items;
            changed[index].2.0[bit / 8] ^= 1 << (bit % 8);
            differs(&changed);
            let mut changed = items;
            let part = if bit < 256 { &mut changed[index].0.0 } else { &mut changed[index].1.0 };
            part[bit % 256 / 8] ^= 1 << (bit % 8);
            differs(&changed);
        }
        differs(&items[..1]);
    }
}
