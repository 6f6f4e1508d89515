//! What is in a corpus: kinds, sizes, tags, authors, times, deletions, expiry.

use std::collections::{BTreeMap, HashMap};

use hdrhistogram::Histogram;
use serde::Serialize;
use zeolite_proto::{Address, EventId, EventRef, Kind, KindClass, PubKey, TagStr, Timestamp};

/// Counts what is in a corpus, given its events in corpus order.
///
/// Memory: about 100 bytes for each event.
#[derive(Debug)]
pub struct Census {
    now: Timestamp,
    counts: Counts,
    sizes: Histogram<u64>,
    tags: Histogram<u64>,
    /// Where each event stands, and whose it is.
    places: HashMap<EventId, (u64, u32)>,
    authors: HashMap<PubKey, u32>,
    /// How many versions each address has.
    versions: HashMap<Address, u32>,
    /// (place, who asked, target).
    kills: Vec<(u64, u32, EventId)>,
    last: (Timestamp, EventId),
    second: u64,
}

/// The numbers of a [`Census`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// How many events.
    pub events: u64,
    /// Bytes of their JSON, without line ends.
    pub bytes: u64,
    /// By kind: how many events, and bytes of their JSON.
    pub kinds: BTreeMap<u16, (u64, u64)>,
    /// Distinct public keys that sign.
    pub authors: u64,
    /// The earliest time.
    pub first: u64,
    /// The latest time.
    pub last: u64,
    /// Events in the second of the one before them.
    pub ties: u64,
    /// Most events in one second.
    pub second_max: u64,
    /// Events that do not stand behind the one before them by `(created_at, id)`.
    pub out_of_order: u64,
    /// Bytes of JSON: percentiles 50, 90, 99, 99.9 and the largest.
    pub size_percentiles: [u64; 5],
    /// Tags of all names.
    pub tags: u64,
    /// Tags that filters can find: one-letter names with a value.
    pub letter_tags: u64,
    /// Tags of one event: percentiles 50, 90, 99, 99.9 and the most.
    pub tag_percentiles: [u64; 5],
    /// The longest value of a one-letter tag, in bytes.
    pub letter_value_max: u64,
    /// Addresses of replaceable and addressable events.
    pub addresses: u64,
    /// Events that are versions of them.
    pub versions: u64,
    /// Most versions of one address.
    pub versions_max: u64,
    /// Ephemeral events.
    pub ephemeral: u64,
    /// Events with an `expiration` that has passed.
    pub expired: u64,
    /// Events with an `expiration` to come.
    pub expiring: u64,
    /// Requests to vanish.
    pub vanishes: u64,
    /// Deletion requests.
    pub deletions: u64,
    /// Targets of deletions by id whose event stands before the request.
    pub targets_before: u64,
    /// Targets by id whose event stands behind the request.
    pub targets_after: u64,
    /// Targets by id that are somebody else's, gift wraps to the requester among them.
    pub targets_foreign: u64,
    /// Targets by id that are not in the corpus.
    pub targets_absent: u64,
    /// Targets by address.
    pub targets_by_address: u64,
    /// Events whose content holds a character above U+007F.
    pub beyond_ascii: u64,
}

/// Sizes are counted to three digits, up to more than any frame holds.
fn histogram() -> Histogram<u64> {
    let mut histogram = Histogram::new(3).expect("three digits are allowed");
    histogram.auto(true);
    histogram
}

fn record(histogram: &mut Histogram<u64>, value: u64) {
    histogram.record(value).expect("the histogram grows");
}

fn percentiles(histogram: &Histogram<u64>) -> [u64; 5] {
    [0.5, 0.9, 0.99, 0.999, 1.0].map(|quantile| histogram.value_at_quantile(quantile))
}

impl Census {
    /// Nothing is counted yet; `now` decides what has expired.
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            counts: Counts::default(),
            sizes: histogram(),
            tags: histogram(),
            places: HashMap::new(),
            authors: HashMap::new(),
            versions: HashMap::new(),
            kills: Vec::new(),
            last: (Timestamp(0), EventId([0; 32])),
            second: 0,
        }
    }

    /// Counts the next event, whose JSON has so many bytes.
    pub fn add(&mut self, event: EventRef<'_>, json_bytes: usize) {
        let bytes = json_bytes as u64;
        self.add_order(event);
        let counts = &mut self.counts;
        counts.events += 1;
        counts.bytes += bytes;
        let kind = counts.kinds.entry(event.kind().0).or_default();
        *kind = (kind.0 + 1, kind.1 + bytes);
        counts.beyond_ascii += u64::from(!event.content().is_ascii());
        record(&mut self.sizes, bytes);
        let author = number(&mut self.authors, event.pubkey());
        self.places.insert(event.id(), (self.counts.events, author));
        self.add_tags(event);
        self.add_class(event);
        if event.kind() == Kind::DELETION {
            self.add_deletion(event, author);
        }
    }

    fn add_order(&mut self, event: EventRef<'_>) {
        let this = (event.created_at(), event.id());
        let counts = &mut self.counts;
        if counts.events == 0 {
            counts.first = this.0.0;
        } else if this <= self.last {
            counts.out_of_order += 1;
        }
        let is_tied = counts.events > 0 && this.0 == self.last.0;
        self.second = if is_tied { self.second + 1 } else { 1 };
        counts.ties += u64::from(is_tied);
        counts.second_max = counts.second_max.max(self.second);
        counts.first = counts.first.min(this.0.0);
        counts.last = counts.last.max(this.0.0);
        self.last = this;
    }

    fn add_tags(&mut self, event: EventRef<'_>) {
        let tags = event.tags().count() as u64;
        record(&mut self.tags, tags);
        self.counts.tags += tags;
        for (_, value) in event.letter_tags() {
            self.counts.letter_tags += 1;
            let bytes = match value {
                TagStr::Hex(_) => 64,
                TagStr::Text(text) => text.len() as u64,
            };
            self.counts.letter_value_max = self.counts.letter_value_max.max(bytes);
        }
    }

    fn add_class(&mut self, event: EventRef<'_>) {
        self.counts.ephemeral += u64::from(event.kind().class() == KindClass::Ephemeral);
        self.counts.vanishes += u64::from(event.kind() == Kind::VANISH);
        if let Some(address) = event.address() {
            self.counts.versions += 1;
            let versions = self.versions.entry(address).or_default();
            *versions += 1;
            self.counts.versions_max = self.counts.versions_max.max((*versions).into());
        }
        if event.expiration().is_some() {
            let is_expired = event.is_expired(self.now);
            *(if is_expired { &mut self.counts.expired } else { &mut self.counts.expiring }) += 1;
        }
    }

    fn add_deletion(&mut self, request: EventRef<'_>, author: u32) {
        self.counts.deletions += 1;
        for (letter, value) in request.letter_tags() {
            match (letter, value) {
                (b'e', TagStr::Hex(id)) => {
                    self.kills.push((self.counts.events, author, EventId(*id)));
                }
                (b'a', value) if Address::parse(value).is_some() => {
                    self.counts.targets_by_address += 1;
                }
                _ => {}
            }
        }
    }

    /// The numbers, once all events were counted.
    pub fn finish(self) -> Counts {
        let mut counts = self.counts;
        for (place, asked_by, target) in self.kills {
            let count = match self.places.get(&target) {
                None => &mut counts.targets_absent,
                Some((_, author)) if *author != asked_by => &mut counts.targets_foreign,
                Some((target_place, _)) if *target_place < place => &mut counts.targets_before,
                Some(_) => &mut counts.targets_after,
            };
            *count += 1;
        }
        counts.authors = self.authors.len() as u64;
        counts.addresses = self.versions.len() as u64;
        counts.size_percentiles = percentiles(&self.sizes);
        counts.tag_percentiles = percentiles(&self.tags);
        counts
    }
}

fn number(authors: &mut HashMap<PubKey, u32>, key: PubKey) -> u32 {
    let next = authors.len() as u32;
    *authors.entry(key).or_insert(next)
}
