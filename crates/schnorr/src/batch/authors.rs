//! The distinct keys of a batch: one point and one scalar for each, however many items it signed.

use std::collections::HashMap;

use k256::Scalar;
use zeolite_proto::PubKey;

use super::Item;
use super::equation::push_scaled;
use crate::arithmetic::Arithmetic;
use crate::buckets::Term;
use crate::field::Fe;
use crate::glv;
use crate::key_cache::KeyCache;
use crate::point::Affine;

/// Authors are numbered in order of appearance.
pub(super) struct Authors {
    beta: Fe,
    /// The hash is keyed: senders choose the keys.
    numbers: HashMap<PubKey, u32>,
    of_items: Vec<u32>,
    /// With their hashes in the cache.
    keys: Vec<(u64, PubKey)>,
    points: Vec<Option<Affine>>,
    /// The scalars of the sum that is being put together; `None` for authors without a part in it.
    scalars: Vec<Option<Scalar>>,
    in_sum: Vec<u32>,
    unknown: Vec<u32>,
    unknown_xs: Vec<[u8; 32]>,
    lifted: Vec<Option<Affine>>,
}

impl Authors {
    pub(super) fn new() -> Self {
        Self {
            beta: glv::beta(),
            numbers: HashMap::new(),
            of_items: Vec::new(),
            keys: Vec::new(),
            points: Vec::new(),
            scalars: Vec::new(),
            in_sum: Vec::new(),
            unknown: Vec::new(),
            unknown_xs: Vec::new(),
            lifted: Vec::new(),
        }
    }

    /// Numbers the authors of `items` and finds their points, in the cache or by lifting.
    pub(super) fn collect(
        &mut self,
        items: &[Item],
        keys: &KeyCache,
        arithmetic: &mut dyn Arithmetic,
    ) {
        self.clear();
        for (key, _, _) in items {
            let next = self.keys.len() as u32;
            let number = *self.numbers.entry(*key).or_insert(next);
            self.of_items.push(number);
            if number == next {
                self.keys.push((keys.hash(key), *key));
            }
        }
        self.keys.iter().for_each(|(hash, _)| keys.approach(*hash));
        for (number, (hash, key)) in self.keys.iter().enumerate() {
            let known = keys.recall_hashed(*hash, key);
            if known.is_none() {
                self.unknown.push(number as u32);
                self.unknown_xs.push(key.0);
            }
            self.points.push(known.flatten());
        }
        self.scalars.resize(self.points.len(), None);
        arithmetic.lift(&self.unknown_xs, &mut self.lifted);
        for ((number, x), point) in self.unknown.iter().zip(&self.unknown_xs).zip(&self.lifted) {
            keys.remember(&PubKey(*x), point.as_ref());
            self.points[*number as usize] = *point;
        }
    }

    fn clear(&mut self) {
        self.numbers.clear();
        self.of_items.clear();
        self.keys.clear();
        self.points.clear();
        self.scalars.clear();
        self.unknown.clear();
        self.unknown_xs.clear();
    }

    /// The author of each item.
    pub(super) fn of_items(&self) -> &[u32] {
        &self.of_items
    }

    /// `None`: the key is not the x coordinate of a point.
    pub(super) fn point(&self, author: u32) -> Option<&Affine> {
        self.points[author as usize].as_ref()
    }

    /// Adds to the author's scalar in the next sum.
    pub(super) fn add(&mut self, author: u32, scalar: &Scalar) {
        match &mut self.scalars[author as usize] {
            Some(sum) => *sum += scalar,
            empty => {
                *empty = Some(*scalar);
                self.in_sum.push(author);
            }
        }
    }

    /// Gives the terms of what was added, and forgets it.
    pub(super) fn drain_into(&mut self, terms: &mut Vec<Term>) {
        for author in self.in_sum.drain(..) {
            let scalar = self.scalars[author as usize].take();
            let point = self.points[author as usize].as_ref();
            if let (Some(scalar), Some(point)) = (scalar, point) {
                push_scaled(terms, point, &scalar, &self.beta);
            }
        }
    }
}
