//! Peers behind one face: ours, the negentropy crate, and one with a fault that is in the wild.

use std::convert::Infallible;

use negentropy::{Id, Negentropy, NegentropyStorageVector};
use zeolite_proto::EventId;
use zeolite_reconcile::{
    Body, Bound, Edge, FrameLimit, Initiator, Item, Ranges, Set, SortedSet, Writer, respond,
};

/// The next message if there is one, what we have, and what we need.
pub(crate) type Told = (Option<Vec<u8>>, Vec<EventId>, Vec<EventId>);

pub(crate) trait Initiates {
    fn start(&mut self) -> Vec<u8>;
    fn step(&mut self, answer: &[u8]) -> Told;
}

pub(crate) trait Responds {
    fn respond(&self, message: &[u8]) -> Vec<u8>;
}

pub(crate) fn limit(frame_bytes_max: usize) -> FrameLimit {
    FrameLimit::new(frame_bytes_max).expect("a limit that carries something")
}

/// Our side, in either role.
pub(crate) struct Ours<S = SortedSet> {
    pub(crate) set: S,
    frame_bytes_max: usize,
    initiator: Initiator,
}

impl Ours {
    pub(crate) fn new(items: &[Item], frame_bytes_max: usize) -> Self {
        Self::over(items.iter().copied().collect(), frame_bytes_max)
    }
}

impl<S> Ours<S> {
    pub(crate) fn over(set: S, frame_bytes_max: usize) -> Self {
        Self { set, frame_bytes_max, initiator: Initiator::new(limit(frame_bytes_max)) }
    }
}

impl<S: Set<Error = Infallible>> Initiates for Ours<S> {
    fn start(&mut self) -> Vec<u8> {
        self.initiator.start(&self.set).expect("memory can be read")
    }

    fn step(&mut self, answer: &[u8]) -> Told {
        let step = self.initiator.step(&self.set, answer).expect("a good answer");
        if let (Some(next), 1..) = (&step.next, self.frame_bytes_max) {
            assert!(next.len() <= self.frame_bytes_max, "{} bytes", next.len());
        }
        (step.next, step.have, step.need)
    }
}

impl<S: Set<Error = Infallible>> Responds for Ours<S> {
    fn respond(&self, message: &[u8]) -> Vec<u8> {
        let answer = respond(&self.set, message, limit(self.frame_bytes_max));
        let answer = answer.expect("a good message");
        assert!(self.frame_bytes_max == 0 || answer.len() <= self.frame_bytes_max);
        answer
    }
}

/// The negentropy crate in either role.
pub(crate) struct Theirs {
    storage: NegentropyStorageVector,
    frame_bytes_max: usize,
}

impl Theirs {
    pub(crate) fn new(items: &[Item], frame_bytes_max: usize) -> Self {
        let mut storage = NegentropyStorageVector::with_capacity(items.len());
        for item in items {
            let id = Id::from_byte_array(item.id.0);
            storage.insert(item.time.0, id).expect("not sealed");
        }
        storage.seal().expect("not sealed");
        Self { storage, frame_bytes_max }
    }

    fn peer(&self) -> Negentropy<'_, NegentropyStorageVector> {
        let limit = self.frame_bytes_max as u64;
        Negentropy::borrowed(&self.storage, limit).expect("an allowed limit")
    }
}

impl Initiates for Theirs {
    fn start(&mut self) -> Vec<u8> {
        self.peer().initiate().expect("a first message")
    }

    fn step(&mut self, answer: &[u8]) -> Told {
        let (mut have, mut need) = (Vec::new(), Vec::new());
        let mut peer = self.peer();
        peer.set_initiator();
        let next = peer.reconcile_with_ids(answer, &mut have, &mut need).expect("a good answer");
        let ids = |ids: Vec<Id>| ids.iter().map(|id| EventId(id.to_bytes())).collect();
        (next, ids(have), ids(need))
    }
}

impl Responds for Theirs {
    fn respond(&self, message: &[u8]) -> Vec<u8> {
        self.peer().reconcile(message).expect("a good message")
    }
}

/// A peer with the fault of N-16: when a split does not fit the frame, the fingerprint that stands
/// for the rest covers only what lies behind the split range.
pub(crate) struct CutShort {
    items: Vec<Item>,
    frame_bytes_max: usize,
    set: SortedSet,
}

impl CutShort {
    pub(crate) fn new(items: &[Item], frame_bytes_max: usize) -> Self {
        let set = items.iter().copied().collect();
        Self { items: items.to_vec(), frame_bytes_max, set }
    }

    fn edge(&self, bound: &Bound) -> Edge {
        self.set.seek(&Edge::START, bound).expect("memory can be read")
    }

    fn ids(&self, lower: &Edge, upper: &Edge) -> Vec<[u8; 32]> {
        self.items[lower.index..upper.index].iter().map(|item| item.id.0).collect()
    }

    fn split(&self, out: &mut Writer, lower: &Edge, upper: &Edge) {
        let count = lower.count_to(upper);
        if count < 32 {
            return out.push(&upper.bound, &Body::Ids(&self.ids(lower, upper)));
        }
        let mut last = *lower;
        for bucket in 1..=16 {
            let at = lower.index + bucket * (count / 16) + bucket.min(count % 16);
            let edge = match at == upper.index {
                true => *upper,
                false => self.edge(&Bound::between(&self.items[at - 1], &self.items[at])),
            };
            out.push(&edge.bound, &Body::Fingerprint(last.fingerprint_to(&edge)));
            last = edge;
        }
    }

    /// Lists what fits, and says where the list ends.
    fn list(&self, out: &mut Writer, lower: &Edge, upper: &Edge) -> Edge {
        let room = (self.frame_bytes_max - 200).saturating_sub(bytes(out)) / 32 + 1;
        let mut end = *upper;
        if lower.count_to(upper) > room {
            end = self.edge(&Bound::at_item(&self.items[lower.index + room]));
        }
        out.push(&end.bound, &Body::Ids(&self.ids(lower, &end)));
        end
    }

    /// Writes the answer; lists are compared when `found` is given, and answered otherwise.
    fn turn(
        &self,
        message: &[u8],
        mut found: Option<&mut (Vec<EventId>, Vec<EventId>)>,
    ) -> Vec<u8> {
        let mut out = Writer::new();
        let mut lower = Edge::START;
        for range in Ranges::new(message).expect("a good message") {
            let mut upper = self.edge(&range.bound);
            let before = out.clone();
            match (range.body, &mut found) {
                (Body::Fingerprint(theirs), _) if theirs != lower.fingerprint_to(&upper) => {
                    self.split(&mut out, &lower, &upper);
                    if bytes(&out) > self.frame_bytes_max - 200 {
                        out = before;
                        return self.close(out, &upper);
                    }
                }
                (Body::Ids(_), None) => upper = self.list(&mut out, &lower, &upper),
                (Body::Ids(theirs), Some((have, need))) => {
                    let ours = self.ids(&lower, &upper);
                    let only = |left: &[[u8; 32]], right: &[[u8; 32]]| {
                        let only = left.iter().filter(|id| !right.contains(id));
                        only.map(|id| EventId(*id)).collect::<Vec<_>>()
                    };
                    have.extend(only(&ours, theirs));
                    need.extend(only(theirs, &ours));
                    out.push(&range.bound, &Body::Skip);
                }
                _ => out.push(&range.bound, &Body::Skip),
            }
            if bytes(&out) > self.frame_bytes_max - 200 {
                return self.close(out, &upper);
            }
            lower = upper;
        }
        out.finish()
    }

    /// The fault: `from` need not be where the last range of `out` ends.
    fn close(&self, mut out: Writer, from: &Edge) -> Vec<u8> {
        let end = self.edge(&Bound::INFINITY);
        out.push(&end.bound, &Body::Fingerprint(from.fingerprint_to(&end)));
        out.finish()
    }
}

fn bytes(out: &Writer) -> usize {
    out.clone().finish().len()
}

impl Initiates for CutShort {
    fn start(&mut self) -> Vec<u8> {
        let mut out = Writer::new();
        self.split(&mut out, &Edge::START, &self.edge(&Bound::INFINITY));
        out.finish()
    }

    fn step(&mut self, answer: &[u8]) -> Told {
        let mut found = (Vec::new(), Vec::new());
        let next = self.turn(answer, Some(&mut found));
        ((next.len() > 1).then_some(next), found.0, found.1)
    }
}

impl Responds for CutShort {
    fn respond(&self, message: &[u8]) -> Vec<u8> {
        self.turn(message, None)
    }
}
