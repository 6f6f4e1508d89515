//! Small files beside the store, replaced in one step.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Gives a file of `dir` this content: after a crash it is the old one or the new one.
pub(crate) fn replace_file(dir: &Path, name: &str, content: &str) -> io::Result<()> {
    replace(dir, name, content, 0o666)
}

/// The same for a secret: nobody but its owner can read it at any moment.
pub(crate) fn replace_private_file(dir: &Path, name: &str, content: &str) -> io::Result<()> {
    replace(dir, name, content, 0o600)
}

fn replace(dir: &Path, name: &str, content: &str, mode: u32) -> io::Result<()> {
    let fresh = dir.join(format!("{name}.new"));
    // One that a crash left behind keeps its mode.
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(mode).open(&fresh)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, dir.join(name))?;
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A secret is never in a file that others may read, whatever a crash left in its place.
    #[test]
    fn private_files_are_private_from_the_start() {
        let dir = tempfile::tempdir().expect("a directory can be made");
        replace_file(dir.path(), "key.new", "of a crash").expect("a file can be written");
        for content in ["one", "two"] {
            replace_private_file(dir.path(), "key", content).expect("a file can be written");
            let path = dir.path().join("key");
            assert_eq!(fs::read_to_string(&path).expect("it is there"), content);
            let mode = path.metadata().expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            assert_eq!(fs::read_dir(dir.path()).expect("it is there").count(), 1);
        }
    }
}
