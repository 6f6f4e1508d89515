//! Sums of buckets, eight buckets at a time.
//!
//! Buckets are sorted by length, so that the eight in the lanes of a register have about as many
//! points, and summed as trees ([`super::trees`]).

use super::field::{Fe8, Limbs, Words, words_of};
use super::trees::{Group, Point8, Trees};
use crate::buckets::{Buckets, SetAside, Term};
use crate::windows::Windows;

/// A term's coordinates: a line of the cache.
type Row = [Words; 2];

/// Limbs of x and of y of a sum.
pub(super) type SumRow = [u64; 10];

/// Levels that are added for some windows while their points are in the cache. What is left, a sixteenth,
/// is added for all windows at once: the last levels are short, and an inversion is as much work as 20
/// additions in registers.
const EARLY_LEVELS: u32 = 4;

/// The buffers, and the sums of all buckets of all windows.
#[derive(Default)]
pub(super) struct Sums {
    terms: Vec<Row>,
    /// Buckets, longest first.
    order: Vec<u32>,
    places: Vec<u32>,
    early: Trees,
    late: Trees,
    /// Sums by bucket, numbered through all windows.
    pub(super) table: Vec<SumRow>,
    /// Whether a bucket has any point.
    pub(super) filled: Vec<bool>,
}

impl Sums {
    /// Takes the points of a sum.
    pub(super) fn start(&mut self, terms: &[Term], windows: Windows) {
        self.terms.clear();
        self.terms
            .extend(terms.iter().map(|term| [words_of(&term.point.x), words_of(&term.point.y)]));
        self.late.clear();
        let buckets = windows.count() * windows.digits();
        self.table.clear();
        self.table.resize(buckets, [0; 10]);
        self.filled.clear();
        self.filled.resize(buckets, false);
    }

    /// Begins to sum the buckets of some windows, of which the first is `first_bucket` among all.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn add_group(
        &mut self,
        buckets: &Buckets,
        first_bucket: usize,
        set_aside: &mut SetAside,
    ) {
        self.fill(buckets, first_bucket);
        let stride = self.early.add_levels(EARLY_LEVELS, set_aside);
        self.late.append(&self.early, stride);
    }

    /// Sums what is left and writes the sums to the table.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub(super) fn finish(&mut self, set_aside: &mut SetAside) {
        self.late.add_levels(u32::MAX, set_aside);
        for group in &self.late.groups {
            let sum = &self.late.points[group.start];
            let (xs, ys) = (sum.x.store(), sum.y.store());
            for lane in 0..group.used {
                let bucket = group.buckets[lane] as usize;
                self.table[bucket] = row(&xs[lane], &ys[lane]);
                self.filled[bucket] = true;
            }
        }
    }

    /// Puts the buckets into lanes.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn fill(&mut self, buckets: &Buckets, first_bucket: usize) {
        self.sort(buckets);
        self.early.clear();
        for lanes in self.order.chunks(8) {
            let mut group = Group {
                start: self.early.points.len(),
                lens: [0; 8],
                buckets: [0; 8],
                used: lanes.len(),
            };
            for (lane, bucket) in lanes.iter().enumerate() {
                group.lens[lane] = buckets.len(*bucket as usize);
                group.buckets[lane] = first_bucket as u32 + bucket;
            }
            for place in 0..group.lens[0] as usize {
                self.early.points.push(take(&self.terms, buckets, lanes, place));
            }
            self.early.groups.push(group);
        }
    }

    /// Sorts the buckets that have points by their length, by counting.
    fn sort(&mut self, buckets: &Buckets) {
        let lens = || (0..buckets.count()).map(|bucket| buckets.len(bucket) as usize);
        self.places.clear();
        self.places.resize(lens().max().unwrap_or(0) + 1, 0);
        lens().for_each(|len| self.places[len] += 1);
        self.places[0] = 0;
        let mut end = 0;
        for place in self.places.iter_mut().rev() {
            end += std::mem::replace(place, end);
        }
        self.order.clear();
        self.order.resize(end as usize, 0);
        for (bucket, len) in lens().enumerate().filter(|(_, len)| *len > 0) {
            self.order[self.places[len] as usize] = bucket as u32;
            self.places[len] += 1;
        }
    }
}

fn row(x: &Limbs, y: &Limbs) -> SumRow {
    let mut row = [0; 10];
    row[..5].copy_from_slice(x);
    row[5..].copy_from_slice(y);
    row
}

/// The points at one place of up to eight buckets; any point where a bucket has none there.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn take(terms: &[Row], buckets: &Buckets, lanes: &[u32], place: usize) -> Point8 {
    let (mut rows, mut negative) = ([&terms[0]; 8], 0);
    for (lane, (row, bucket)) in rows.iter_mut().zip(lanes).enumerate() {
        if let Some(member) = buckets.members(*bucket as usize).get(place) {
            *row = &terms[member.index()];
            negative |= u8::from(member.is_negative()) << lane;
        }
    }
    let [x, y] = Fe8::load_words(&rows);
    Point8 { x, y: y.opposite(negative) }
}
