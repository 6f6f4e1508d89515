//! From a [`Spec`] to signed events.

use std::sync::Arc;

use crate::corpus::batch::Batch;
use crate::corpus::classic::{self, Classic};
use crate::corpus::compose::{Composer, Story, Unsigned};
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
    let Spec { shape, events, seed } = *spec;
    match shape {
        Shape::ClassicV1 => {
            let keys = make_keys(seed, classic::authors(events), threads);
            run(Classic::new(events, seed, Arc::clone(&keys)), seed, keys, threads)
        }
        Shape::NetworkV1 => {
            let keys = make_keys(seed, network::keys(events), threads);
            run(Network::new(events, seed, Arc::clone(&keys)), seed, keys, threads)
        }
    }
}

fn run<S: Story + Send + 'static>(
    story: S,
    seed: u64,
    keys: Arc<[Author]>,
    threads: usize,
) -> Generator {
    let composer = Composer::new(story, seed, Arc::clone(&keys));
    Generator { batches: Ordered::start(threads, composer, move |batch| sign(batch, &keys)) }
}

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
