//! From a [`Spec`] to signed events.

use std::sync::Arc;

use zeolite_proto::{Kind, Timestamp};

use crate::corpus::batch::Batch;
use crate::corpus::body::{Body, Head};
use crate::corpus::pipeline::Ordered;
use crate::corpus::signer::Author;
use crate::corpus::spec::Spec;

/// Composed events with zeros for signatures, and for each the number of the key that signs it.
#[derive(Default)]
pub(crate) struct Unsigned {
    pub(crate) batch: Batch,
    pub(crate) keys: Vec<u32>,
}

impl Unsigned {
    fn sign(mut self, keys: &[Author]) -> Batch {
        for (at, &key) in self.keys.iter().enumerate() {
            let id = self.batch.event(at).id;
            keys[key as usize].sign_message(&id, self.batch.message_mut(at));
        }
        self.batch
    }
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
    let keys = make_keys(spec.seed, AUTHORS, threads);
    let source = Composer::new(*spec, Arc::clone(&keys));
    Generator { batches: Ordered::start(threads, source, move |unsigned| unsigned.sign(&keys)) }
}

const AUTHORS: u32 = 10;

struct Composer {
    spec: Spec,
    keys: Arc<[Author]>,
    next: u32,
    body: Body,
}

impl Composer {
    fn new(spec: Spec, keys: Arc<[Author]>) -> Self {
        Self { spec, keys, next: 0, body: Body::default() }
    }
}

impl Iterator for Composer {
    type Item = Unsigned;

    fn next(&mut self) -> Option<Unsigned> {
        let mut unsigned = Unsigned::default();
        while self.next < self.spec.events && !unsigned.batch.is_full() {
            let key = self.next % AUTHORS;
            self.body.clear();
            self.body.content(format!("note {}", self.next).as_bytes());
            let head = Head {
                pubkey: self.keys[key as usize].pubkey(),
                created_at: Timestamp(1_735_689_600 + u64::from(self.next)),
                kind: Kind::TEXT_NOTE,
            };
            unsigned.batch.push_unsigned(head, &mut self.body);
            unsigned.keys.push(key);
            self.next += 1;
        }
        (!unsigned.batch.is_empty()).then_some(unsigned)
    }
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
