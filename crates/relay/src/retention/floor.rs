//! The time up to which events went because the store was too large, across restarts.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use zeolite_proto::Timestamp;

use crate::replace_file::replace_file;

/// The file's name in the store's directory.
const FILE: &str = "retention.json";

#[derive(Serialize, Deserialize)]
struct Kept {
    /// The bound that was in force.
    bytes_max: u64,
    floor: u64,
}

/// The floor that was written down under this bound, or a larger one. Where the bound was raised
/// since, there is room again. A file that cannot be read costs nothing but events that are taken
/// once more, so that is a warning.
pub(crate) fn read(dir: &Path, bytes_max: Option<u64>) -> Option<Timestamp> {
    let path = dir.join(FILE);
    let kept: Kept = match fs::read_to_string(&path) {
        Ok(json) => match serde_json::from_str(&json) {
            Ok(kept) => kept,
            Err(error) => {
                tracing::warn!(%error, "{} is not usable and ignored", path.display());
                return None;
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(%error, "{} cannot be read", path.display());
            return None;
        }
    };
    bytes_max.filter(|max| *max <= kept.bytes_max).map(|_| Timestamp(kept.floor))
}

/// Writes it down; without one the file goes.
pub(crate) fn write(dir: &Path, bytes_max: u64, floor: Option<Timestamp>) -> io::Result<()> {
    let Some(floor) = floor else {
        return match fs::remove_file(dir.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    };
    let kept = Kept { bytes_max, floor: floor.0 };
    let json = serde_json::to_string(&kept).expect("numbers can be written as JSON");
    replace_file(dir, FILE, &json)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It outlives a restart, but not a larger bound; damage is no obstacle.
    #[test]
    fn a_floor_is_kept_for_its_bound() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        assert_eq!(read(dir, Some(100)), None);
        write(dir, 100, Some(Timestamp(7))).unwrap();
        for (bytes_max, expected) in [
            (Some(100), Some(Timestamp(7))),
            (Some(50), Some(Timestamp(7))),
            (Some(101), None),
            (None, None),
        ] {
            assert_eq!(read(dir, bytes_max), expected, "{bytes_max:?}");
        }
        fs::write(dir.join(FILE), "{").unwrap();
        assert_eq!(read(dir, Some(100)), None);
        write(dir, 100, None).unwrap();
        write(dir, 100, None).unwrap();
        assert!(!dir.join(FILE).exists());
    }
}
