//! What `zeolite-mirror` does: a core without sockets and one mirror over it, or a mirror between two
//! relays.

mod report;
mod status_page;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;
use zeolite_mirror::{Ended, Mirror, PairMirror, RelayAddress, Settings};
use zeolite_store::OpenError;

use self::report::Reporter;
use self::status_page::Told;
use crate::clock;
use crate::commands::{Exit, FAILED, environment, output};
use crate::config::{Config, Layers, MirrorConfig, resolve};
use crate::core::Core;
use crate::metrics::Metrics;
use crate::mirror::settings::{connector, login, settings};
use crate::mirror::status::measure;
use crate::mirror::{MirrorStatus, StoreSide};
use crate::mirror_cli::MirrorCli;

/// The exit code of a process that a second signal stops.
const SECOND_SIGNAL: i32 = 130;

/// Resolves the configuration and mirrors. An error is told to the user here.
pub fn main(cli: MirrorCli) -> ExitCode {
    let complain = |error: anyhow::Error| output::say(format_args!("zeolite-mirror: {error:#}"));
    let prepared = cli.mirror(clock::now().0).map_err(anyhow::Error::msg);
    let prepared = prepared.and_then(|mirror| Ok((mirror, configure(&cli)?)));
    let (mirror, config) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            complain(error);
            return Exit::Usage.into();
        }
    };
    match run(&cli, &mirror, &config) {
        Ok(exit) => exit.into(),
        Err(error) => {
            complain(error);
            ExitCode::from(FAILED)
        }
    }
}

/// The relay's configuration, from the same layers.
fn configure(cli: &MirrorCli) -> anyhow::Result<Config> {
    let environment = environment()?;
    let variable = environment.iter().find(|(name, _)| name == "ZEOLITE_CONFIG");
    let path = cli.config.clone().or(variable.map(|(_, path)| path.into()));
    let file = path.map(|path| read(&path)).transpose()?;
    let flags = cli.overrides().map_err(anyhow::Error::msg)?;
    Ok(resolve(Layers { file, environment, flags })?.config)
}

fn read(path: &Path) -> anyhow::Result<(String, String)> {
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    Ok((path.display().to_string(), text))
}

fn run(cli: &MirrorCli, mirror: &MirrorConfig, config: &Config) -> anyhow::Result<Exit> {
    log_to_stderr(config)?;
    match &cli.into {
        Some(into) => into_relay(cli, mirror, into),
        None => into_store(cli, mirror, config),
    }
}

fn log_to_stderr(config: &Config) -> anyhow::Result<()> {
    // What matters is reported; the log is for what does not.
    let is_default = config.log == Config::default().log;
    let directives = if is_default { "warn" } else { &config.log };
    let filter = EnvFilter::try_new(directives).context("the log directives are not usable")?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    Ok(())
}

fn into_store(cli: &MirrorCli, mirror: &MirrorConfig, config: &Config) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let connector = connector(&mirror.address, mirror, cli.ca.as_deref())?;
    let login = login(mirror)?;
    let mut core = Core::start(config, 0).map_err(|error| match error.downcast_ref() {
        Some(OpenError::InUse { .. }) => error.context(
            "the store is held by another process; if that is a zeolite-relay, add the upstream \
             to its configuration as [[mirror]], or mirror through it with --into ws://ADDRESS",
        ),
        _ => error,
    })?;
    let stop = stop_on_signal(core.runtime())?;
    let (status, progress) = MirrorStatus::new(mirror);
    let running = Mirror {
        address: mirror.address.clone(),
        connector,
        login,
        settings: settings_of(cli, mirror),
        local: Arc::new(StoreSide::new(&core, &mirror.address.to_string())),
        progress,
    };
    core.spawn(measure(Arc::clone(&core.hub().metrics), status.clone()));
    let reporter = Reporter::new(cli.json, status.clone(), start);
    core.spawn(reporter.clone().watch());
    if let Some(address) = cli.listen {
        let (metrics, health) = (Arc::clone(core.hub()), Arc::clone(core.hub()));
        let told = Told {
            metrics: Box::new(move || metrics.render_metrics()),
            is_healthy: Box::new(move || health.is_writable()),
            status,
        };
        core.spawn(core.runtime().block_on(status_page::bind(address, told))?);
    }
    let failed = core.failed.clone();
    let ended = core.runtime().block_on(async {
        tokio::select! {
            ended = running.run(stop.clone()) => Some(ended),
            () = failed.cancelled() => None,
        }
    });
    // What was taken in is committed before anything is said about it.
    core.stop();
    let ended = ended.context("a thread panicked; see the log")?;
    reporter.finish(&ended)?;
    conclude(&ended, &stop)
}

/// Between two relays. Nothing is kept here, so there is no core.
fn into_relay(cli: &MirrorCli, mirror: &MirrorConfig, into: &RelayAddress) -> anyhow::Result<Exit> {
    let start = Instant::now();
    let runtime = Runtime::new().context("start the runtime")?;
    let stop = stop_on_signal(&runtime)?;
    let (status, progress) = MirrorStatus::new(mirror);
    let connect = |address: &RelayAddress| {
        let connector = connector(address, mirror, cli.ca.as_deref())?;
        anyhow::Ok((address.clone(), connector))
    };
    let running = PairMirror {
        from: connect(&mirror.address)?,
        into: connect(into)?,
        login: login(mirror)?,
        settings: settings_of(cli, mirror),
        clock: clock::now,
        progress,
    };
    let metrics = Arc::new(Metrics::new());
    runtime.spawn(measure(Arc::clone(&metrics), status.clone()));
    let reporter = Reporter::new(cli.json, status.clone(), start);
    runtime.spawn(reporter.clone().watch());
    if let Some(address) = cli.listen {
        let told = Told {
            metrics: Box::new(move || metrics.render()),
            is_healthy: Box::new(|| true),
            status,
        };
        runtime.spawn(runtime.block_on(status_page::bind(address, told))?);
    }
    let ended = runtime.block_on(running.run(stop.clone()));
    runtime.shutdown_background();
    reporter.finish(&ended)?;
    conclude(&ended, &stop)
}

fn settings_of(cli: &MirrorCli, mirror: &MirrorConfig) -> Settings {
    let once = cli.once || cli.dry_run;
    Settings { once, dry_run: cli.dry_run, ..settings(mirror) }
}

fn conclude(ended: &Ended, stop: &CancellationToken) -> anyhow::Result<Exit> {
    if !ended.outcome.end.is_success() {
        bail!("{}", ended.outcome.end);
    }
    Ok(if stop.is_cancelled() { Exit::Interrupted } else { Exit::Done })
}

/// Is cancelled by the first SIGINT or SIGTERM; a second one ends the process at once.
fn stop_on_signal(runtime: &Runtime) -> anyhow::Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};
    let _context = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt()).context("listen for SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    runtime.spawn(async move {
        let mut next = async || {
            tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        };
        next().await;
        cancelled.cancel();
        next().await;
        std::process::exit(SECOND_SIGNAL);
    });
    Ok(stop)
}
