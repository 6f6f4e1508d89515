//! Which points meet in which bucket.
//!
//! Pippenger's method sums, for each window, the points of equal digit first. A *bucket* is a pair
//! of a window and the absolute value of a digit; buckets of consecutive windows are numbered
//! through. A counting sort lists what is in each.

use std::ops::Range;

use crate::glv::Half;
use crate::point::{Affine, Jacobian};
use crate::windows::{Recoded, Windows};

/// A point and the scalar it is to be multiplied with.
#[derive(Clone, Copy)]
pub(crate) struct Term {
    pub(crate) point: Affine,
    pub(crate) scalar: Half,
}

/// A point in a bucket: an index among the terms, and whether its negative is meant.
#[derive(Clone, Copy, Default)]
pub(crate) struct Member(u32);

impl Member {
    pub(crate) fn index(self) -> usize {
        self.0 as usize >> 1
    }

    pub(crate) fn is_negative(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The buckets of some windows.
#[derive(Default)]
pub(crate) struct Buckets {
    scalars: Vec<Recoded>,
    /// The digits of the windows, window by window.
    digits: Vec<i16>,
    /// Where each bucket starts in `members`, and where the last one ends.
    starts: Vec<u32>,
    members: Vec<Member>,
}

impl Buckets {
    /// Takes the scalars of a sum.
    pub(crate) fn start(&mut self, terms: &[Term], windows: Windows) {
        self.scalars.clear();
        self.scalars.extend(terms.iter().map(|term| windows.recode(term.scalar)));
    }

    /// Sorts the points into the buckets of these windows.
    pub(crate) fn fill(&mut self, windows: Windows, group: Range<usize>) {
        self.digits.clear();
        for window in group.clone() {
            let digits = self.scalars.iter().map(|scalar| windows.digit(scalar, window) as i16);
            self.digits.extend(digits);
        }
        let per_window = windows.digits();
        self.count_members(group.len() * per_window, per_window);
        self.place_members(per_window);
    }

    /// Sets `starts` to where each bucket ends.
    fn count_members(&mut self, buckets: usize, per_window: usize) {
        self.starts.clear();
        self.starts.resize(buckets + 1, 0);
        let windows = self.digits.chunks(self.scalars.len().max(1));
        for (digits, starts) in windows.zip(self.starts.chunks_mut(per_window)) {
            for digit in digits.iter().filter(|digit| **digit != 0) {
                starts[usize::from(digit.unsigned_abs()) - 1] += 1;
            }
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.members.clear();
        self.members.resize(end as usize, Member::default());
    }

    /// Fills each bucket from its end, which leaves `starts` at its beginning.
    fn place_members(&mut self, per_window: usize) {
        let windows = self.digits.chunks(self.scalars.len().max(1));
        for (digits, starts) in windows.zip(self.starts.chunks_mut(per_window)) {
            for (index, digit) in digits.iter().enumerate().filter(|(_, digit)| **digit != 0) {
                let start = &mut starts[usize::from(digit.unsigned_abs()) - 1];
                *start -= 1;
                self.members[*start as usize] = Member((index as u32) << 1 | u32::from(*digit < 0));
            }
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Points in a bucket.
    pub(crate) fn len(&self, bucket: usize) -> u32 {
        self.starts[bucket + 1] - self.starts[bucket]
    }

    pub(crate) fn members(&self, bucket: usize) -> &[Member] {
        &self.members[self.starts[bucket] as usize..self.starts[bucket + 1] as usize]
    }

    /// All members, bucket by bucket.
    pub(crate) fn all_members(&self) -> &[Member] {
        &self.members
    }
}

/// The points that the fast additions cannot take: each would have met an equal or opposite
/// one. Complete additions sum them.
#[derive(Default)]
pub(crate) struct SetAside {
    points: Vec<(u32, Affine)>,
    sums: Vec<Jacobian>,
}

impl SetAside {
    pub(crate) fn clear(&mut self) {
        self.points.clear();
    }

    /// Sets aside a point of a bucket, numbered through all windows.
    pub(crate) fn push(&mut self, bucket: usize, point: Affine) {
        self.points.push((bucket as u32, point));
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.points.len()
    }

    /// Adds what was set aside to the sums of the windows.
    pub(crate) fn add_to(&mut self, windows: Windows, window_sums: &mut [Jacobian]) {
        if self.points.is_empty() {
            return;
        }
        let digits = windows.digits();
        self.sums.clear();
        self.sums.resize(windows.count() * digits, Jacobian::IDENTITY);
        for (bucket, point) in &self.points {
            let sum = &mut self.sums[*bucket as usize];
            *sum = sum.add_affine(point);
        }
        for (total, sums) in window_sums.iter_mut().zip(self.sums.chunks(digits)) {
            if sums.iter().any(|sum| !sum.is_identity()) {
                *total = total.add(&weighted(sums));
            }
        }
    }
}

/// The sum of d times the d-th point, counted from 1: each running sum, from the top, is added once.
fn weighted(points: &[Jacobian]) -> Jacobian {
    let mut running = Jacobian::IDENTITY;
    let mut total = Jacobian::IDENTITY;
    for point in points.iter().rev() {
        running = running.add(point);
        total = total.add(&running);
    }
    total
}
