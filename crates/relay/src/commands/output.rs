//! Writing to the user: results to standard output, all else to standard error.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

/// Writes one text and its line end to standard output.
pub(crate) fn print(text: impl Display) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    until_closed(writeln!(out, "{text}").and_then(|()| out.flush()))?;
    Ok(())
}

/// Says something to the user. That standard error is closed stops nobody.
pub(crate) fn say(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Says what is wrong.
pub(crate) fn complain(error: impl Display) {
    say(format_args!("zeolite-relay: {error}"));
}

/// Whether the reader of our output still reads: a pipe into `head` that closes is an end like
/// any other, and no error.
pub(crate) fn until_closed(written: io::Result<()>) -> io::Result<bool> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
    }
}
