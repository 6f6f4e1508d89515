//! The plain way to answer.

use zeolite_proto::{EventId, Filter};

use crate::corpus::Corpus;

/// The ids of the newest `limit` matches. The corpus is in the order of its times, which are all
/// different.
pub fn newest(corpus: &Corpus, filter: &Filter) -> Vec<EventId> {
    let matches = corpus.events.iter().rev().map(|e| e.view()).filter(|e| filter.matches(*e));
    let limit = filter.limit.unwrap_or(u64::MAX);
    matches.take(limit as usize).map(|event| event.id()).collect()
}
