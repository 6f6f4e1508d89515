//! How much of the store's file lies in this process's memory.
//!
//! LMDB reads through a map of its file. What was read stays mapped until the system wants the
//! memory for something else, and counts as this process's own, although it is the system's cache of
//! the file. So that it does not look, and is not limited, as if it were: above a bound the whole map
//! is let go. The pages stay in the system's cache, from where the next read maps them again, 16 at a
//! time and in about a microsecond.

use std::fs;

use crate::env::{Env, Tables, a_mapped_byte, let_go_of_map};
use crate::limits::PAGE_BYTES;

/// The map of a store, as far as this process can let go of it.
pub(crate) struct Mapped {
    /// Where the file is mapped; `None` where the system does not say.
    place: Option<Place>,
    bytes_max: usize,
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) start: usize,
    pub(crate) bytes: usize,
}

impl Mapped {
    /// Finds the map of an open environment.
    pub(crate) fn find(env: &Env, tables: &Tables, bytes_max: usize) -> Self {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let place = a_mapped_byte(env, tables)
            .and_then(|byte| maps.lines().find_map(|line| place_around(line, byte)));
        Self { place, bytes_max }
    }

    /// Lets go of the map if more than the bound is in memory. True if it did.
    pub(crate) fn keep_within(&self, env: &Env) -> bool {
        let Some(place) = self.place else { return false };
        let is_above = file_bytes_in_memory().is_some_and(|bytes| bytes > self.bytes_max);
        is_above && let_go_of_map(env, place)
    }
}

/// The range in a line of `/proc/self/maps`, if `byte` lies in it and it is a shared map of a file,
/// for reading only, from its beginning.
fn place_around(line: &str, byte: usize) -> Option<Place> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let (start, end) = (address(start)?, address(end)?);
    let is_ours = words.next()? == "r--s" && words.next()?.bytes().all(|digit| digit == b'0');
    (is_ours && (start..end).contains(&byte)).then(|| Place { start, bytes: end - start })
}

/// What this process has mapped of files, in memory.
fn file_bytes_in_memory() -> Option<usize> {
    let counts = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = counts.split(' ').nth(2)?.parse().ok()?;
    Some(pages * PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_shared_map_of_a_whole_file_is_found() {
        let line = "7f1000000000-7f2000000000 r--s 00000000 fe:00 1234    /a/data.mdb";
        let place = Place { start: 0x7f10_0000_0000, bytes: 0x10_0000_0000 };
        assert_eq!(place_around(line, place.start + 5), Some(place));
        assert_eq!(place_around(line, place.start - 1), None);
        assert_eq!(place_around(line, place.start + place.bytes), None);
        for other in [
            line.replace("r--s", "rw-s"),
            line.replace("r--s", "r--p"),
            line.replace("00000000 fe", "00001000 fe"),
            String::new(),
            "heap".to_owned(),
        ] {
            assert_eq!(place_around(&other, place.start + 5), None, "{other}");
        }
    }
}
