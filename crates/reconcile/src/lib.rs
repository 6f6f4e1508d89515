//! Range-based set reconciliation: the negentropy protocol, version 1, of NIP-77.
//!
//! Two peers hold sets of (created_at, id). They exchange fingerprints of ranges, split those that
//! differ, and list the ids of small ones, until the initiator knows what each side lacks.

#![forbid(unsafe_code)]
