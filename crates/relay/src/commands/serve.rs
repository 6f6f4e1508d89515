//! `serve`: the log, and then the server.

use std::io::IsTerminal;

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use zeolite_store::OpenError;

use super::Exit;
use crate::config::Config;

/// Runs the command.
pub(crate) fn run(config: Config) -> anyhow::Result<Exit> {
    let filter = EnvFilter::try_new(&config.log).context("the log directives are not usable")?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    let db = config.db.display().to_string();
    tracing::info!(%db, "starting");
    let served = crate::serve(config);
    served.map(|()| Exit::Done).map_err(|error| match error.downcast_ref() {
        Some(OpenError::InUse { .. }) => {
            error.context("only one process can serve a store: stop that one, or use another --db")
        }
        _ => error,
    })
}
