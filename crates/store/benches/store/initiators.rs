//! Peers that ask: ours, and the negentropy crate's, which finds everything behind a full frame again
//! from the top.

use negentropy::{Id, Negentropy, NegentropyStorageVector};
use zeolite_proto::EventId;
use zeolite_reconcile::{FrameLimit, Initiator, Item, SortedSet};

/// The next message, what only the peer has, and what it lacks.
pub type Told = (Option<Vec<u8>>, Vec<EventId>, Vec<EventId>);

pub trait Asks {
    fn start(&mut self) -> Vec<u8>;
    fn step(&mut self, answer: &[u8]) -> Told;
}

pub struct Ours {
    set: SortedSet,
    initiator: Initiator,
}

impl Ours {
    pub fn new(items: Vec<Item>, frame_bytes: usize) -> Self {
        let initiator = Initiator::new(FrameLimit::new(frame_bytes).unwrap());
        Self { set: SortedSet::new(items), initiator }
    }
}

impl Asks for Ours {
    fn start(&mut self) -> Vec<u8> {
        let Ok(message) = self.initiator.start(&self.set);
        message
    }

    fn step(&mut self, answer: &[u8]) -> Told {
        let step = self.initiator.step(&self.set, answer).unwrap();
        (step.next, step.have, step.need)
    }
}

pub struct Theirs {
    storage: NegentropyStorageVector,
    frame_bytes: u64,
}

impl Theirs {
    pub fn new(items: Vec<Item>, frame_bytes: usize) -> Self {
        let mut storage = NegentropyStorageVector::with_capacity(items.len());
        for item in &items {
            storage.insert(item.time.0, Id::from_byte_array(item.id.0)).unwrap();
        }
        storage.seal().unwrap();
        Self { storage, frame_bytes: frame_bytes as u64 }
    }

    fn peer(&self) -> Negentropy<'_, NegentropyStorageVector> {
        Negentropy::borrowed(&self.storage, self.frame_bytes).unwrap()
    }
}

impl Asks for Theirs {
    fn start(&mut self) -> Vec<u8> {
        self.peer().initiate().unwrap()
    }

    fn step(&mut self, answer: &[u8]) -> Told {
        let (mut have, mut need) = (Vec::new(), Vec::new());
        let mut peer = self.peer();
        peer.set_initiator();
        let next = peer.reconcile_with_ids(answer, &mut have, &mut need).unwrap();
        let ids = |ids: Vec<Id>| ids.iter().map(|id| EventId(id.to_bytes())).collect();
        (next, ids(have), ids(need))
    }
}
