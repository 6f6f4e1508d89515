//! Sums of buckets, eight buckets at a time.
//!
//! Buckets are sorted by length, so that the eight in the lanes of a register have about as many
//! points. Neighbours are added in pairs, level by level; all additions of a level share one
//! inversion. Lanes whose bucket has run out keep what they have.

use super::field::{Fe8, Limbs, invert, limbs_of, to_fe};
use crate::buckets::{Buckets, SetAside, Term};
use crate::point::Affine;
use crate::windows::Windows;

/// Limbs of x and of y.
type Row = [u64; 10];

/// A point for each lane.
#[derive(Clone, Copy)]
struct Point8 {
    x: Fe8,
    y: Fe8,
}

/// Eight buckets, longest first. Point j of each lies `j` places after `start`; at level l only
/// each 2^l-th place counts.
struct Group {
    start: usize,
    lens: [u32; 8],
    buckets: [u32; 8],
    /// How many of the eight there are.
    used: usize,
}

/// A planned addition, for the lanes in `mask`.
struct Addition {
    left: usize,
    right: usize,
    mask: u8,
    /// The group, to find the buckets when lanes are set aside.
    group: usize,
    /// One in the other lanes.
    dx: Fe8,
    /// The product of all `dx` of its chain before this one.
    before: Fe8,
}

/// The buffers, and the sums of all buckets of all windows.
#[derive(Default)]
pub(super) struct Sums {
    terms: Vec<Row>,
    order: Vec<(u32, u32)>,
    groups: Vec<Group>,
    points: Vec<Point8>,
    additions: Vec<Addition>,
    /// Sums by bucket, numbered through all windows.
    pub(super) table: Vec<Row>,
    /// Whether a bucket has any point.
    pub(super) filled: Vec<bool>,
}

impl Sums {
    /// Takes the points of a sum.
    pub(super) fn start(&mut self, terms: &[Term], windows: Windows) {
        self.terms.clear();
        self.terms.extend(
            terms.iter().map(|term| row(&limbs_of(&term.point.x), &limbs_of(&term.point.y))),
        );
        let buckets = windows.count() * windows.digits();
        self.table.clear();
        self.table.resize(buckets, [0; 10]);
        self.filled.clear();
        self.filled.resize(buckets, false);
    }

    /// Sums the buckets of some windows, of which the first is `first_bucket` among all.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn add_group(
        &mut self,
        buckets: &Buckets,
        first_bucket: usize,
        set_aside: &mut SetAside,
    ) {
        self.fill(buckets);
        let mut stride = 1;
        while self.plan(stride) {
            self.perform(first_bucket, set_aside);
            for len in self.groups.iter_mut().flat_map(|group| &mut group.lens) {
                *len = len.div_ceil(2);
            }
            stride *= 2;
        }
        self.keep(first_bucket);
    }

    /// Puts the buckets into lanes.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn fill(&mut self, buckets: &Buckets) {
        self.order.clear();
        let numbered = (0..buckets.count()).map(|bucket| (buckets.len(bucket), bucket as u32));
        self.order.extend(numbered.filter(|(len, _)| *len > 0));
        self.order.sort_unstable_by(|left, right| right.cmp(left));
        self.groups.clear();
        self.points.clear();
        for lanes in self.order.chunks(8) {
            let mut group = Group {
                start: self.points.len(),
                lens: [0; 8],
                buckets: [0; 8],
                used: lanes.len(),
            };
            for (lane, (len, bucket)) in lanes.iter().enumerate() {
                (group.lens[lane], group.buckets[lane]) = (*len, *bucket);
            }
            for place in 0..group.lens[0] as usize {
                self.points.push(gather(&self.terms, buckets, &group, place));
            }
            self.groups.push(group);
        }
    }

    /// Plans the additions of a level. False when there are none.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn plan(&mut self, stride: usize) -> bool {
        self.additions.clear();
        let one = Fe8::small(1);
        for (index, group) in self.groups.iter().enumerate() {
            let mut lanes = group.used;
            for pair in 0..group.lens[0] as usize / 2 {
                // Lanes are sorted: those that still have a pair come first.
                while group.lens[lanes - 1] as usize / 2 <= pair {
                    lanes -= 1;
                }
                let mask = (0xffu16 >> (8 - lanes)) as u8;
                let left = group.start + 2 * pair * stride;
                let right = left + stride;
                let dx = self.points[right].x.sub(&self.points[left].x);
                let dx = one.blend(&dx, mask);
                self.additions.push(Addition { left, right, mask, group: index, dx, before: one });
            }
        }
        !self.additions.is_empty()
    }

    /// Performs what is planned.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn perform(&mut self, first_bucket: usize, set_aside: &mut SetAside) {
        let inverses = self.inverses().unwrap_or_else(|| {
            self.skip_equal(first_bucket, set_aside);
            self.inverses().expect("no dx is zero")
        });
        let mut inverses = inverses;
        for (index, addition) in self.additions.iter().enumerate().rev() {
            let inverse = &mut inverses[index % 2];
            let dx_inverse = inverse.mul(&addition.before);
            *inverse = inverse.mul(&addition.dx);
            let [left, right] = [&self.points[addition.left], &self.points[addition.right]];
            let slope = right.y.sub(&left.y).mul(&dx_inverse);
            let x = slope.square_sub(&left.x, &right.x);
            let y = slope.mul_sub(&left.x.sub(&x), &left.y);
            self.points[addition.left] =
                Point8 { x: left.x.blend(&x, addition.mask), y: left.y.blend(&y, addition.mask) };
        }
    }

    /// Fills in the products and inverts those of all. There are two chains, of the even and of the
    /// odd additions, so that one computes while the other waits for its last product.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn inverses(&mut self) -> Option<[Fe8; 2]> {
        let mut products = [Fe8::small(1); 2];
        for (index, addition) in self.additions.iter_mut().enumerate() {
            let product = &mut products[index % 2];
            addition.before = *product;
            *product = product.mul(&addition.dx);
        }
        let inverse = invert(&products[0].mul(&products[1]))?;
        Some([inverse.mul(&products[1]), inverse.mul(&products[0])])
    }

    /// Takes out of the plan what has no inverse: equal or opposite points.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn skip_equal(&mut self, first_bucket: usize, set_aside: &mut SetAside) {
        let one = Fe8::small(1);
        for addition in &mut self.additions {
            let equal = addition.dx.zeros();
            if equal == 0 {
                continue;
            }
            addition.mask &= !equal;
            addition.dx = one.blend(&addition.dx, addition.mask);
            let right = &self.points[addition.right];
            let (xs, ys) = (right.x.store(), right.y.store());
            let buckets = &self.groups[addition.group].buckets;
            for lane in (0..8).filter(|lane| equal >> lane & 1 == 1) {
                let point = Affine { x: to_fe(&xs[lane]), y: to_fe(&ys[lane]) };
                set_aside.push(first_bucket + buckets[lane] as usize, point);
            }
        }
    }

    /// Writes the sums to the table.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn keep(&mut self, first_bucket: usize) {
        for group in &self.groups {
            let sum = &self.points[group.start];
            let (xs, ys) = (sum.x.store(), sum.y.store());
            for lane in 0..group.used {
                let bucket = first_bucket + group.buckets[lane] as usize;
                self.table[bucket] = row(&xs[lane], &ys[lane]);
                self.filled[bucket] = true;
            }
        }
    }
}

fn row(x: &Limbs, y: &Limbs) -> Row {
    let mut row = [0; 10];
    row[..5].copy_from_slice(x);
    row[5..].copy_from_slice(y);
    row
}

/// The points at one place of each bucket of a group; any point where a bucket has none there.
#[target_feature(enable = "avx512f,avx512ifma")]
fn gather(terms: &[Row], buckets: &Buckets, group: &Group, place: usize) -> Point8 {
    let (mut rows, mut negative) = ([0; 8], 0);
    for (lane, row) in rows.iter_mut().enumerate().take(group.used) {
        if let Some(member) = buckets.members(group.buckets[lane] as usize).get(place) {
            *row = member.index() as u32;
            negative |= u8::from(member.is_negative()) << lane;
        }
    }
    let x = Fe8::gather(terms, &rows, 0);
    let y = Fe8::gather(terms, &rows, 5);
    Point8 { x, y: y.blend(&y.negate(), negative) }
}
