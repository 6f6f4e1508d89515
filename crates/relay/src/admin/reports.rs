//! What users reported (NIP-56) and no administrator decided on.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zeolite_policy::Moderation;
use zeolite_proto::{EventId, EventRef, Filter, Kind, Reader, TagRef, TagStr};
use zeolite_store::{ReadError, Scan, ScanOptions, SliceBudget, Store};

use crate::clock;
use crate::limits::REPORTS_READ_MAX;

const REPORT: Kind = Kind(1984);

/// Reported events that are stored, with the reasons given, from the newest reports.
pub(super) fn unsettled(store: &Store, moderation: &Moderation) -> Result<Value, ReadError> {
    let filter =
        Filter { kinds: Some([REPORT].into()), limit: Some(REPORTS_READ_MAX), ..Filter::default() };
    let options = ScanOptions { default_limit: None, max_limit: None };
    let mut scan = Scan::new(store, &[filter], options, &Reader::of_everything().into())?;
    let mut reported: BTreeMap<EventId, Vec<String>> = BTreeMap::new();
    scan.slice(clock::now(), SliceBudget::UNLIMITED, &mut |_, report| {
        for (id, reason) in targets(report) {
            if !moderation.is_event_settled(&id) {
                let reasons = reported.entry(id).or_default();
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
        true
    })?;
    let mut list = Vec::new();
    for (id, reasons) in reported {
        if store.contains(&id)? {
            list.push(json!({ "id": id.to_string(), "reason": reasons.join(", ") }));
        }
    }
    Ok(list.into())
}

/// The events that a report names, each with the type that it gives.
fn targets(report: EventRef<'_>) -> Vec<(EventId, String)> {
    let named = |tag: TagRef<'_>| {
        let mut strings = tag.strings();
        if strings.next() != Some(TagStr::Text(b"e")) {
            return None;
        }
        let Some(TagStr::Hex(id)) = strings.next() else { return None };
        let reason = strings.next().map(TagStr::to_bytes).unwrap_or_default();
        Some((EventId(*id), String::from_utf8_lossy(&reason).chars().take(40).collect()))
    };
    report.tags().filter_map(named).collect()
}
