//! Small files beside the store, replaced in one step.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Gives a file of `dir` this content: after a crash it is the old one or the new one.
pub(crate) fn replace_file(dir: &Path, name: &str, content: &str) -> io::Result<()> {
    let fresh = dir.join(format!("{name}.new"));
    let mut file = File::create(&fresh)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, dir.join(name))?;
    File::open(dir)?.sync_all()
}
