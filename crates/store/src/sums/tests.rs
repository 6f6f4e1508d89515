//! Sums against a plain set of items, under any changes.

use std::collections::BTreeMap;
use std::convert::Infallible;

use rand::RngExt;
use rand::seq::IteratorRandom;
use zeolite_proto::{EventId, Timestamp};
use zeolite_testkit::{TestRng, run_seeds};

use super::{Bucket, BucketSize, Change, ItemKey, Place, Sums, Tallies};

#[derive(Default)]
struct Model(BTreeMap<ItemKey, bool>);

impl Model {
    fn between(&self, low: &ItemKey, end: Option<&ItemKey>) -> impl Iterator<Item = Place> {
        let from_low = self.0.range(*low..).map(|(key, is_gated)| (*key, *is_gated));
        let places = from_low.map(|(key, is_gated)| Place { key, is_gated });
        places.take_while(move |place| end.is_none_or(|end| place.key < *end))
    }

    fn random_change(&mut self, top_s: u64, rng: &mut TestRng) -> Option<Change> {
        if rng.random_ratio(2, 5) {
            let (key, is_gated) = self.0.iter().map(|(k, g)| (*k, *g)).choose(rng)?;
            self.0.remove(&key);
            return Some(Change::removal(Place { key, is_gated }));
        }
        let time = if rng.random() { top_s } else { rng.random_range(0..=top_s) };
        let key = ItemKey::new(Timestamp(time), &EventId(rng.random()));
        let place = Place { key, is_gated: rng.random_ratio(1, 4) };
        self.0.insert(place.key, place.is_gated);
        Some(Change::addition(place))
    }

    fn assert_equal(&self, sums: &Sums, size: BucketSize) {
        let chunks = sums.chunks();
        let buckets: Vec<&Bucket> = chunks.iter().flat_map(|chunk| &chunk.buckets).collect();
        assert!(buckets[0].edge == ItemKey::LOWEST && chunks[0].edge() == &ItemKey::LOWEST);
        assert!(buckets.is_sorted_by(|a, b| a.edge < b.edge), "{buckets:?}");
        for (at, bucket) in buckets.iter().enumerate() {
            let end = buckets.get(at + 1).map(|next| &next.edge);
            let mut expected = Tallies::default();
            self.between(&bucket.edge, end).for_each(|place| expected.put_in(&place));
            assert_eq!(bucket.tallies, expected);
            assert!(!size.is_too_large(&expected), "{expected:?}");
        }
        for chunk in chunks {
            let mut expected = Tallies::default();
            chunk.buckets.iter().for_each(|bucket| expected.merge(&bucket.tallies));
            assert_eq!(chunk.tallies, expected);
        }
        assert!(self.0.last_key_value().is_none_or(|(key, _)| *key <= sums.top));
    }
}

/// Batches of additions and removals, most of them at the newest end, some of them large; chunks
/// and buckets are cut and merged on the way. What is taken back leaves the sums of before.
#[test]
fn sums_follow_any_changes() {
    run_seeds("sums_follow_any_changes", 60, |rng| {
        let size = BucketSize::new(*[1, 2, 4, 7].iter().choose(rng).expect("not empty"));
        let mut sums = Sums::from_buckets(Vec::new(), ItemKey::LOWEST, size);
        let mut model = Model::default();
        for step in 0..60 {
            let before = Model(model.0.clone());
            let count = rng.random_range(0..if step % 10 == 9 { 120 } else { 12 });
            let mut changes: BTreeMap<ItemKey, Change> = BTreeMap::new();
            for _ in 0..count {
                let Some(change) = model.random_change(step / 4, rng) else { continue };
                match changes.remove(change.key()) {
                    // It came and went: a batch does not speak of it.
                    Some(_) => {}
                    None => _ = changes.insert(*change.key(), change),
                }
            }
            let changes: Vec<_> = changes.into_values().collect();
            let changed: Result<_, Infallible> = sums.changed(&changes, &mut |bucket, end, out| {
                out.extend(before.between(&bucket.edge, end));
                Ok(true)
            });
            let Ok(changed) = changed;
            model.assert_equal(&changed, size);
            // Neighbours are merged inside a chunk, so two of them are half full on average.
            let buckets: usize = changed.chunks().iter().map(|chunk| chunk.buckets.len()).sum();
            assert!(buckets <= 2 + 4 * model.0.len() / size.items + 2 * changed.chunks().len());
            let reversed: Vec<_> = changes.iter().map(|change| change.reversed()).collect();
            let huge = BucketSize::new(usize::MAX >> 8);
            before.assert_equal(&changed.changed_roughly(&reversed), huge);
            sums = changed;
        }
        let all: Vec<_> = sums.chunks().iter().flat_map(|chunk| chunk.buckets.clone()).collect();
        model.assert_equal(&Sums::from_buckets(all, sums.top, size), size);
    });
}
