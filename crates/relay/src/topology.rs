//! Every thread and every channel of a running relay, on one screen.
//!
//! ```text
//! tokio runtime                          plain threads
//! -------------                          -------------
//! accept -> http -> conn::run (writer)
//!                    conn::read --------- Queue -----> verifier x cores
//!                      |   |                              | (plugin, if there is one)
//!                      |   |                              | AdmitterIn
//!                      |   |                              v
//!                      |   |           retention -->  admitter --CommitterIn--> committer
//!                      |   +-- FanoutIn --> fanout <-FanoutIn-+                      |
//!                      |                      |  ^                                   |
//!                      +------ Lanes ---> query workers x cores                      |
//!                                             |                                      |
//!              Outbox <--- results -----------+--- live events (fanout) --- OK ------+
//! ```

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context;
use crossbeam_channel::bounded;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use zeolite_schnorr::Verifier;
use zeolite_store::{Admitter, Committer, Store};

use crate::config::Config;
use crate::fanout::{EphemeralCount, Fanout};
use crate::fanout_thread;
use crate::hub::Hub;
use crate::inbox::AdmitterIn;
use crate::ingest::{self, AdmitterThread, Ingest, Next, Queue, Verifiers};
use crate::limits::{
    ADMITTER_INBOX_SLICES, COMMITTER_INBOX_BATCHES, FANOUT_INBOX_MESSAGES, PLUGIN_INBOX_SLICES,
    VERIFIER_KEYS_MAX,
};
use crate::metrics::Metrics;
use crate::neg::Reconciliations;
use crate::plugin::PluginThread;
use crate::policy_cell::PolicyCell;
use crate::query::{self, Lanes};
use crate::registry::Registry;
use crate::retention::RetentionThread;
use crate::settings;

/// The threads of a running relay, and the ways in.
pub(crate) struct Threads {
    pub(crate) hub: Arc<Hub>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) store: Store,
    /// To the admitter, for the expiry timer, administrators and the relay's own events.
    pub(crate) admitter: crossbeam_channel::Sender<AdmitterIn>,
    pub(crate) handles: Vec<JoinHandle<()>>,
    /// Dropping it ends retention.
    pub(crate) retaining: Option<crossbeam_channel::Sender<()>>,
    /// Cancelled when one of the threads panics.
    pub(crate) failed: CancellationToken,
}

/// Builds and starts everything but the sockets.
pub(crate) fn build(
    config: &Config,
    (store, admitter, committer): (Store, Admitter, Committer),
    connections_max: usize,
) -> anyhow::Result<Threads> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let query_workers = config.query.worker_threads.unwrap_or(cores);
    let cursor = store.snapshot().context("read the store")?.ceiling();

    let metrics = Arc::new(Metrics::new());
    metrics.stored_bytes.set(committer.stored_bytes() as f64);
    metrics.archived_events.set(committer.archived_events() as f64);
    let policy = Arc::new(PolicyCell::open(&config.policy.rules, &config.db)?);
    let writable = Arc::new(AtomicBool::new(true));
    let queue = Arc::new(Queue::new(cores));
    let lanes = Arc::new(Lanes::default());
    let (to_admitter, admitter_inbox) = bounded(ADMITTER_INBOX_SLICES);
    let (to_committer, committer_inbox) = bounded(COMMITTER_INBOX_BATCHES);
    let (to_fanout, fanout_inbox) = mpsc::channel(FANOUT_INBOX_MESSAGES);
    let (newest, newest_seen) = watch::channel(cursor);

    let ephemerals = EphemeralCount::default();
    let hub = Arc::new(Hub {
        session: Arc::new(settings::session_limits(config)),
        ingest: Ingest::new(
            Arc::clone(&queue),
            config.server.ingest_events_max,
            Arc::clone(&metrics),
        ),
        lanes: Arc::clone(&lanes),
        reconciliations: Reconciliations::new(settings::neg_bounds(config), Arc::clone(&metrics)),
        fanout: to_fanout.clone(),
        ephemerals: ephemerals.clone(),
        newest: newest_seen,
        clients: settings::clients(config),
        registry: Registry::new(connections_max, settings::outbox_bounds(config)),
        policy: Arc::clone(&policy),
        metrics: Arc::clone(&metrics),
        writable: Arc::clone(&writable),
    });
    let verifiers = Arc::new(Verifiers {
        queue: Arc::clone(&queue),
        store: store.clone(),
        verifier: Verifier::new(VERIFIER_KEYS_MAX),
        deletions: Default::default(),
    });
    let admitting = AdmitterThread {
        admitter,
        policy,
        verifiers: Arc::clone(&verifiers),
        fanout: to_fanout.clone(),
        ephemerals,
        committer: to_committer,
    };
    let bounds = settings::fanout_bounds(config, connections_max, cores);
    let fanout = Fanout::new(bounds, settings::gates(config), cursor);

    let mut threads = Spawner::default();
    let next = match &config.policy.plugin {
        None => Next::Admitter(to_admitter.clone()),
        Some(command) => {
            let (to_plugin, plugin_inbox) = bounded(PLUGIN_INBOX_SLICES);
            let plugin_settings = settings::plugin(config);
            let (admitter, metrics) = (to_admitter.clone(), Arc::clone(&metrics));
            let plugin = PluginThread::new(command, plugin_settings, admitter, metrics);
            threads.start("plugin", move || plugin.run(&plugin_inbox))?;
            Next::Plugin(to_plugin)
        }
    };
    for at in 0..cores {
        let (verifiers, next) = (Arc::clone(&verifiers), next.clone());
        threads.start(format!("verifier-{at}"), move || verifiers.run(&next))?;
    }
    drop(next);
    for at in 0..query_workers {
        let (lanes, fanout) = (Arc::clone(&lanes), to_fanout.clone());
        let (desk, metrics) = (settings::desk(config, &store), Arc::clone(&metrics));
        threads
            .start(format!("query-{at}"), move || query::work(&lanes, &fanout, desk, &metrics))?;
    }
    let retaining = retention(config, &store, &hub, &queue, &to_admitter)
        .map(|(retention, retaining)| {
            threads.start("retention", move || retention.run()).map(|()| retaining)
        })
        .transpose()?;
    threads.start("admitter", move || admitting.run(&admitter_inbox))?;
    threads.start("committer", {
        let metrics = Arc::clone(&metrics);
        move || ingest::commit(committer, &committer_inbox, &metrics, &writable)
    })?;
    threads.start("fanout", move || {
        fanout_thread::run(fanout, fanout_inbox, &newest, &lanes, &metrics)
    })?;
    let Spawner { handles, failed } = threads;
    Ok(Threads { hub, queue, store, admitter: to_admitter, handles, retaining, failed })
}

/// What removes what is not kept, and the end of it. Nothing if everything is kept.
fn retention(
    config: &Config,
    store: &Store,
    hub: &Hub,
    queue: &Arc<Queue>,
    admitter: &crossbeam_channel::Sender<AdmitterIn>,
) -> Option<(RetentionThread, crossbeam_channel::Sender<()>)> {
    let retention = &config.policy.rules.retention;
    let metrics = hub.metrics.retention(retention.rules.len());
    if retention.keeps_all() {
        return None;
    }
    let (retaining, stop) = bounded(0);
    let thread = RetentionThread {
        store: store.clone(),
        policy: Arc::clone(&hub.policy),
        queue: Arc::clone(queue),
        admitter: admitter.clone(),
        metrics,
        dir: config.db.clone(),
        period: Duration::from_secs(config.store.retention_s),
        stop,
    };
    Some((thread, retaining))
}

#[derive(Default)]
struct Spawner {
    handles: Vec<JoinHandle<()>>,
    failed: CancellationToken,
}

impl Spawner {
    fn start(
        &mut self,
        name: impl Into<String>,
        body: impl FnOnce() + Send + 'static,
    ) -> io::Result<()> {
        let alarm = Alarm(self.failed.clone());
        let thread = thread::Builder::new().name(name.into());
        self.handles.push(thread.spawn(move || {
            let _alarm = alarm;
            body();
        })?);
        Ok(())
    }
}

/// A thread that panics is a bug that leaves the relay without a limb: it has to stop.
struct Alarm(CancellationToken);

impl Drop for Alarm {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.cancel();
        }
    }
}
