//! Events whose ids are chosen and not the hashes of their contents, so that ties can be made.

use zeolite_proto::{Event, EventRef, PubKey};

/// Builds the record of such an event.
pub(crate) fn forged(
    id: [u8; 32],
    author: u8,
    time: u64,
    kind: u16,
    tags: &[(&str, &str)],
) -> Event {
    let mut section = Vec::new();
    for (name, value) in tags {
        // A key in hex is stored as the bytes it spells.
        let key = PubKey::from_hex(value);
        let (value, is_hex) = match &key {
            Ok(key) => (&key.0[..], 1),
            Err(_) => (value.as_bytes(), 0),
        };
        assert!(name.len() + value.len() < 60, "one-byte varints only");
        section.push((name.len() + value.len() + 2) as u8);
        for (bytes, is_hex) in [(name.as_bytes(), 0), (value, is_hex)] {
            section.push((bytes.len() << 1 | is_hex) as u8);
            section.extend_from_slice(bytes);
        }
    }
    let mut record = id.to_vec();
    record.extend_from_slice(&[author; 32]);
    record.extend_from_slice(&[0; 64]);
    record.extend_from_slice(&time.to_be_bytes());
    record.extend_from_slice(&kind.to_be_bytes());
    record.push(u8::from(tags.iter().any(|(name, _)| *name == "expiration")));
    record.extend_from_slice(&(section.len() as u32).to_be_bytes());
    record.extend_from_slice(&section);
    Event::from_stored(EventRef::new(&record).expect("well formed"))
}
