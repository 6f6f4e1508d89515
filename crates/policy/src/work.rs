//! Proof of work (NIP-13).

use zeolite_proto::{EventId, EventRef, TagRef, TagStr};

/// How many leading bits of the id are zero.
pub fn difficulty(id: &EventId) -> u32 {
    let zero_bytes = id.0.iter().take_while(|byte| **byte == 0).count();
    let rest = id.0.get(zero_bytes).map_or(0, |byte| byte.leading_zeros());
    zero_bytes as u32 * 8 + rest
}

/// The difficulty that the event's `nonce` tag promises, if it has one that can be read.
///
/// A miner that aims low and is lucky shows less work than its id suggests (R13-03).
pub fn promised_difficulty(event: EventRef<'_>) -> Option<u32> {
    let nonce = event.tags().find(|tag| tag.name() == Some(TagStr::Text(b"nonce")))?;
    match TagRef::strings(nonce).nth(2)? {
        TagStr::Text(digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
        TagStr::Hex(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R13-01: bits are counted, not hex digits. The first two are the examples of NIP-13.
    #[test]
    fn leading_zero_bits_are_counted() {
        let id = |head: &str| EventId::from_hex(&format!("{head:f<64}")).expect("hex");
        for (head, bits) in [
            ("000006d8", 21),
            ("002f", 10),
            ("8", 0),
            ("7", 1),
            ("00", 8),
            ("0000000000000000000000000000000000000000000000000000000000000001", 255),
            ("0000000000000000000000000000000000000000000000000000000000000000", 256),
        ] {
            assert_eq!(difficulty(&id(head)), bits, "{head}");
        }
    }
}
