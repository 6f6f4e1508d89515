//! Batches in AVX-512 registers, eight additions at once.
//!
//! ```text
//! field    eight field elements, one in each 64-bit lane, as five limbs of 52 bits
//! lift     square roots, each checked with k256's field
//! sums     bucket sums; lanes are buckets
//! trees    additions by coordinates with shared inversions
//! windows  sums of d times bucket d by complete formulas; lanes are windows
//! ```
//!
//! JUSTIFICATION for `unsafe` in this module: field products are nine tenths of a batch, and eight of
//! them by the multiply-add instructions take as long as one of k256's. There is no safe way to
//! call a function that needs processor features which are found at run time, and none to
//! load or store a register. Everything else here is safe code.

mod field;
mod lift;
mod sums;
mod trees;
mod windows;

use crate::arithmetic::Arithmetic;
use crate::buckets::{Buckets, SetAside, Term};
use crate::point::{Affine, Jacobian};
use crate::windows::Windows;

/// Points that are sorted into buckets at once, in several windows when there are few terms. At 80
/// bytes and as much again for the additions, a megabyte and a half: what fits into the second cache. In a
/// batch of 1,024 by as many authors those of three windows.
const GROUP_POINTS: usize = 9280;

/// The back end with its buffers. That there is one proves that the processor has the features.
pub(crate) struct Ifma {
    buckets: Buckets,
    sums: sums::Sums,
    set_aside: SetAside,
    window_sums: Vec<Jacobian>,
}

impl Ifma {
    /// The back end, on a processor that has what it needs.
    pub(crate) fn new() -> Option<Self> {
        let available =
            is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma");
        available.then(|| Self {
            buckets: Buckets::default(),
            sums: sums::Sums::default(),
            set_aside: SetAside::default(),
            window_sums: Vec::new(),
        })
    }

    fn sum_in(&mut self, terms: &[Term], windows: Windows, group_points: usize) -> Jacobian {
        self.buckets.start(terms, windows);
        self.set_aside.clear();
        self.window_sums.clear();
        self.sums.start(terms, windows);
        let at_once = (group_points / terms.len().max(1)).clamp(1, windows.count());
        for first in (0..windows.count()).step_by(at_once) {
            let group = first..windows.count().min(first + at_once);
            self.buckets.fill(windows, group);
            let first_bucket = first * windows.digits();
            // JUSTIFICATION: features that are found at run time.
            // SAFETY: `self` exists, so `new` has found the features that this function needs.
            unsafe { self.sums.add_group(&self.buckets, first_bucket, &mut self.set_aside) };
        }
        // JUSTIFICATION and SAFETY: as above.
        unsafe { self.sums.finish(&mut self.set_aside) };
        // JUSTIFICATION and SAFETY: as above.
        unsafe { windows::sum_windows(&self.sums, windows, &mut self.window_sums) };
        self.set_aside.add_to(windows, &mut self.window_sums);
        windows.combine(&self.window_sums)
    }
}

impl Arithmetic for Ifma {
    fn lift(&mut self, xs: &[[u8; 32]], points: &mut Vec<Option<Affine>>) {
        points.clear();
        for xs in xs.chunks(lift::LANES) {
            // JUSTIFICATION: features that are found at run time.
            // SAFETY: `self` exists, so `new` has found the features that this function needs.
            unsafe { lift::lift(xs, points) };
        }
    }

    fn sum(&mut self, terms: &[Term]) -> Jacobian {
        self.sum_in(terms, Windows::new(window_count(terms.len())), GROUP_POINTS)
    }

    #[cfg(test)]
    fn set_aside(&self) -> usize {
        self.set_aside.len()
    }
}

/// What measured best.
fn window_count(terms: usize) -> usize {
    match terms {
        0..=60 => 32,
        61..=300 => 25,
        301..=1200 => 20,
        1201..=2000 => 16,
        2001..=8000 => 15,
        _ => 13,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sum_cases;

    #[test]
    fn sums_are_k256s_with_every_count_and_grouping() {
        let Some(mut ifma) = Ifma::new() else { return };
        for case in sum_cases::all() {
            for count in Windows::COUNTS {
                let group_points = if count % 2 == 0 { 1 } else { GROUP_POINTS };
                let sum = ifma.sum_in(&case.terms, Windows::new(count), group_points);
                case.check(&sum, ifma.set_aside(), &format!("{count} windows"));
            }
            let sum = ifma.sum(&case.terms);
            case.check(&sum, ifma.set_aside(), "measured count");
        }
    }
}
