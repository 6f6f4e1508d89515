//! From the configuration to what each part is built with.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::HeaderName;
use zeolite_policy::PluginSettings;
use zeolite_proto::Gates;
use zeolite_reconcile::FrameLimit;
use zeolite_session::{LoginTerms, SessionLimits};
use zeolite_store::{Options, ScanOptions, SliceBudget, Store};

use crate::clients::{ClientLimits, Clients, Proxies, Rate, Rates};
use crate::config::{AuthConfig, Config};
use crate::fanout::FanoutBounds;
use crate::limits::{
    AT_ONCE_WRITES_MAX, FEW_CORES, INGEST_BYTES_MAX, INGEST_SHARE_OF_CONNECTION,
    SCAN_SLICE_EVENTS_MAX, SCAN_SLICE_MAX,
};
use crate::neg::NegBounds;
use crate::outbox::OutboxBounds;
use crate::query::Desk;

/// How the store is opened.
pub(crate) fn store_options(config: &Config) -> Options {
    Options {
        durability: config.store.durability,
        map_bytes: config.store.map_bytes,
        head_events_max: config.store.head_events_max,
        head_bytes_max: config.store.head_bytes_max,
        mapped_bytes_max: config.store.mapped_bytes_max,
        archive: config.store.archive,
        own_urls: config.relay.urls.clone(),
        gated_kinds: gates(config).kinds().to_vec(),
        ..Options::default()
    }
}

/// Kinds that are for their recipients and authors only.
pub(crate) fn gates(config: &Config) -> Arc<Gates> {
    let AuthConfig { gated_kinds, keepers, .. } = &config.auth;
    Arc::new(Gates::new(gated_kinds.iter().copied(), keepers.iter().copied()))
}

/// What a login must be, at a relay that these names mean.
pub(crate) fn login_terms(config: &Config, own_urls: Vec<String>) -> LoginTerms {
    let AuthConfig { is_required, is_prompted, keys_max, .. } = config.auth;
    LoginTerms { own_urls, is_required, is_prompted, keys_max }
}

/// What sessions allow. Without reconciliation there is room for none (R77-13).
pub(crate) fn session_limits(config: &Config) -> SessionLimits {
    let mut limits = config.limits.clone();
    if !config.negentropy.enabled {
        limits.reconciliations_max = 0;
    }
    limits
}

/// What the clients of one address may spend, and each of their connections.
pub(crate) fn clients(config: &Config) -> Clients {
    let clients = &config.clients;
    let rate = |per_s: Option<u64>, burst: u64| per_s.map(|per_s| Rate { per_s, burst });
    let limits = ClientLimits {
        connections_max: clients.connections_max,
        address: Rates {
            events: rate(clients.events_per_s, clients.events_burst),
            queries: rate(clients.queries_per_s, clients.queries_burst),
            bytes: rate(clients.bytes_per_s, clients.bytes_burst),
        },
        connection: Rates {
            events: rate(clients.connection_events_per_s, clients.connection_events_burst),
            queries: rate(clients.connection_queries_per_s, clients.connection_queries_burst),
            bytes: rate(clients.connection_bytes_per_s, clients.connection_bytes_burst),
        },
    };
    let header = HeaderName::try_from(&clients.address_header);
    let header = header.expect("the configuration was checked");
    let networks = clients.trusted_proxies.iter();
    let networks = networks.map(|range| range.parse().expect("the configuration was checked"));
    Clients::new(limits, Proxies::new(networks.collect(), header))
}

/// How the policy program is treated.
pub(crate) fn plugin(config: &Config) -> PluginSettings {
    let policy = &config.policy;
    PluginSettings {
        pending_max: policy.plugin_pending_max,
        answer_max: Duration::from_millis(policy.plugin_answer_ms_max),
        fail: policy.plugin_fail,
    }
}

pub(crate) fn neg_bounds(config: &Config) -> NegBounds {
    let negentropy = &config.negentropy;
    NegBounds {
        items_max: negentropy.items_max,
        frame: FrameLimit::new(negentropy.frame_bytes_max).unwrap_or(FrameLimit::LEAST),
        idle_max: Duration::from_secs(negentropy.idle_s_max),
        memory_bytes_max: negentropy.memory_bytes_max,
    }
}

/// Results stop at an eighth of what live events may fill, 128 kB by default: a long answer leaves
/// the live feed room, a thousand clients that ask for everything and read nothing hold 200 MB, and
/// more does not make reading faster (less stays in the processor's cache). A worker refills while
/// the writer empties the other half.
pub(crate) fn outbox_bounds(config: &Config) -> OutboxBounds {
    let bytes_max = config.live.outbox_bytes_max;
    OutboxBounds {
        results_high_bytes: bytes_max / 8,
        low_bytes: bytes_max / 16,
        live_bytes_max: bytes_max,
        reply_bytes_max: bytes_max / 8,
        ingest_bytes_max: INGEST_BYTES_MAX / INGEST_SHARE_OF_CONNECTION,
    }
}

/// Where there are no clients nobody lags, and no event is kept for those who do.
pub(crate) fn fanout_bounds(config: &Config, connections_max: usize, cores: usize) -> FanoutBounds {
    let has_clients = connections_max > 0;
    FanoutBounds {
        recent_events_max: if has_clients { config.live.recent_events_max } else { 1 },
        recent_bytes_max: config.live.recent_bytes_max,
        lag_events_max: config.live.lag_events_max,
        lag_max: Duration::from_secs(config.live.lag_s_max),
        at_once_max: if cores > FEW_CORES { AT_ONCE_WRITES_MAX } else { usize::MAX },
    }
}

pub(crate) fn desk(config: &Config, store: &Store) -> Desk {
    Desk {
        store: store.clone(),
        options: ScanOptions {
            default_limit: config.query.default_limit,
            max_limit: config.query.max_limit,
        },
        budget: SliceBudget { events_max: SCAN_SLICE_EVENTS_MAX, time_max: SCAN_SLICE_MAX },
        frames: Vec::new(),
    }
}
