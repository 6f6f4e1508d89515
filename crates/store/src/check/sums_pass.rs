//! The table of sums against the timeline.

use super::{Check, Problem};
use crate::error::ReadError;
use crate::keys::TimelineEntry;
use crate::sums::{Bucket, ItemKey, Place, Tallies, bucket};

/// Adds up what the timeline has, bucket by bucket.
pub(super) struct SumsPass {
    /// In order; the first begins below everything.
    buckets: Vec<Bucket>,
    at: usize,
    found: Tallies,
    wrong: u64,
}

impl Check<'_, '_> {
    /// Reads the table.
    pub(super) fn sums(&mut self) -> Result<SumsPass, ReadError> {
        let table = self.snapshot.inner.tables.sums;
        let mut buckets = Vec::new();
        self.walk("sums", table, |check, key, value| {
            match bucket((key, value)) {
                Ok(bucket) => buckets.push(bucket),
                Err(_) => check.report.add(Problem::Malformed("sums")),
            }
            Ok(())
        })?;
        if buckets.first().is_none_or(|first| first.edge != ItemKey::LOWEST) {
            buckets.insert(0, Bucket::empty(ItemKey::LOWEST));
        }
        Ok(SumsPass { buckets, at: 0, found: Tallies::default(), wrong: 0 })
    }

    /// Takes in a timeline entry of an event that is settled. They come in order.
    pub(super) fn add_to_sums(
        &mut self,
        entry: &TimelineEntry,
        pass: &mut SumsPass,
    ) -> Result<(), ReadError> {
        let key = ItemKey::of_entry(entry);
        while pass.buckets.get(pass.at + 1).is_some_and(|next| next.edge <= key) {
            pass.end_bucket();
        }
        let is_gated = !self.gated_kinds.is_empty()
            && self
                .readable(entry.seq())?
                .flatten()
                .is_some_and(|event| self.gated_kinds.binary_search(&event.kind()).is_ok());
        pass.found.put_in(&Place { key, is_gated });
        Ok(())
    }

    /// Reports the buckets that are wrong.
    pub(super) fn end_sums(&mut self, mut pass: SumsPass) {
        while pass.at < pass.buckets.len() {
            pass.end_bucket();
        }
        if pass.wrong > 0 {
            self.report.add(Problem::WrongSums(pass.wrong));
        }
    }
}

impl SumsPass {
    fn end_bucket(&mut self) {
        let found = std::mem::take(&mut self.found);
        self.wrong += u64::from(found != self.buckets[self.at].tallies);
        self.at += 1;
    }
}
