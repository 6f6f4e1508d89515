//! Writing messages.

use crate::bound::Bound;
use crate::limits::VERSION;
use crate::ranges::Body;
use crate::sum::Fingerprint;
use crate::varint;

/// A message in the making. Ranges are written in ascending order; neighbouring skips become one,
/// and a last one is left out (N-10).
#[derive(Clone, Debug)]
pub struct Writer {
    bytes: Vec<u8>,
    /// The time of the last bound, from which the next one counts.
    time: u64,
    /// A skip up to here is due before the next range.
    skip: Option<Bound>,
}

/// A state of a [`Writer`] to which it can go back.
#[derive(Clone, Copy)]
pub(crate) struct Mark {
    len: usize,
    time: u64,
    skip: Option<Bound>,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// A message without ranges.
    pub fn new() -> Self {
        Self { bytes: vec![VERSION], time: 0, skip: None }
    }

    /// Appends a range up to `bound`, which is not below the last one.
    pub fn push(&mut self, bound: &Bound, body: &Body<'_>) {
        match body {
            Body::Skip => self.skip(bound),
            Body::Fingerprint(fingerprint) => self.fingerprint(bound, fingerprint),
            Body::Ids(ids) => {
                self.ids(bound, ids.len());
                ids.iter().for_each(|id| self.id(id));
            }
        }
    }

    /// The message. Bytes `61` alone say that nothing is left to do.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn skip(&mut self, bound: &Bound) {
        self.skip = Some(*bound);
    }

    pub(crate) fn fingerprint(&mut self, bound: &Bound, fingerprint: &Fingerprint) {
        self.head(bound, 1);
        self.bytes.extend_from_slice(&fingerprint.0);
    }

    /// Begins a list; as many calls of [`id`](Self::id) must follow.
    pub(crate) fn ids(&mut self, bound: &Bound, count: usize) {
        self.head(bound, 2);
        varint::push(&mut self.bytes, count as u64);
    }

    pub(crate) fn id(&mut self, id: &[u8; 32]) {
        self.bytes.extend_from_slice(id);
    }

    /// Forgets a skip that is due.
    pub(crate) fn forget_skip(&mut self) {
        self.skip = None;
    }

    /// Bytes so far, without a skip that is due.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { len: self.bytes.len(), time: self.time, skip: self.skip }
    }

    pub(crate) fn back_to(&mut self, mark: Mark) {
        self.bytes.truncate(mark.len);
        self.time = mark.time;
        self.skip = mark.skip;
    }

    fn head(&mut self, bound: &Bound, mode: u8) {
        if let Some(skip) = self.skip.take() {
            self.bound(&skip);
            self.bytes.push(0);
        }
        self.bound(bound);
        self.bytes.push(mode);
    }

    fn bound(&mut self, bound: &Bound) {
        let time = bound.time().0;
        let delta = match bound.is_infinity() {
            true => 0,
            false => time.saturating_sub(self.time) + 1,
        };
        self.time = time;
        varint::push(&mut self.bytes, delta);
        varint::push(&mut self.bytes, bound.prefix().len() as u64);
        self.bytes.extend_from_slice(bound.prefix());
    }
}
