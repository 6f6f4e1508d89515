//! The mirrors that a relay runs beside serving.

use std::sync::Arc;

use tokio::task::JoinHandle;
use zeolite_mirror::Mirror;

use super::local::StoreSide;
use super::settings::{connector, login, settings};
use super::status::{MirrorStatus, measure};
use crate::config::MirrorConfig;
use crate::core::Core;

/// Starts every configured mirror. They end with the core.
pub(crate) fn start(core: &Core, mirrors: &[MirrorConfig]) -> anyhow::Result<Vec<MirrorStatus>> {
    mirrors.iter().map(|mirror| start_one(core, mirror)).collect()
}

fn start_one(core: &Core, config: &MirrorConfig) -> anyhow::Result<MirrorStatus> {
    let (status, progress) = MirrorStatus::new(config);
    let mirror = Mirror {
        address: config.address.clone(),
        connector: connector(&config.address, config, None)?,
        settings: settings(config),
        login: login(config)?,
        local: Arc::new(StoreSide::new(core, &config.address.to_string())),
        progress,
    };
    let _tracked: JoinHandle<()> = core.runtime().spawn({
        let (name, stopping) = (config.name.clone(), core.stopping().clone());
        async move {
            tracing::info!(mirror = %name, "mirroring begins");
            let ended = mirror.run(stopping.clone()).await;
            if !stopping.is_cancelled() {
                tracing::error!(mirror = %name, end = %ended.outcome.end, "a mirror has ended");
            }
        }
    });
    core.spawn(measure(Arc::clone(&core.hub().metrics), status.clone()));
    core.spawn(log_changes(status.clone()));
    Ok(status)
}

/// Logs when a mirror changes its phase.
async fn log_changes(mut status: MirrorStatus) {
    let mut last = status.progress.borrow_and_update().phase;
    while status.progress.changed().await.is_ok() {
        let progress = status.progress.borrow_and_update().clone();
        if progress.phase != last {
            last = progress.phase;
            let trouble = progress.trouble.as_deref().unwrap_or("none");
            tracing::info!(
                mirror = %status.name, phase = last.name(), trouble,
                stored = progress.counts.stored, sent = progress.counts.sent, "mirror"
            );
        }
    }
}
