//! Well-formed events from their canonical pieces, without any code of the crate under test.

#![allow(dead_code, reason = "each test crate uses a part of this module")]

use sha2::{Digest, Sha256};

/// A public key; nothing in this crate looks at the curve.
pub(crate) const PUBKEY: &str = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The id of an event whose `tags` and `content` are given as canonical JSON.
pub(crate) fn id_of(created_at: u64, kind: u16, tags: &str, content: &str) -> String {
    let preimage = format!("[0,\"{PUBKEY}\",{created_at},{kind},{tags},{content}]");
    hex(&Sha256::digest(preimage))
}

/// The event in the form that this crate serves.
pub(crate) fn event(created_at: u64, kind: u16, tags: &str, content: &str) -> String {
    let id = id_of(created_at, kind, tags, content);
    spelled(&id, &created_at.to_string(), &kind.to_string(), tags, content)
}

/// An event whose members are spelled as given, whether they fit together or not.
pub(crate) fn spelled(id: &str, created_at: &str, kind: &str, tags: &str, content: &str) -> String {
    let sig = "5a".repeat(64);
    format!(
        "{{\"id\":\"{id}\",\"pubkey\":\"{PUBKEY}\",\"created_at\":{created_at},\"kind\":{kind},\
         \"tags\":{tags},\"content\":{content},\"sig\":\"{sig}\"}}"
    )
}
