//! Opening the store for a command, and what to say when that fails.

use zeolite_store::{Admitter, Committer, OpenError, Store};

use crate::config::Config;
use crate::settings::store_options;

/// Opens the store to read, also beside a relay that runs on it.
pub(crate) fn open_to_read(config: &Config) -> anyhow::Result<Store> {
    Store::open_read_only(&config.db).map_err(|error| {
        let advice = match &error {
            OpenError::Format { found, expected } if found < expected => {
                "; start the relay on it once, which brings it up to date"
            }
            _ => "",
        };
        anyhow::anyhow!("cannot read the store: {error}{advice}")
    })
}

/// Opens the store to write. Fails if another process holds it, naming that process and `instead`,
/// the way to the same end beside it.
pub(crate) fn open_to_write(
    config: &Config,
    instead: &str,
) -> anyhow::Result<(Store, Admitter, Committer)> {
    zeolite_store::open(&config.db, store_options(config)).map_err(|error| {
        let advice = match &error {
            OpenError::InUse { .. } => format!("; {instead}"),
            _ => String::new(),
        };
        anyhow::anyhow!("cannot write to the store: {error}{advice}")
    })
}
