//! What an operator can watch, in Prometheus' text form.
//!
//! Every series exists from the start and has labels from a fixed set only, so that no client can
//! make one (case 67). Events are counted by what became of them: `received` counts all of them,
//! on arrival; the verdicts are counted when they are told.

use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use zeolite_mirror::Counts;
use zeolite_policy::PluginFault;
use zeolite_proto::Prefix;

use crate::fanout::FanoutStats;
use crate::ingest::Verdict;
use crate::mirror::status::outcomes;
use crate::retention::Cause;

/// Samples older than this leave the quantiles.
const QUANTILE_WINDOW: Duration = Duration::from_secs(60);

/// The relay's counters. Every process part holds the same ones.
pub(crate) struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    pub(crate) events_received: Counter,
    verdicts: Verdicts,
    pub(crate) connections: Gauge,
    pub(crate) connections_refused: Counter,
    /// Keys that clients have shown to be theirs.
    pub(crate) logins: Counter,
    /// Subscriptions that sessions hold.
    pub(crate) subscriptions: Gauge,
    /// Subscriptions that the fan-out feeds: those past their `EOSE`.
    pub(crate) live_subscriptions: Gauge,
    pub(crate) received_bytes: Counter,
    pub(crate) sent_bytes: Counter,
    pub(crate) queries: Counter,
    pub(crate) counts: Counter,
    pub(crate) replays: Counter,
    /// Messages of reconciliations.
    pub(crate) reconciles: Counter,
    /// Open reconciliations.
    pub(crate) reconciliations: Gauge,
    /// Bytes of the sets that were built for them.
    pub(crate) reconcile_set_bytes: Gauge,
    /// Ids in the answers.
    pub(crate) reconcile_items: Counter,
    pub(crate) reconcile_seconds: Histogram,
    pub(crate) neg_errors: NegErrors,
    pub(crate) query_slice_seconds: Histogram,
    pub(crate) commit_seconds: Histogram,
    pub(crate) commit_events: Histogram,
    /// What stored events take.
    pub(crate) stored_bytes: Gauge,
    pub(crate) archived_events: Gauge,
    pub(crate) policy_seconds: Histogram,
    policy_faults: PolicyFaults,
    pub(crate) over_budget: OverBudget,
    live: Live,
}

/// What clients wanted beyond what one address may spend.
pub(crate) struct OverBudget {
    pub(crate) events: Counter,
    pub(crate) queries: Counter,
    pub(crate) bytes: Counter,
}

struct PolicyFaults {
    late: Counter,
    died: Counter,
    garbage: Counter,
    unasked: Counter,
}

struct Verdicts {
    stored: Counter,
    ephemeral: Counter,
    duplicate: Counter,
    superseded: Counter,
    deleted: Counter,
    expired: Counter,
    invalid: Counter,
    rejected: Counter,
    shadowed: Counter,
    full: Counter,
    failed: Counter,
}

/// The series of one mirror. Its name comes from the configuration, so they are as many as the
/// operator asked for.
pub(crate) struct MirrorMetrics {
    pub(crate) connected: Gauge,
    pub(crate) live: Gauge,
    pub(crate) waiting_down: Gauge,
    pub(crate) waiting_up: Gauge,
    pub(crate) connections: Counter,
    pub(crate) rounds: Counter,
    events: Vec<(&'static str, Counter)>,
}

impl MirrorMetrics {
    /// The counter of what became of events.
    pub(crate) fn outcome(&self, outcome: &str) -> &Counter {
        let found = self.events.iter().find(|(name, _)| *name == outcome);
        &found.expect("the outcomes are the same that the series were made of").1
    }
}

/// What retention removed. The rules come from the configuration, so the series are as many as the
/// operator asked for.
pub(crate) struct RetentionMetrics {
    rules: Vec<Counter>,
    size: Counter,
    archive: Counter,
}

impl RetentionMetrics {
    /// The counter of what went for this cause.
    pub(crate) fn removed(&self, cause: Cause) -> &Counter {
        match cause {
            Cause::Rule(at) => &self.rules[at],
            Cause::Size => &self.size,
            Cause::Archive => &self.archive,
        }
    }
}

/// Reconciliations that ended with a `NEG-ERR` from a worker or for want of messages.
pub(crate) struct NegErrors {
    pub(crate) invalid: Counter,
    pub(crate) too_many: Counter,
    pub(crate) memory: Counter,
    pub(crate) unsettled: Counter,
    pub(crate) idle: Counter,
    pub(crate) failed: Counter,
}

struct Live {
    delivered: Counter,
    lagged: Counter,
    ended: Counter,
    ephemeral_dropped: Counter,
}

impl Metrics {
    /// Counters of their own, so that several relays can live in one process.
    pub(crate) fn new() -> Self {
        let builder = PrometheusBuilder::new().set_bucket_duration(QUANTILE_WINDOW);
        let recorder = builder.expect("the window is not zero").build_recorder();
        let new = Registrar(&recorder);
        let verdict = |verdict| new.labelled("zeolite_events_total", "verdict", verdict);
        let live = |outcome| new.labelled("zeolite_live_total", "outcome", outcome);
        let job = |kind| new.labelled("zeolite_jobs_total", "kind", kind);
        let fault = |fault| new.labelled("zeolite_policy_faults_total", "fault", fault);
        let over_budget = |what| new.labelled("zeolite_over_budget_total", "what", what);
        let neg_error = |reason| new.labelled("zeolite_reconcile_errors_total", "reason", reason);
        Self {
            events_received: new.counter("zeolite_events_received_total"),
            verdicts: Verdicts {
                stored: verdict("stored"),
                ephemeral: verdict("ephemeral"),
                duplicate: verdict("duplicate"),
                superseded: verdict("superseded"),
                deleted: verdict("deleted"),
                expired: verdict("expired"),
                invalid: verdict("invalid"),
                rejected: verdict("rejected"),
                shadowed: verdict("shadowed"),
                full: verdict("full"),
                failed: verdict("failed"),
            },
            connections: new.gauge("zeolite_connections"),
            connections_refused: new.counter("zeolite_connections_refused_total"),
            logins: new.counter("zeolite_logins_total"),
            subscriptions: new.gauge("zeolite_subscriptions"),
            live_subscriptions: new.gauge("zeolite_live_subscriptions"),
            received_bytes: new.counter("zeolite_received_bytes_total"),
            sent_bytes: new.counter("zeolite_sent_bytes_total"),
            queries: job("query"),
            counts: job("count"),
            replays: job("replay"),
            reconciles: job("reconcile"),
            reconciliations: new.gauge("zeolite_reconciliations"),
            reconcile_set_bytes: new.gauge("zeolite_reconcile_set_bytes"),
            reconcile_items: new.counter("zeolite_reconcile_items_total"),
            reconcile_seconds: new.histogram("zeolite_reconcile_seconds"),
            neg_errors: NegErrors {
                invalid: neg_error("invalid"),
                too_many: neg_error("too_many"),
                memory: neg_error("memory"),
                unsettled: neg_error("unsettled"),
                idle: neg_error("idle"),
                failed: neg_error("failed"),
            },
            query_slice_seconds: new.histogram("zeolite_query_slice_seconds"),
            commit_seconds: new.histogram("zeolite_commit_seconds"),
            commit_events: new.histogram("zeolite_commit_events"),
            stored_bytes: new.gauge("zeolite_stored_bytes"),
            archived_events: new.gauge("zeolite_archived_events"),
            policy_seconds: new.histogram("zeolite_policy_seconds"),
            policy_faults: PolicyFaults {
                late: fault("late"),
                died: fault("died"),
                garbage: fault("garbage"),
                unasked: fault("unasked"),
            },
            over_budget: OverBudget {
                events: over_budget("events"),
                queries: over_budget("queries"),
                bytes: over_budget("bytes"),
            },
            live: Live {
                delivered: live("delivered"),
                lagged: live("lagged"),
                ended: live("ended"),
                ephemeral_dropped: live("ephemeral_dropped"),
            },
            handle: recorder.handle(),
            recorder,
        }
    }

    /// The counter of a verdict.
    pub(crate) fn verdict(&self, verdict: &Verdict) -> &Counter {
        let counters = &self.verdicts;
        match verdict {
            Verdict::Stored => &counters.stored,
            Verdict::Ephemeral => &counters.ephemeral,
            Verdict::Duplicate => &counters.duplicate,
            Verdict::Superseded => &counters.superseded,
            Verdict::Deleted => &counters.deleted,
            Verdict::Expired => &counters.expired,
            Verdict::Forged => &counters.invalid,
            Verdict::Unwanted(_) => &counters.rejected,
            Verdict::Shadowed => &counters.shadowed,
            Verdict::Full => &counters.full,
            Verdict::Failed => &counters.failed,
        }
    }

    /// Counts an event that the session refused: malformed or against a limit is invalid, against
    /// a policy is rejected.
    pub(crate) fn refused(&self, prefix: Prefix) {
        self.events_received.increment(1);
        let verdicts = &self.verdicts;
        let counter =
            if prefix == Prefix::Invalid { &verdicts.invalid } else { &verdicts.rejected };
        counter.increment(1);
    }

    /// The counter of what went wrong with the policy program.
    pub(crate) fn policy_fault(&self, fault: PluginFault) -> &Counter {
        let counters = &self.policy_faults;
        match fault {
            PluginFault::Late => &counters.late,
            PluginFault::Died => &counters.died,
            PluginFault::Garbage => &counters.garbage,
            PluginFault::Unasked => &counters.unasked,
        }
    }

    /// Adds what the fan-out did.
    pub(crate) fn add_live(&self, stats: FanoutStats) {
        let FanoutStats { delivered, sent_bytes, lagged, ended, ephemeral_dropped } = stats;
        self.sent_bytes.increment(sent_bytes);
        self.live.delivered.increment(delivered);
        self.live.lagged.increment(lagged);
        self.live.ended.increment(ended);
        self.live.ephemeral_dropped.increment(ephemeral_dropped);
    }

    /// The series of a mirror. Made once for each.
    pub(crate) fn mirror(&self, mirror: &str) -> MirrorMetrics {
        let new = |name, more: Option<(&'static str, &'static str)>| {
            let mut labels = vec![Label::new("mirror", mirror.to_owned())];
            labels.extend(more.map(|(label, value)| Label::new(label, value)));
            Key::from_parts(name, labels)
        };
        let recorder = &self.recorder;
        let gauge = |key: Key| recorder.register_gauge(&key, &METADATA);
        let counter = |key: Key| recorder.register_counter(&key, &METADATA);
        let waiting = |way| gauge(new("zeolite_mirror_waiting", Some(("direction", way))));
        let event = |outcome| {
            let key = new("zeolite_mirror_events_total", Some(("outcome", outcome)));
            (outcome, counter(key))
        };
        MirrorMetrics {
            connected: gauge(new("zeolite_mirror_connected", None)),
            live: gauge(new("zeolite_mirror_live", None)),
            waiting_down: waiting("down"),
            waiting_up: waiting("up"),
            connections: counter(new("zeolite_mirror_connections_total", None)),
            rounds: counter(new("zeolite_mirror_rounds_total", None)),
            events: outcomes(&Counts::default()).map(|(outcome, _)| event(outcome)).into(),
        }
    }

    /// The series of retention with this many rules. Made once.
    pub(crate) fn retention(&self, rules: usize) -> RetentionMetrics {
        let counter = |rule: String| {
            let key = Key::from_parts(RETENTION_REMOVED, vec![Label::new("rule", rule)]);
            self.recorder.register_counter(&key, &METADATA)
        };
        RetentionMetrics {
            rules: (1..=rules).map(|number| counter(number.to_string())).collect(),
            size: counter("size".to_owned()),
            archive: counter("archive".to_owned()),
        }
    }

    /// Everything, as Prometheus reads it.
    pub(crate) fn render(&self) -> String {
        self.handle.render()
    }

    /// Folds the samples of histograms; without it they pile up.
    pub(crate) fn run_upkeep(&self) {
        self.handle.run_upkeep();
    }
}

const RETENTION_REMOVED: &str = "zeolite_retention_removed_total";

struct Registrar<'a>(&'a PrometheusRecorder);

const METADATA: Metadata<'static> =
    Metadata::new("zeolite_relay", Level::INFO, Some(module_path!()));

impl Registrar<'_> {
    fn counter(&self, name: &'static str) -> Counter {
        self.0.register_counter(&Key::from_static_name(name), &METADATA)
    }

    fn labelled(&self, name: &'static str, label: &'static str, value: &'static str) -> Counter {
        let key = Key::from_parts(name, vec![Label::new(label, value)]);
        self.0.register_counter(&key, &METADATA)
    }

    fn gauge(&self, name: &'static str) -> Gauge {
        self.0.register_gauge(&Key::from_static_name(name), &METADATA)
    }

    fn histogram(&self, name: &'static str) -> Histogram {
        self.0.register_histogram(&Key::from_static_name(name), &METADATA)
    }
}
