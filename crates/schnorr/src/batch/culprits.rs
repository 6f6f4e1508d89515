//! Finding the wrong signatures of a batch.
//!
//! A range whose sum is not zero is halved. Only the left half is summed: the right half's sum is the
//! difference, because coefficients stay. So one culprit costs the batch once more (a half, a quarter,
//! an eighth, ...), and a half that is right is never looked at again.

use std::ops::Range;

use super::Item;
use super::equation::Equation;
use crate::limits::{SEARCH_ITEMS_MAX, SEARCH_ITEMS_MIN, SEARCH_SUM_ITEMS};
use crate::point::Jacobian;

pub(super) struct Search<'a> {
    pub(super) equation: &'a mut Equation,
    pub(super) items: &'a [Item],
    pub(super) single: &'a dyn Fn(&Item) -> bool,
    pub(super) verdicts: &'a mut [bool],
    /// What may still be spent, in items of a long sum.
    pub(super) budget: usize,
}

impl Search<'_> {
    /// Decides all weighted items.
    pub(super) fn run(&mut self) {
        let all = 0..self.equation.weighted.len();
        self.budget = SEARCH_ITEMS_MAX * all.len();
        let sum = self.equation.sum(all.clone());
        self.decide(all, &sum);
    }

    fn decide(&mut self, range: Range<usize>, sum: &Jacobian) {
        if sum.is_identity() {
            for item in &self.equation.weighted[range] {
                self.verdicts[item.item as usize] = true;
            }
            return;
        }
        let half = range.len() / 2;
        let cost = half + SEARCH_SUM_ITEMS;
        if range.len() <= SEARCH_ITEMS_MIN || cost > self.budget {
            self.verify_singly(range);
            return;
        }
        self.budget -= cost;
        let (left, right) = (range.start..range.start + half, range.start + half..range.end);
        let left_sum = self.equation.sum(left.clone());
        let right_sum = sum.add(&left_sum.negate());
        self.decide(left, &left_sum);
        self.decide(right, &right_sum);
    }

    /// Leaves a range of weighted items to single verification.
    pub(super) fn verify_singly(&mut self, range: Range<usize>) {
        for item in &self.equation.weighted[range] {
            let index = item.item as usize;
            self.verdicts[index] = (self.single)(&self.items[index]);
        }
    }
}
