//! What a manifest says, counted while a corpus is written.

use std::collections::BTreeMap;

use zeolite_proto::{EventRef, Timestamp};

use crate::corpus::effective::EffectiveBuilder;
use crate::corpus::fingerprint::{Fingerprint, FingerprintBuilder};
use crate::corpus::manifest::{Effective, Manifest};
use crate::corpus::plan::{BASE_TIME, span_s};
use crate::corpus::spec::Spec;

/// Counts the events of a corpus in corpus order.
pub(crate) struct Tally {
    now: Timestamp,
    events: u64,
    bytes: u64,
    kinds: BTreeMap<u16, u64>,
    times: Option<(u64, u64)>,
    fingerprint: FingerprintBuilder,
    effective: EffectiveBuilder,
}

impl Tally {
    /// For an effective set at this time.
    pub(crate) fn new(now: Timestamp) -> Self {
        Self {
            now,
            events: 0,
            bytes: 0,
            kinds: BTreeMap::new(),
            times: None,
            fingerprint: FingerprintBuilder::default(),
            effective: EffectiveBuilder::new(now, &[]),
        }
    }

    /// Counts the next event, whose line takes so many bytes.
    pub(crate) fn add(&mut self, event: EventRef<'_>, line_bytes: usize) {
        self.events += 1;
        self.bytes += line_bytes as u64;
        *self.kinds.entry(event.kind().0).or_default() += 1;
        let time = event.created_at().0;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        self.fingerprint.push(&event.id());
        self.effective.add(event);
    }

    /// The fingerprint of what was counted.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        self.fingerprint.clone().finish()
    }

    /// How many events were counted.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// The manifest of a generated corpus.
    pub(crate) fn generated(self, spec: &Spec) -> Manifest {
        Manifest {
            base_time: BASE_TIME,
            span_s: span_s(spec.events).into(),
            seed: Some(spec.seed),
            ..self.manifest("generated", spec.shape.name(), BTreeMap::new())
        }
    }

    /// The manifest of an imported one.
    pub(crate) fn imported(self, source: &str, dropped: BTreeMap<String, u64>) -> Manifest {
        self.manifest(source, "import", dropped)
    }

    fn manifest(self, source: &str, generator: &str, dropped: BTreeMap<String, u64>) -> Manifest {
        let set = self.effective.finish();
        let (first, last) = self.times.unwrap_or_default();
        Manifest {
            source: source.to_owned(),
            generator: generator.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: None,
            base_time: first,
            span_s: last - first + 1,
            events: self.events,
            bytes: self.bytes,
            fingerprint: self.fingerprint.finish(),
            kinds: self.kinds,
            effective: Effective {
                now: self.now.0,
                events: set.len() as u64,
                fingerprint: set.fingerprint(),
            },
            dropped,
        }
    }
}
