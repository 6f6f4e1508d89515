//! The configuration of one process, as plain data, and its resolution from flags, environment
//! and file.

mod form;
mod keys;
mod mirror;
mod policy;
mod render;
mod resolve;
mod retention;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::PathBuf;

use zeolite_proto::{Kind, PubKey};
use zeolite_session::SessionLimits;

pub use zeolite_policy::FailMode;
pub use zeolite_store::Durability;

pub(crate) use keys::PREFIX;
pub(crate) use mirror::read_filter;
pub use mirror::{MirrorConfig, MirrorDraft};
pub use policy::PolicyConfig;
pub use render::reference;
pub use resolve::{ConfigError, Fault, Layers, OTHER_VARIABLES, Resolved, Source, resolve};

/// Everything that can be configured. Made by the command line's resolution, which refuses what
/// is senseless, or by [`Config::default`].
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where clients connect.
    pub listen: SocketAddr,
    /// The store's directory; made when it is missing.
    pub db: PathBuf,
    /// Which log lines are written, as `tracing` directives: `info`, `warn,zeolite_relay=debug`.
    pub log: String,
    /// What NIP-11 says of the operator.
    pub relay: RelayConfig,
    /// Sockets and threads.
    pub server: ServerConfig,
    /// The store.
    pub store: StoreConfig,
    /// What a client may send.
    pub limits: SessionLimits,
    /// Stored results.
    pub query: QueryConfig,
    /// Live delivery.
    pub live: LiveConfig,
    /// Reconciliation (NIP-77).
    pub negentropy: NegentropyConfig,
    /// What may be written.
    pub policy: PolicyConfig,
    /// What the clients of one address may hold and spend.
    pub clients: ClientsConfig,
    /// Who administrates.
    pub admin: AdminConfig,
    /// Logins, and what is for whom.
    pub auth: AuthConfig,
    /// Relays that this one mirrors; their names differ.
    pub mirrors: Vec<MirrorConfig>,
}

/// What NIP-11 says of the relay; a field that is absent is left out there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RelayConfig {
    /// Shown to users.
    pub name: Option<String>,
    /// Plain text, any length.
    pub description: Option<String>,
    /// A URI, `mailto:` or `https:`.
    pub contact: Option<String>,
    /// The operator's public key, 64 lower-case hex digits.
    pub pubkey: Option<String>,
    /// URL of a square picture.
    pub icon: Option<String>,
    /// URLs by which clients know this relay, `wss://relay.example`; requests to vanish (NIP-62)
    /// that name one of them are obeyed.
    pub urls: Vec<String>,
}

/// Sockets and threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// Open sockets; one more is answered 503 and closed.
    pub connections_max: usize,
    /// Seconds in which a new socket must finish its HTTP request.
    pub handshake_s_max: u64,
    /// Seconds between pings to a silent client; after two unanswered ones it is closed.
    pub ping_s: u64,
    /// Threads that serve sockets; `None`: one per core.
    pub worker_threads: Option<usize>,
    /// Events between parser and store; publishers wait when it is full.
    pub ingest_events_max: usize,
}

/// The store's memory and durability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreConfig {
    /// What `OK` promises.
    pub durability: Durability,
    /// The largest size the store can grow to. Only what is used takes disk.
    pub map_bytes: usize,
    /// Events whose index entries may wait in memory.
    pub head_events_max: usize,
    /// Bytes that those entries may take.
    pub head_bytes_max: usize,
    /// Bytes of the store's file that may be mapped into memory.
    pub mapped_bytes_max: usize,
    /// Whether what is replaced or deleted is kept out of sight. For how long is among the rules of the
    /// policy.
    pub archive: bool,
    /// Seconds from one pass of retention to the next. What is kept is among the rules of the policy.
    pub retention_s: u64,
}

/// Stored results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryConfig {
    /// Results of a filter without `limit`; `None`: all of them.
    pub default_limit: Option<u64>,
    /// The largest `limit`; larger ones are cut to it. `None`: any.
    pub max_limit: Option<u64>,
    /// Threads that scan; `None`: one per core.
    pub worker_threads: Option<usize>,
}

/// Live delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveConfig {
    /// Bytes that may wait for one connection's socket; above it the subscription lags and is
    /// fed from the log later.
    pub outbox_bytes_max: usize,
    /// Recent events kept in memory to feed those who lag a little.
    pub recent_events_max: usize,
    /// Bytes of those events.
    pub recent_bytes_max: usize,
    /// Events a lagging subscription may stand behind before it is closed as too slow.
    pub lag_events_max: u64,
    /// Seconds a lagging subscription may make no progress before it is closed as too slow.
    pub lag_s_max: u64,
}

/// Reconciliation (NIP-77). How many a connection may have is among its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NegentropyConfig {
    /// Whether it is offered.
    pub enabled: bool,
    /// Events of a set that has to be built. All events, and those of a span of time, are a set
    /// that is kept, which has no bound.
    pub items_max: usize,
    /// Bytes of an answer, before hex doubles them.
    pub frame_bytes_max: usize,
    /// Bytes of all built sets; one connection may have a quarter.
    pub memory_bytes_max: usize,
    /// Seconds between an answer and the client's next message.
    pub idle_s_max: u64,
}

/// What the clients of one address (of IPv6, a /64) may hold and spend together, and what each of their
/// connections may. `None`: any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientsConfig {
    /// Open sockets.
    pub connections_max: Option<usize>,
    /// Events a second.
    pub events_per_s: Option<u64>,
    /// Events that may be saved up.
    pub events_burst: u64,
    /// Cost of queries a second.
    pub queries_per_s: Option<u64>,
    /// Cost of queries that may be saved up.
    pub queries_burst: u64,
    /// Bytes received a second.
    pub bytes_per_s: Option<u64>,
    /// Bytes that may be saved up.
    pub bytes_burst: u64,
    /// Events a second of one connection.
    pub connection_events_per_s: Option<u64>,
    /// Events that it may save up.
    pub connection_events_burst: u64,
    /// Cost of queries a second of one connection.
    pub connection_queries_per_s: Option<u64>,
    /// Cost of queries that it may save up.
    pub connection_queries_burst: u64,
    /// Bytes received a second on one connection.
    pub connection_bytes_per_s: Option<u64>,
    /// Bytes that it may save up.
    pub connection_bytes_burst: u64,
    /// Proxies whose word is taken for where a client is.
    pub trusted_proxies: Vec<String>,
    /// The header in which they say it.
    pub address_header: String,
}

impl Default for ClientsConfig {
    fn default() -> Self {
        Self {
            connections_max: None,
            events_per_s: None,
            events_burst: 1_000,
            queries_per_s: None,
            queries_burst: 1_000,
            bytes_per_s: None,
            bytes_burst: 16 << 20,
            connection_events_per_s: None,
            connection_events_burst: 1_000,
            connection_queries_per_s: None,
            connection_queries_burst: 1_000,
            connection_bytes_per_s: None,
            connection_bytes_burst: 16 << 20,
            trusted_proxies: Vec::new(),
            address_header: "x-forwarded-for".to_owned(),
        }
    }
}

/// Administration over HTTP (NIP-86).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdminConfig {
    /// Who may give orders; empty: nobody, and nothing is offered.
    pub pubkeys: BTreeSet<PubKey>,
}

/// Logins (NIP-42), and what is for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthConfig {
    /// Whether only who has logged in is answered.
    pub is_required: bool,
    /// Whether clients are asked to log in as soon as they connect.
    pub is_prompted: bool,
    /// Kinds that only their recipients and authors may read.
    pub gated_kinds: BTreeSet<Kind>,
    /// Keys that may read those as well, such as those of the operator's mirrors.
    pub keepers: BTreeSet<PubKey>,
    /// Keys that one connection may log in with.
    pub keys_max: usize,
}

impl Default for AuthConfig {
    fn default() -> Self {
        let private = [Kind::DIRECT_MESSAGE, Kind::GIFT_WRAP, Kind::EPHEMERAL_GIFT_WRAP];
        let gated_kinds = private.into();
        let keepers = BTreeSet::new();
        Self { is_required: false, is_prompted: false, gated_kinds, keepers, keys_max: 32 }
    }
}

const MIB: usize = 1 << 20;

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7447)),
            db: PathBuf::from("./zeolite-data"),
            log: "info".to_owned(),
            relay: RelayConfig::default(),
            server: ServerConfig::default(),
            store: StoreConfig::default(),
            limits: SessionLimits::default(),
            query: QueryConfig::default(),
            live: LiveConfig::default(),
            negentropy: NegentropyConfig::default(),
            policy: PolicyConfig::default(),
            clients: ClientsConfig::default(),
            admin: AdminConfig::default(),
            auth: AuthConfig::default(),
            mirrors: Vec::new(),
        }
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            connections_max: 16_384,
            handshake_s_max: 10,
            ping_s: 60,
            worker_threads: None,
            ingest_events_max: 8192,
        }
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        let zeolite_store::Options {
            durability,
            map_bytes,
            head_events_max,
            head_bytes_max,
            mapped_bytes_max,
            archive,
            ..
        } = zeolite_store::Options::default();
        Self {
            durability,
            map_bytes,
            head_events_max,
            head_bytes_max,
            mapped_bytes_max,
            archive,
            retention_s: 60,
        }
    }
}

impl Default for QueryConfig {
    fn default() -> Self {
        Self { default_limit: Some(500), max_limit: Some(5_000), worker_threads: None }
    }
}

impl Default for LiveConfig {
    fn default() -> Self {
        Self {
            outbox_bytes_max: MIB,
            recent_events_max: 65_536,
            recent_bytes_max: 64 * MIB,
            lag_events_max: 10_000_000,
            lag_s_max: 300,
        }
    }
}

/// An answer of 500,000 bytes is a message of 1 MB, which fits a client's usual 1 MiB and our own
/// outbox. A set of 1M items holds 41 MB, so that a connection can build one.
impl Default for NegentropyConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            items_max: 1_000_000,
            frame_bytes_max: 500_000,
            memory_bytes_max: 256 * MIB,
            idle_s_max: 120,
        }
    }
}
