//! The weighted sum of the errors of a range of items.

use std::ops::Range;

use k256::Scalar;

use super::authors::Authors;
use crate::arithmetic::Arithmetic;
use crate::buckets::Term;
use crate::field::Fe;
use crate::glv::{self, Half};
use crate::point::{Affine, Jacobian};

/// An item with its coefficient a.
pub(super) struct Weighted {
    pub(super) item: u32,
    pub(super) author: u32,
    /// R.
    pub(super) nonce: Affine,
    pub(super) coefficient: i128,
    /// a s.
    pub(super) s: Scalar,
    /// a e.
    pub(super) challenge: Scalar,
}

/// The items of a batch and what it takes to sum them.
pub(super) struct Equation {
    pub(super) arithmetic: Box<dyn Arithmetic>,
    pub(super) authors: Authors,
    pub(super) weighted: Vec<Weighted>,
    generator: Affine,
    beta: Fe,
    terms: Vec<Term>,
}

impl Equation {
    pub(super) fn new(arithmetic: Box<dyn Arithmetic>) -> Self {
        Self {
            arithmetic,
            authors: Authors::new(),
            weighted: Vec::new(),
            generator: Affine::generator(),
            beta: glv::beta(),
            terms: Vec::new(),
        }
    }

    /// The sum of a R + (a e) P - (a s) G over a range: zero when all of it is right.
    pub(super) fn sum(&mut self, range: Range<usize>) -> Jacobian {
        self.terms.clear();
        let mut total_s = Scalar::ZERO;
        for item in &self.weighted[range] {
            let scalar =
                Half { magnitude: item.coefficient.unsigned_abs(), negative: item.coefficient < 0 };
            self.terms.push(Term { point: item.nonce, scalar });
            self.authors.add(item.author, &item.challenge);
            total_s += item.s;
        }
        self.authors.drain_into(&mut self.terms);
        push_scaled(&mut self.terms, &self.generator, &-total_s, &self.beta);
        self.arithmetic.sum(&self.terms)
    }
}

/// A point times a scalar of full length, as two terms of half.
pub(super) fn push_scaled(terms: &mut Vec<Term>, point: &Affine, scalar: &Scalar, beta: &Fe) {
    let [first, second] = glv::split(scalar);
    terms.push(Term { point: *point, scalar: first });
    terms.push(Term { point: point.endomorphism(beta), scalar: second });
}
