//! `zeolite-load corpus ...`

use std::process::ExitCode;

use crate::cli::CorpusCommand;

/// Runs one of the corpus commands.
pub(crate) fn run(command: CorpusCommand) -> anyhow::Result<ExitCode> {
    anyhow::bail!("{command:?}: is not there yet")
}
