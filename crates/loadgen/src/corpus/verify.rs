//! Checks a file of events: ids, signatures, order, and the manifest beside it.

use std::collections::BTreeMap;
use std::path::Path;

use zeolite_proto::{EventId, Timestamp};

use crate::corpus::check::{Checked, Fault};
use crate::corpus::fingerprint::Fingerprint;
use crate::corpus::manifest::Manifest;
use crate::corpus::stored::CorpusError;
use crate::corpus::tally::Tally;

/// What a check found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Good events.
    pub events: u64,
    /// Over their ids in the order of the file.
    pub fingerprint: Fingerprint,
    /// Texts that are no good events.
    pub faults: BTreeMap<Fault, u64>,
    /// Events that do not stand behind the one before them by `(created_at, id)`; repeats count.
    pub out_of_order: u64,
    /// Where the file differs from the manifest beside it; `None` without a manifest.
    pub differences: Option<Vec<String>>,
}

impl Findings {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        let is_as_said = self.differences.as_ref().is_none_or(Vec::is_empty);
        self.faults.is_empty() && self.out_of_order == 0 && is_as_said
    }
}

/// Checks a file on so many threads (0: as many as there are cores). `progress` is told how many
/// texts were checked.
pub fn verify(
    path: &Path,
    threads: usize,
    mut progress: impl FnMut(u64),
) -> Result<Findings, CorpusError> {
    let manifest = match Manifest::beside(path) {
        Ok(manifest) => Some(manifest),
        Err(CorpusError::NoManifest(_)) => None,
        // Standard input has no neighbours.
        Err(CorpusError::Io { .. }) if !path.exists() => None,
        Err(error) => return Err(error),
    };
    let now = manifest.as_ref().map_or(0, |manifest| manifest.effective.now);
    let mut tally = Tally::new(Timestamp(now));
    let (mut faults, mut out_of_order, mut read) = (BTreeMap::new(), 0, 0);
    let mut last: Option<(Timestamp, EventId)> = None;
    for batch in Checked::open(path, threads)? {
        for event in batch? {
            read += 1;
            match event {
                Err(fault) => *faults.entry(fault).or_default() += 1,
                Ok(event) => {
                    let view = event.view();
                    let place = Some((view.created_at(), view.id()));
                    out_of_order += u64::from(place <= last);
                    last = place;
                    tally.add(view, event.json().len() + 1);
                }
            }
        }
        progress(read);
    }
    let (events, fingerprint) = (tally.events(), tally.fingerprint());
    let differences = manifest.map(|manifest| differences(tally, &manifest));
    Ok(Findings { events, fingerprint, faults, out_of_order, differences })
}

fn differences(tally: Tally, manifest: &Manifest) -> Vec<String> {
    let found = tally.imported("", BTreeMap::new());
    let mut differences = Vec::new();
    let mut compare = |what: &str, found: String, expected: String| {
        if found != expected {
            differences.push(format!("{what}: {found}, the manifest says {expected}"));
        }
    };
    compare("events", found.events.to_string(), manifest.events.to_string());
    compare("bytes", found.bytes.to_string(), manifest.bytes.to_string());
    compare("fingerprint", found.fingerprint.to_string(), manifest.fingerprint.to_string());
    compare("kinds", format!("{:?}", found.kinds), format!("{:?}", manifest.kinds));
    compare("effective", format!("{:?}", found.effective), format!("{:?}", manifest.effective));
    differences
}
