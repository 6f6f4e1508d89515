//! A running relay: start, timers, stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::accept::accept;
use crate::clock;
use crate::config::Config;
use crate::descriptors;
use crate::http::Site;
use crate::hub::Hub;
use crate::inbox::{AdmitterIn, FanoutIn};
use crate::limits::STOP_MAX;
use crate::settings;
use crate::topology::{self, Threads};

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
    relay.runtime().block_on(async {
        tokio::select! {
            signalled = signal() => signalled,
            () = failed.cancelled() => Ok(()),
        }
    })?;
    tracing::info!("stopping; a second signal stops at once");
    relay.runtime().spawn(async {
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
    runtime: Option<Runtime>,
    threads: Option<Threads>,
    stop_accepting: CancellationToken,
    failed: CancellationToken,
}

/// Opens the store, starts every thread and listens. Port 0 takes any free one.
pub fn start(config: Config) -> anyhow::Result<RunningRelay> {
    let connections_max = descriptors::raise(config.server.connections_max);
    let opened = zeolite_store::open(&config.db, settings::store_options(&config))
        .with_context(|| format!("open the store {}", config.db.display()))?;
    let runtime = runtime(&config).context("start the runtime")?;
    let listener = runtime
        .block_on(TcpListener::bind(config.listen))
        .with_context(|| format!("listen on {}", config.listen))?;
    let addr = listener.local_addr().context("read the listening address")?;
    let threads = topology::build(&config, opened, connections_max)?;
    let stop_accepting = CancellationToken::new();
    spawn_until(&runtime, &stop_accepting, {
        accept(listener, Arc::clone(&threads.hub), Arc::new(Site::new(&config)))
    });
    spawn_until(&runtime, &stop_accepting, every_second(&threads));
    let pinging = ping_silent(Arc::clone(&threads.hub), config.server.ping_s);
    spawn_until(&runtime, &stop_accepting, pinging);
    let failed = threads.failed.clone();
    Ok(RunningRelay {
        addr,
        runtime: Some(runtime),
        threads: Some(threads),
        stop_accepting,
        failed,
    })
}

fn runtime(config: &Config) -> std::io::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = config.server.worker_threads {
        builder.worker_threads(threads);
    }
    builder.thread_name("socket").enable_all().build()
}

fn spawn_until(
    runtime: &Runtime,
    token: &CancellationToken,
    task: impl Future<Output = ()> + Send + 'static,
) {
    let token = token.clone();
    runtime.spawn(async move { token.run_until_cancelled(task).await });
}

/// Expiry, the fan-out's sense of time, and the folding of metrics.
fn every_second(threads: &Threads) -> impl Future<Output = ()> + Send + 'static {
    let (hub, expiry) = (Arc::clone(&threads.hub), threads.expiry.clone());
    async move {
        let start = Instant::now();
        let mut second = interval(Duration::from_secs(1));
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            second.tick().await;
            hub.tell_fanout(FanoutIn::Tick(start.elapsed())).await;
            // A full inbox means that the admitter has better things to do; a second later is
            // soon enough.
            let _later = expiry.try_send(AdmitterIn::Expire(clock::now()));
            hub.metrics.run_upkeep();
        }
    }
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
    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("only stopping takes the runtime")
    }

    /// Stops in order: no new sockets, what is on its way is answered, everyone is told, the
    /// threads end. Takes at most [`STOP_MAX`].
    pub fn stop(mut self) {
        self.stop_now();
    }

    fn stop_now(&mut self) {
        let (Some(runtime), Some(threads)) = (self.runtime.take(), self.threads.take()) else {
            return;
        };
        self.stop_accepting.cancel();
        let Threads { hub, queue, expiry, handles, .. } = threads;
        // The timer needs the runtime around it when it is made.
        let wound_down = async { tokio::time::timeout(STOP_MAX, wind_down(&hub)).await };
        if runtime.block_on(wound_down).is_err() {
            tracing::warn!("some clients or events did not finish in time");
        }
        // With the runtime go the connections, and with them and these the inboxes' last senders.
        runtime.shutdown_timeout(Duration::from_millis(200));
        queue.close();
        hub.lanes.close();
        drop((hub, queue, expiry));
        for handle in handles {
            if handle.join().is_err() {
                tracing::error!("a thread had panicked");
            }
        }
    }
}

impl Drop for RunningRelay {
    fn drop(&mut self) {
        self.stop_now();
    }
}

/// Answers what is on its way, then closes every connection and waits for the last frames.
async fn wind_down(hub: &Hub) {
    hub.registry.stop_reading();
    hub.ingest.idle().await;
    hub.registry.close_all();
    hub.registry.empty().await;
}
