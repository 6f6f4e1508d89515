//! A relay without its sockets: the store, every thread, and the timers.
//!
//! What serves clients adds a listener to it; a mirror that owns a directory needs no more than this.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::runtime::Runtime;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use zeolite_store::Store;

use crate::clock;
use crate::config::Config;
use crate::hub::Hub;
use crate::inbox::{AdmitterIn, FanoutIn};
use crate::limits::STOP_MAX;
use crate::settings;
use crate::topology::{self, Threads};

/// A relay's store and threads.
pub(crate) struct Core {
    runtime: Option<Runtime>,
    threads: Option<Threads>,
    /// Cancelled when it stops; what runs on the runtime ends then.
    stopping: CancellationToken,
    /// Cancelled when a thread panics.
    pub(crate) failed: CancellationToken,
}

impl Core {
    /// Opens the store and starts every thread and timer.
    pub(crate) fn start(config: &Config, connections_max: usize) -> anyhow::Result<Self> {
        let opened = zeolite_store::open(&config.db, settings::store_options(config))
            .with_context(|| format!("open the store {}", config.db.display()))?;
        let runtime = runtime(config).context("start the runtime")?;
        let threads = topology::build(config, opened, connections_max)?;
        let failed = threads.failed.clone();
        let stopping = CancellationToken::new();
        let core = Self { runtime: Some(runtime), threads: Some(threads), stopping, failed };
        core.spawn(every_second(core.threads()));
        Ok(core)
    }

    /// Where its tasks run.
    pub(crate) fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("only stopping takes the runtime")
    }

    /// The ways in.
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.threads().hub
    }

    /// To read.
    pub(crate) fn store(&self) -> &Store {
        &self.threads().store
    }

    /// To remove events, and to publish the relay's own.
    pub(crate) fn admitter(&self) -> &crossbeam_channel::Sender<AdmitterIn> {
        &self.threads().admitter
    }

    fn threads(&self) -> &Threads {
        self.threads.as_ref().expect("only stopping takes the threads")
    }

    /// Is cancelled when it stops.
    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Runs a task until it stops.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let token = self.stopping.clone();
        self.runtime().spawn(async move { token.run_until_cancelled(task).await });
    }

    /// Stops in order: what is on its way is answered, everyone is told, the threads end. Takes at
    /// most [`STOP_MAX`].
    pub(crate) fn stop(&mut self) {
        let (Some(runtime), Some(threads)) = (self.runtime.take(), self.threads.take()) else {
            return;
        };
        self.stopping.cancel();
        let Threads { hub, queue, admitter, handles, store, retaining, failed: _ } = threads;
        drop(retaining);
        // The timer needs the runtime around it when it is made.
        let wound_down = async { tokio::time::timeout(STOP_MAX, wind_down(&hub)).await };
        if runtime.block_on(wound_down).is_err() {
            tracing::warn!("some clients or events did not finish in time");
        }
        // With the runtime go the connections, and with them and these the inboxes' last senders.
        runtime.shutdown_timeout(Duration::from_millis(200));
        queue.close();
        hub.lanes.close();
        drop((hub, queue, admitter, store));
        for handle in handles {
            if handle.join().is_err() {
                tracing::error!("a thread had panicked");
            }
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.stop();
    }
}

fn runtime(config: &Config) -> std::io::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = config.server.worker_threads {
        builder.worker_threads(threads);
    }
    builder.thread_name("socket").enable_all().build()
}

/// Expiry, the fan-out's sense of time, the end of idle reconciliations, the folding of metrics, and
/// a look at what is mapped.
fn every_second(threads: &Threads) -> impl Future<Output = ()> + Send + 'static {
    let (hub, admitter) = (Arc::clone(&threads.hub), threads.admitter.clone());
    let store = threads.store.clone();
    async move {
        let start = Instant::now();
        let mut second = interval(Duration::from_secs(1));
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            second.tick().await;
            hub.tell_fanout(FanoutIn::Tick(start.elapsed())).await;
            // A full inbox means that the admitter has better things to do; a second later is
            // soon enough.
            let _later = admitter.try_send(AdmitterIn::Expire(clock::now()));
            hub.reconciliations.end_idle(Instant::now());
            hub.clients.sweep();
            hub.metrics.run_upkeep();
            let store = store.clone();
            _ = tokio::task::spawn_blocking(move || store.bound_mapped()).await;
        }
    }
}

/// Answers what is on its way, then closes every connection and waits for the last frames.
async fn wind_down(hub: &Hub) {
    hub.registry.stop_reading();
    hub.ingest.idle().await;
    hub.registry.close_all();
    hub.registry.empty().await;
}
