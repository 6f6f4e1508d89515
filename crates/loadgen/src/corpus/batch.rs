//! Events of a corpus in memory, as they go onto the wire.

use zeolite_proto::{EventId, Kind, PubKey, Timestamp};

use crate::corpus::body::{Head, MESSAGE_HEAD, MESSAGE_TAIL};
use crate::corpus::generate::generate;
use crate::corpus::spec::Spec;

/// Events in a batch of a stream, at most: enough that handing it from thread to thread costs nothing.
const BATCH_EVENTS: usize = 1024;
/// Bytes after which a batch of a stream takes no further event; a contact list has 140 kB.
const BATCH_BYTES: usize = 2 << 20;

/// One event of a corpus.
#[derive(Clone, Copy, Debug)]
pub struct CorpusEvent<'a> {
    /// The id.
    pub id: EventId,
    /// The author.
    pub pubkey: PubKey,
    /// The time.
    pub created_at: Timestamp,
    /// The kind.
    pub kind: Kind,
    message: &'a [u8],
}

impl<'a> CorpusEvent<'a> {
    pub(crate) fn new(
        id: EventId,
        pubkey: PubKey,
        created_at: Timestamp,
        kind: Kind,
        message: &'a [u8],
    ) -> Self {
        Self { id, pubkey, created_at, kind, message }
    }

    /// The message `["EVENT",{...}]`.
    pub fn message(&self) -> &'a [u8] {
        self.message
    }

    /// The event alone, as JSON: a line of the corpus without its end.
    pub fn json(&self) -> &'a [u8] {
        &self.message[MESSAGE_HEAD.len()..self.message.len() - MESSAGE_TAIL.len()]
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: EventId,
    pubkey: PubKey,
    created_at: Timestamp,
    kind: Kind,
    /// End of the message in the text; it starts where the one before ends.
    end: usize,
}

/// Some events in corpus order: their messages lie one behind the other in one text.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    text: Vec<u8>,
    entries: Vec<Entry>,
}

impl Batch {
    /// How many events.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of all messages.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// The event at this place.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn event(&self, at: usize) -> CorpusEvent<'_> {
        let Entry { id, pubkey, created_at, kind, end } = self.entries[at];
        CorpusEvent { id, pubkey, created_at, kind, message: &self.text[self.start(at)..end] }
    }

    fn start(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(0, |before| self.entries[before].end)
    }

    /// All events in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = CorpusEvent<'_>> + Clone {
        (0..self.len()).map(|at| self.event(at))
    }

    /// Whether it is as large as batches of a stream are.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= BATCH_EVENTS || self.bytes() >= BATCH_BYTES
    }

    /// Adds a copy of an event.
    pub fn push(&mut self, event: CorpusEvent<'_>) {
        self.text.extend_from_slice(event.message);
        let CorpusEvent { id, pubkey, created_at, kind, .. } = event;
        self.end_event(id, Head { pubkey, created_at, kind });
    }

    /// Adds an event from its JSON.
    pub(crate) fn push_json(&mut self, (id, head): (EventId, Head), json: &[u8]) {
        for part in [MESSAGE_HEAD, json, MESSAGE_TAIL] {
            self.text.extend_from_slice(part);
        }
        self.end_event(id, head);
    }

    /// Adds an event from its message.
    pub(crate) fn push_message(&mut self, (id, head): (EventId, Head), message: &[u8]) {
        self.text.extend_from_slice(message);
        self.end_event(id, head);
    }

    fn end_event(&mut self, id: EventId, head: Head) {
        let Head { pubkey, created_at, kind } = head;
        self.entries.push(Entry { id, pubkey, created_at, kind, end: self.text.len() });
    }

    /// The message at this place, for its signature to be filled in.
    pub(crate) fn message_mut(&mut self, at: usize) -> &mut [u8] {
        let (start, end) = (self.start(at), self.entries[at].end);
        &mut self.text[start..end]
    }
}

/// A whole corpus in memory: about 2.4 kB for each event of `network-v1`. Larger ones are streamed.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    batches: Vec<Batch>,
    /// Number of the first event of each batch.
    firsts: Vec<usize>,
    len: usize,
}

impl Corpus {
    /// Generates on all cores.
    pub fn generate(spec: &Spec) -> Self {
        generate(spec, 0).collect()
    }

    /// How many events.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The event at this place in corpus order.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn event(&self, at: usize) -> CorpusEvent<'_> {
        let batch = self.firsts.partition_point(|&first| first <= at) - 1;
        self.batches[batch].event(at - self.firsts[batch])
    }

    /// All events in corpus order.
    pub fn iter(&self) -> impl Iterator<Item = CorpusEvent<'_>> + Clone {
        self.batches.iter().flat_map(Batch::iter)
    }
}

impl Extend<Batch> for Corpus {
    fn extend<T: IntoIterator<Item = Batch>>(&mut self, batches: T) {
        for batch in batches.into_iter().filter(|batch| !batch.is_empty()) {
            self.firsts.push(self.len);
            self.len += batch.len();
            self.batches.push(batch);
        }
    }
}

impl FromIterator<Batch> for Corpus {
    fn from_iter<T: IntoIterator<Item = Batch>>(batches: T) -> Self {
        let mut corpus = Self::default();
        corpus.extend(batches);
        corpus
    }
}
