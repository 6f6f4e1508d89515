//! `backup` and `compact`: copies of the store.

use std::path::Path;

use anyhow::Context;

use super::store::{open_to_read, open_to_write};
use super::{Exit, output};
use crate::cli::OutArgs;
use crate::config::Config;

/// Copies the store as of this moment, beside whoever writes to it.
pub(crate) fn backup(args: &OutArgs, config: &Config) -> anyhow::Result<Exit> {
    let bytes = open_to_read(config)?.backup(&args.out).context("the backup failed")?;
    say(&args.out, bytes)
}

/// Copies the store without its free pages. The copy is meant to replace the store, so nobody may
/// write to the store meanwhile.
pub(crate) fn compact(args: &OutArgs, config: &Config) -> anyhow::Result<Exit> {
    // Opening to write makes a store where there is none; a mistyped path shall not.
    drop(open_to_read(config)?);
    let instead = "stop it first, since what it stores meanwhile would miss in the copy; \
                   backup copies beside a running relay";
    let (store, _admitter, mut committer) = open_to_write(config, instead)?;
    committer.flush_all()?;
    let bytes = store.compact(&args.out).context("compacting failed")?;
    say(&args.out, bytes)
}

fn say(out: &Path, bytes: u64) -> anyhow::Result<Exit> {
    output::say(format_args!("{bytes} bytes in {}", out.display()));
    Ok(Exit::Done)
}
