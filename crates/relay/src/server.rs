//! A running relay: start, serve, stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use zeolite_proto::normalise_relay_url;

use crate::accept::accept;
use crate::admin::{self, Admin};
use crate::config::Config;
use crate::core::Core;
use crate::descriptors;
use crate::herald::{self, Herald};
use crate::http::Site;
use crate::hub::Hub;
use crate::login::LoginDesk;
use crate::mirror::{MirrorStatus, fleet};
use crate::settings;

/// Runs a relay until SIGTERM or SIGINT, then stops it in order. A second signal ends the process
/// at once.
///
/// # Errors
///
/// If the store or the address cannot be opened, or if a bug stops one of the relay's threads.
pub fn serve(config: Config) -> anyhow::Result<()> {
    let relay = start(config)?;
    tracing::info!(addr = %relay.addr, "listening on ws://{}", relay.addr);
    let failed = relay.failed.clone();
    relay.core.runtime().block_on(async {
        tokio::select! {
            signalled = signal() => signalled,
            () = failed.cancelled() => Ok(()),
        }
    })?;
    tracing::info!("stopping; a second signal stops at once");
    relay.core.runtime().spawn(async {
        if signal().await.is_ok() {
            std::process::exit(1);
        }
    });
    relay.stop();
    anyhow::ensure!(!failed.is_cancelled(), "a thread of the relay panicked; see the log");
    tracing::info!("stopped");
    Ok(())
}

async fn signal() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("listen for SIGTERM")?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted.context("listen for SIGINT"),
    }
}

/// A relay that serves.
pub struct RunningRelay {
    /// Where it listens.
    pub addr: SocketAddr,
    core: Core,
    failed: CancellationToken,
}

/// Opens the store, starts every thread and listens. Port 0 takes any free one.
pub fn start(config: Config) -> anyhow::Result<RunningRelay> {
    let connections_max = descriptors::raise(config.server.connections_max);
    let core = Core::start(&config, connections_max)?;
    let listener = core
        .runtime()
        .block_on(TcpListener::bind(config.listen))
        .with_context(|| format!("listen on {}", config.listen))?;
    let addr = listener.local_addr().context("read the listening address")?;
    let mirrors = fleet::start(&core, &config.mirrors)?;
    let herald = Arc::new(Herald::open(&config.db, &core)?);
    core.spawn(herald::keep_published(Arc::clone(&herald)));
    admin::remove_banned(&core);
    let ping_s = config.server.ping_s;
    let site = site(config, addr, &core, mirrors, herald);
    core.spawn(accept(listener, Arc::clone(core.hub()), Arc::new(site)));
    core.spawn(ping_silent(Arc::clone(core.hub()), ping_s));
    let failed = core.failed.clone();
    Ok(RunningRelay { addr, core, failed })
}

/// What HTTP answers with.
fn site(
    config: Config,
    addr: SocketAddr,
    core: &Core,
    mirrors: Vec<MirrorStatus>,
    herald: Arc<Herald>,
) -> Site {
    let (hub, store, admitter) =
        (Arc::clone(core.hub()), core.store().clone(), core.admitter().clone());
    let own_urls = own_urls(&config, addr);
    let admin = Admin::new(&config, own_urls.clone(), hub, store, admitter, Arc::clone(&herald));
    let terms = settings::login_terms(&config, own_urls);
    let logins = LoginDesk::new(terms, settings::gates(&config));
    let moderation = Arc::clone(&core.hub().policy.current().moderation);
    Site::new(config, &moderation, mirrors, admin, logins, herald)
}

/// The names that orders and logins may call this relay by: those of the configuration. As long as
/// there are none, the address itself, and what it is called on this machine.
fn own_urls(config: &Config, addr: SocketAddr) -> Vec<String> {
    let urls = config.relay.urls.iter().filter_map(|url| normalise_relay_url(url));
    let urls: Vec<_> = urls.collect();
    if !urls.is_empty() {
        return urls;
    }
    let mut names = vec![format!("ws://{addr}")];
    if addr.ip().is_loopback() || addr.ip().is_unspecified() {
        let port = addr.port();
        names.extend(["localhost", "127.0.0.1", "[::1]"].map(|host| format!("ws://{host}:{port}")));
    }
    names
}

/// Looks at each connection once in `period_s`, at some of them every second.
async fn ping_silent(hub: Arc<Hub>, period_s: u64) {
    let mut second = interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for nth in 0.. {
        second.tick().await;
        hub.registry.ping_silent(nth, period_s.max(1));
    }
}

impl RunningRelay {
    /// Stops in order: no new sockets, what is on its way is answered, everyone is told, the
    /// threads end. Takes at most [`STOP_MAX`](crate::limits::STOP_MAX).
    pub fn stop(mut self) {
        self.core.stop();
    }
}
