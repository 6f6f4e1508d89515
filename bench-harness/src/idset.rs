//! The ids in an export, for comparison: 32 bytes each, sorted.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context;

/// Sorted ids without doubles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdSet(Vec<[u8; 32]>);

impl IdSet {
    /// Of the events in an NDJSON file, one a line.
    pub fn of_file(path: &Path) -> anyhow::Result<Self> {
        let mut lines = BufReader::with_capacity(1 << 20, File::open(path)?);
        let (mut ids, mut line) = (Vec::new(), Vec::new());
        while lines.read_until(b'\n', &mut line)? > 0 {
            if !line.trim_ascii().is_empty() {
                ids.push(
                    id_of(&line).with_context(|| format!("line {} has no id", ids.len() + 1))?,
                );
            }
            line.clear();
        }
        Ok(Self::of(ids))
    }

    /// Of ids in any order.
    pub fn of(mut ids: Vec<[u8; 32]>) -> Self {
        ids.sort_unstable();
        ids.dedup();
        Self(ids)
    }

    /// How many.
    pub fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that the other does not have.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let alone = self.0.iter().filter(|id| other.0.binary_search(id).is_err());
        Self(alone.copied().collect())
    }

    /// How many of these the other does not have.
    pub fn missing_in(&self, other: &Self) -> u64 {
        self.0.iter().filter(|id| other.0.binary_search(id).is_err()).count() as u64
    }
}

/// The id of an event's JSON. The text `"id":"` cannot occur inside a string, where its quotation
/// marks are escaped, and an event has no other object in it.
fn id_of(line: &[u8]) -> Option<[u8; 32]> {
    const NAME: &[u8] = b"\"id\"";
    let after = line.windows(NAME.len()).enumerate().filter(|(_, window)| *window == NAME);
    after.map(|(at, _)| &line[at + NAME.len()..]).find_map(value)
}

/// The 64 hex digits of `:"..."`; a tag called `id` is followed by no colon.
fn value(rest: &[u8]) -> Option<[u8; 32]> {
    let rest = rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let digits = rest.strip_prefix(b"\"")?.get(..64)?;
    let mut id = [0; 32];
    for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<u8>) {
        assert_eq!(id_of(line.as_bytes()), expected.map(|byte| [byte; 32]), "{line}");
    }

    #[test]
    fn ids_are_found_among_decoys() {
        let id = "07".repeat(32);
        let other = "08".repeat(32);
        check(&format!("{{\"id\":\"{id}\"}}"), Some(7));
        check(&format!("{{\"kind\":1, \"id\" : \"{id}\"}}"), Some(7));
        check(&format!("{{\"tags\":[[\"id\",\"{other}\"]],\"id\":\"{id}\"}}"), Some(7));
        check(&format!("{{\"content\":\"\\\"id\\\":\\\"{other}\",\"id\":\"{id}\"}}"), Some(7));
        check("{\"id\":\"07\"}", None);
        check("[]", None);
    }

    #[test]
    fn differences_are_counted() {
        let set = |bytes: &[u8]| IdSet::of(bytes.iter().map(|byte| [*byte; 32]).collect());
        let (a, b) = (set(&[3, 1, 2, 1]), set(&[2, 3, 4, 5]));
        assert_eq!((a.len(), a.missing_in(&b), b.missing_in(&a)), (3, 1, 2));
        assert_eq!(set(&[]).missing_in(&a), 0);
    }
}
