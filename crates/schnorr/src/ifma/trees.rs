//! Additions by coordinates: eight buckets in lanes, summed as trees.
//!
//! Neighbours are added in pairs, level by level; all additions of a level share one inversion. Lanes
//! whose bucket has run out keep what they have.

use super::field::{Factor8, Fe8, invert, to_fe};
use crate::buckets::SetAside;
use crate::point::Affine;

/// Independent chains of products. A product waits for its operands twice as long as it takes; three at
/// a time leave no gaps.
const CHAINS: usize = 3;

/// A point for each lane.
#[derive(Clone, Copy)]
pub(super) struct Point8 {
    pub(super) x: Fe8,
    pub(super) y: Fe8,
}

/// Eight buckets, longest first. Point j of each lies `j` places after `start`; at level l only
/// each 2^l-th place counts.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) start: usize,
    pub(super) lens: [u32; 8],
    /// Numbered through all windows.
    pub(super) buckets: [u32; 8],
    /// How many of the eight there are.
    pub(super) used: usize,
}

/// A planned addition, for the lanes in `mask`.
#[derive(Clone)]
struct Addition {
    left: usize,
    right: usize,
    mask: u8,
    /// The group, to find the buckets when lanes are set aside.
    group: usize,
    /// One in the other lanes.
    dx: Factor8,
    /// The product of all `dx` of its chain before this one.
    before: Factor8,
}

/// Groups and their points.
#[derive(Default)]
pub(super) struct Trees {
    pub(super) groups: Vec<Group>,
    pub(super) points: Vec<Point8>,
    /// Those of the level come first; what follows is room that has been used before. Written in place:
    /// each is of 700 bytes.
    additions: Vec<Addition>,
    planned: usize,
}

impl Trees {
    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.points.clear();
    }

    /// Adds pairs for so many levels, or until each bucket is one point. Answers how many places the
    /// points that are left lie apart.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn add_levels(&mut self, levels: u32, set_aside: &mut SetAside) -> usize {
        let mut stride = 1;
        for _ in 0..levels {
            let products = self.plan(stride);
            if self.planned == 0 {
                break;
            }
            self.perform(&products, set_aside);
            for len in self.groups.iter_mut().flat_map(|group| &mut group.lens) {
                *len = len.div_ceil(2);
            }
            stride *= 2;
        }
        stride
    }

    /// Takes over what is left of other trees.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn append(&mut self, other: &Self, stride: usize) {
        for group in &other.groups {
            let start = self.points.len();
            let points = other.points[group.start..].iter().step_by(stride);
            self.points.extend(points.take(group.lens[0] as usize));
            self.groups.push(Group { start, ..*group });
        }
    }

    /// Plans the additions of a level; gives the products of each chain's `dx`.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn plan(&mut self, stride: usize) -> [Factor8; CHAINS] {
        let one = *Fe8::small(1);
        self.planned = self.groups.iter().map(|group| group.lens[0] as usize / 2).sum();
        if self.additions.len() < self.planned {
            let unused = Addition { left: 0, right: 0, mask: 0, group: 0, dx: one, before: one };
            self.additions.resize(self.planned, unused);
        }
        let mut products = [one; CHAINS];
        let mut chain = 0;
        let mut additions = self.additions.iter_mut();
        for (index, group) in self.groups.iter().enumerate() {
            let mut lanes = group.used;
            for (pair, addition) in (0..group.lens[0] as usize / 2).zip(&mut additions) {
                // Lanes are sorted: those that still have a pair come first.
                while group.lens[lanes - 1] as usize / 2 <= pair {
                    lanes -= 1;
                }
                addition.mask = (0xffu16 >> (8 - lanes)) as u8;
                addition.group = index;
                addition.left = group.start + 2 * pair * stride;
                addition.right = addition.left + stride;
                let [left, right] = [&self.points[addition.left], &self.points[addition.right]];
                addition.dx = one.blend(&right.x.minus(&left.x).factor(), addition.mask);
                addition.before = products[chain];
                products[chain] = addition.before.mul(&addition.dx).factor();
                chain = if chain + 1 == CHAINS { 0 } else { chain + 1 };
            }
        }
        products
    }

    /// Performs what is planned.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn perform(&mut self, products: &[Factor8; CHAINS], set_aside: &mut SetAside) {
        let mut inverses = inverses(products).unwrap_or_else(|| {
            self.skip_equal(set_aside);
            inverses(&self.products()).expect("no dx is zero")
        });
        let (rows, rest) = self.additions[..self.planned].as_chunks::<CHAINS>();
        for (addition, inverse) in rest.iter().zip(&mut inverses) {
            add(&mut self.points, [addition], std::slice::from_mut(inverse));
        }
        for row in rows.iter().rev() {
            add(&mut self.points, row.each_ref(), &mut inverses);
        }
    }

    /// Takes out of the plan what has no inverse: equal or opposite points.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn skip_equal(&mut self, set_aside: &mut SetAside) {
        let one = *Fe8::small(1);
        for addition in &mut self.additions[..self.planned] {
            let [left, right] = [&self.points[addition.left], &self.points[addition.right]];
            let equal = right.x.minus(&left.x).carried().zeros() & addition.mask;
            if equal == 0 {
                continue;
            }
            addition.mask &= !equal;
            addition.dx = one.blend(&addition.dx, addition.mask);
            let (xs, ys) = (right.x.store(), right.y.store());
            let buckets = &self.groups[addition.group].buckets;
            for lane in (0..8).filter(|lane| equal >> lane & 1 == 1) {
                let point = Affine { x: to_fe(&xs[lane]), y: to_fe(&ys[lane]) };
                set_aside.push(buckets[lane] as usize, point);
            }
        }
    }

    /// The products once more, after the plan has changed.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn products(&mut self) -> [Factor8; CHAINS] {
        let mut products = [*Fe8::small(1); CHAINS];
        for row in self.additions[..self.planned].chunks_mut(CHAINS) {
            for (product, addition) in products.iter_mut().zip(row) {
                addition.before = *product;
                *product = product.mul(&addition.dx).factor();
            }
        }
        products
    }
}

/// One over each product, by one inversion for all; `None` when one is zero.
#[target_feature(enable = "avx512f,avx512ifma")]
fn inverses(products: &[Factor8; CHAINS]) -> Option<[Factor8; CHAINS]> {
    let one = Fe8::small(1);
    let mut before = [*one; CHAINS];
    let mut all = one;
    for (before, product) in before.iter_mut().zip(products) {
        *before = *all;
        all = all.mul(product).carried();
    }
    let mut inverse = *invert(&all)?;
    let mut inverses = before;
    for (result, product) in inverses.iter_mut().zip(products).rev() {
        *result = inverse.mul(result).factor();
        inverse = inverse.mul(product).factor();
    }
    Some(inverses)
}

/// Performs additions of different chains, each step of all before the next. `inverses` has that of the
/// product of all `dx` of a chain up to here.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add<const N: usize>(points: &mut [Point8], additions: [&Addition; N], inverses: &mut [Factor8]) {
    let mut slopes = additions.map(|addition| addition.before);
    for (slope, inverse) in slopes.iter_mut().zip(&*inverses) {
        *slope = inverse.mul(slope).factor();
    }
    for (inverse, addition) in inverses.iter_mut().zip(additions) {
        *inverse = inverse.mul(&addition.dx).factor();
    }
    for (slope, addition) in slopes.iter_mut().zip(additions) {
        let [left, right] = [&points[addition.left], &points[addition.right]];
        *slope = right.y.minus(&left.y).factor().mul(slope).factor();
    }
    let mut xs = additions.map(|addition| points[addition.right].x);
    for ((x, slope), addition) in xs.iter_mut().zip(&slopes).zip(additions) {
        *x = slope.square_sub_both(&points[addition.left].x, x).carried();
    }
    for ((x, slope), addition) in xs.iter().zip(&slopes).zip(additions) {
        let left = &mut points[addition.left];
        let y = slope.mul_sub(&left.x.minus(x).factor(), &left.y).carried();
        *left = Point8 { x: left.x.blend(x, addition.mask), y: left.y.blend(&y, addition.mask) };
    }
}
