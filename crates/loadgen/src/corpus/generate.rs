//! From a [`Spec`] to signed events.

use std::sync::Arc;

use crate::corpus::batch::Batch;
use crate::corpus::classic::{self, Classic};
use crate::corpus::compose::{Composer, Unsigned};
use crate::corpus::network::{self, Network};
use crate::corpus::pipeline::Ordered;
use crate::corpus::signer::Author;
use crate::corpus::spec::{Shape, Spec};

fn sign(mut unsigned: Unsigned, keys: &[Author]) -> Batch {
    for (at, &key) in unsigned.keys.iter().enumerate() {
        let id = unsigned.batch.event(at).id;
        keys[key as usize].sign_message(&id, unsigned.batch.message_mut(at));
    }
    unsigned.batch
}

/// A corpus being generated, batch by batch in corpus order.
pub struct Generator {
    batches: Ordered<Batch>,
}

impl Iterator for Generator {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        self.batches.next()
    }
}

/// Generates a corpus in corpus order. One thread composes the events, since they refer to one
/// another; `threads` of them sign (0: as many as there are cores). The bytes do not depend on it.
///
/// Memory: the keys of all authors, the ids that later events may refer to, and a few batches.
pub fn generate(spec: &Spec, threads: usize) -> Generator {
    let (composer, keys) = compose(spec, threads);
    Generator { batches: Ordered::start(threads, composer, move |batch| sign(batch, &keys)) }
}

/// The events without their signatures, and the keys that sign them.
pub(crate) fn compose(spec: &Spec, threads: usize) -> (Composition, Arc<[Author]>) {
    let Spec { shape, events, seed } = *spec;
    let keys_count = match shape {
        Shape::ClassicV1 => classic::authors(events),
        Shape::NetworkV1 => network::keys(events),
    };
    let keys = make_keys(seed, keys_count, threads);
    let composition: Composition = match shape {
        Shape::ClassicV1 => {
            let story = Classic::new(events, seed, Arc::clone(&keys));
            Box::new(Composer::new(story, seed, Arc::clone(&keys)))
        }
        Shape::NetworkV1 => {
            let story = Network::new(events, seed, Arc::clone(&keys));
            Box::new(Composer::new(story, seed, Arc::clone(&keys)))
        }
    };
    (composition, keys)
}

/// Batches in corpus order.
pub(crate) type Composition = Box<dyn Iterator<Item = Unsigned> + Send>;

/// Numbers of authors whose keys are made in one go.
const KEYS_CHUNK: u32 = 1024;

/// The keys of the authors `0..count`, made on all cores.
fn make_keys(seed: u64, count: u32, threads: usize) -> Arc<[Author]> {
    let chunks = (0..count).step_by(KEYS_CHUNK as usize);
    let ranges = chunks.map(move |first| first..count.min(first + KEYS_CHUNK));
    let make = move |range: std::ops::Range<u32>| -> Vec<Author> {
        range.map(|number| Author::new(seed, number.into())).collect()
    };
    Ordered::start(threads, ranges, make).flatten().collect()
}
