//! Batches on k256's field, in safe code.
//!
//! Adding two points by their coordinates needs a division. Many independent additions share one
//! (Montgomery's trick): the product of all denominators is inverted, and each inverse is read off
//! it on the way back, for three products apiece. Six products and a square per addition are half of
//! what complete formulas take.

use crate::arithmetic::Arithmetic;
use crate::buckets::{Buckets, SetAside, Term};
use crate::field::{self, Fe};
use crate::point::{Affine, Jacobian, curve};
use crate::windows::Windows;

/// Additions that share one inversion: enough to make it cheap, few enough for the cache.
const ADDITIONS_MAX: usize = 2048;

/// Points that are sorted into buckets at once, in several windows when there are few terms.
const GROUP_POINTS: usize = 6144;

/// Square roots side by side.
const ROOTS: usize = 4;

/// The portable back end with its buffers.
#[derive(Default)]
pub(crate) struct Portable {
    buckets: Buckets,
    lists: Lists,
    set_aside: SetAside,
    window_sums: Vec<Jacobian>,
}

impl Arithmetic for Portable {
    fn lift(&mut self, xs: &[[u8; 32]], points: &mut Vec<Option<Affine>>) {
        points.clear();
        for xs in xs.chunks(ROOTS) {
            let mut cubes = [Fe::ONE; ROOTS];
            for (cube, x) in cubes.iter_mut().zip(xs) {
                // Bytes beyond p have no point, whatever their root.
                *cube = field::parse(x).map_or(Fe::ONE, |x| curve(&x));
            }
            let roots = field::roots(&cubes);
            points.extend(xs.iter().zip(&roots).map(|(x, root)| Affine::with_root(x, root)));
        }
    }

    fn sum(&mut self, terms: &[Term]) -> Jacobian {
        let windows = Windows::new(window_count(terms.len()));
        self.sum_in(terms, windows, GROUP_POINTS)
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
        61..=300 => 24,
        301..=500 => 20,
        501..=6000 => 16,
        _ => 14,
    }
}

impl Portable {
    fn sum_in(&mut self, terms: &[Term], windows: Windows, group_points: usize) -> Jacobian {
        self.buckets.start(terms, windows);
        self.set_aside.clear();
        self.window_sums.clear();
        let at_once = (group_points / terms.len().max(1)).clamp(1, windows.count());
        for first in (0..windows.count()).step_by(at_once) {
            let group = first..windows.count().min(first + at_once);
            self.buckets.fill(windows, group.clone());
            self.lists.fill(terms, &self.buckets);
            self.lists.reduce(first * windows.digits(), &mut self.set_aside);
            let sums = self.lists.lists.chunks(windows.digits());
            self.window_sums.extend(sums.map(|lists| weighted(lists, &self.lists.points)));
        }
        self.set_aside.add_to(windows, &mut self.window_sums);
        windows.combine(&self.window_sums)
    }
}

/// The sum of d times the sum of the d-th list, counted from 1.
fn weighted(lists: &[List], points: &[Affine]) -> Jacobian {
    let mut running = Jacobian::IDENTITY;
    let mut total = Jacobian::IDENTITY;
    for list in lists.iter().rev() {
        if list.len > 0 {
            running = running.add_affine(&points[list.start]);
        }
        total = total.add(&running);
    }
    total
}

/// Lists of points that are to be summed, one for each bucket.
#[derive(Default)]
struct Lists {
    points: Vec<Affine>,
    lists: Vec<List>,
    additions: Vec<Addition>,
}

#[derive(Clone, Copy)]
struct List {
    start: usize,
    len: usize,
}

/// A planned addition of a point and the one after it.
struct Addition {
    index: usize,
    dx: Fe,
    /// The product of all `dx` before this one.
    before: Fe,
}

impl Lists {
    fn fill(&mut self, terms: &[Term], buckets: &Buckets) {
        self.points.clear();
        self.points.extend(buckets.all_members().iter().map(|member| {
            let point = &terms[member.index()].point;
            if member.is_negative() { point.negate() } else { *point }
        }));
        self.lists.clear();
        let mut start = 0;
        for bucket in 0..buckets.count() {
            let len = buckets.len(bucket) as usize;
            self.lists.push(List { start, len });
            start += len;
        }
    }

    /// Sums each list into its first place. Neighbours are added in pairs, level by level.
    fn reduce(&mut self, first_bucket: usize, set_aside: &mut SetAside) {
        while self.lists.iter().any(|list| list.len > 1) {
            self.add_pairs(first_bucket, set_aside);
            for list in &mut self.lists {
                let halved = list.len.div_ceil(2);
                for place in 1..halved {
                    self.points[list.start + place] = self.points[list.start + 2 * place];
                }
                list.len = halved;
            }
        }
    }

    /// Adds to every other point of each list the one after it.
    fn add_pairs(&mut self, first_bucket: usize, set_aside: &mut SetAside) {
        let mut product = Fe::ONE;
        for (bucket, list) in self.lists.iter().enumerate() {
            for pair in 0..list.len / 2 {
                let index = list.start + 2 * pair;
                let [left, right] = [&self.points[index], &self.points[index + 1]];
                let dx = right.x + left.x.negate(1);
                if field::is_zero(&dx) {
                    set_aside.push(first_bucket + bucket, *right);
                    continue;
                }
                self.additions.push(Addition { index, dx, before: product });
                product = product.mul(&dx);
                if self.additions.len() == ADDITIONS_MAX {
                    add_all(&mut self.points, &mut self.additions, &product);
                    product = Fe::ONE;
                }
            }
        }
        add_all(&mut self.points, &mut self.additions, &product);
    }
}

/// Performs the planned additions; `product` is that of all their `dx`.
fn add_all(points: &mut [Affine], additions: &mut Vec<Addition>, product: &Fe) {
    let mut inverse = field::invert(product).expect("no dx is zero");
    for Addition { index, dx, before } in additions.drain(..).rev() {
        let dx_inverse = inverse.mul(&before);
        inverse = inverse.mul(&dx);
        points[index] = points[index].add_with(&points[index + 1], &dx_inverse);
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::point::tests::same;
    use crate::sum_cases;

    #[test]
    fn lifts_as_k256_does() {
        let mut xs = sum_cases::field_elements(&mut ChaCha8Rng::seed_from_u64(1), 200);
        xs.extend([[0xff; 32], sum_cases::MODULUS]);
        let mut points = Vec::new();
        for chunk in xs.chunks(61) {
            Portable::default().lift(chunk, &mut points);
            assert_eq!(points.len(), chunk.len());
            for (x, point) in chunk.iter().zip(&points) {
                assert!(same(point, &Affine::lift(x)), "{x:02x?}");
            }
        }
    }

    #[test]
    fn sums_are_k256s_with_every_count_and_grouping() {
        let mut portable = Portable::default();
        for case in sum_cases::all() {
            for count in Windows::COUNTS {
                let group_points = if count % 2 == 0 { 1 } else { GROUP_POINTS };
                let sum = portable.sum_in(&case.terms, Windows::new(count), group_points);
                case.check(&sum, portable.set_aside(), &format!("{count} windows"));
            }
            let sum = portable.sum(&case.terms);
            case.check(&sum, portable.set_aside(), "measured count");
        }
    }
}
