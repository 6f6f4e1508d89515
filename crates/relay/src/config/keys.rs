//! Every key that can be configured, in one table: the file, the environment, the printed
//! configuration and the reference in `docs/operations.md` all come from it.

use zeolite_proto::limits::SEQ_MAX;
use zeolite_proto::{Kind, PubKey, normalise_relay_url};

use zeolite_reconcile::limits::FRAME_BYTES_MIN;

use super::form::{
    Address, Bytes, Bytes64, Folder, Form, Given, ListOf, Maybe, OneOf, Or, Text, Truth, Whole,
};
use super::policy::{FAIL_MODES, SetOf};
use super::{Config, Durability};

/// One configurable value.
pub(crate) struct Key {
    /// Where it stands in the file: `table.key`, or `key` at the top.
    pub(crate) name: &'static str,
    /// What it means, in one line.
    pub(crate) help: &'static str,
    /// Reads a value into the configuration, or says what it must be.
    pub(crate) set: fn(&mut Config, &Given) -> Result<(), String>,
    /// The configured value in TOML; `None` if it is left out.
    pub(crate) show: fn(&Config) -> Option<String>,
    /// What is accepted.
    pub(crate) accepts: fn() -> String,
}

impl Key {
    /// The environment variable of this key.
    pub(crate) fn variable(&self) -> String {
        format!("{PREFIX}{}", self.name.replace('.', "_").to_ascii_uppercase())
    }
}

/// What every environment variable of ours begins with.
pub(crate) const PREFIX: &str = "ZEOLITE_";

macro_rules! keys {
    ($($name:literal $($field:ident).+ = $form:expr; $help:literal)+) => {
        /// The table, in the order in which it is shown.
        pub(crate) const KEYS: &[Key] = &[$(Key {
            name: $name,
            help: $help,
            set: |config, given| {
                config.$($field).+ = $form.read(given)?;
                Ok(())
            },
            show: |config| $form.show(&config.$($field).+),
            accepts: || $form.accepts(),
        }),+];
    };
}

keys! {
    "listen" listen = Address;
        "Where clients connect."
    "db" db = Folder;
        "The store's directory; made when it is missing."
    "log" log = LOG;
        "Which log lines are written to standard error."

    "relay.name" relay.name = Maybe(ANY);
        "The relay's name for users (NIP-11)."
    "relay.description" relay.description = Maybe(ANY);
        "What the relay is for, in plain text (NIP-11)."
    "relay.contact" relay.contact = Maybe(CONTACT);
        "How to reach the operator (NIP-11)."
    "relay.pubkey" relay.pubkey = Maybe(PUBKEY);
        "The operator's public key (NIP-11)."
    "relay.icon" relay.icon = Maybe(WEB_URL);
        "A square picture (NIP-11)."
    "relay.urls" relay.urls = ListOf(RELAY_URL);
        "URLs of this relay; requests to vanish that name one of them are obeyed (NIP-62)."

    "server.connections_max" server.connections_max = Whole { min: 1, max: 1_000_000 };
        "Open sockets; one more is turned away."
    "server.handshake_s_max" server.handshake_s_max = Whole { min: 1, max: 600 };
        "Seconds in which a new socket must finish its HTTP request."
    "server.ping_s" server.ping_s = Whole { min: 5, max: 3600 };
        "Seconds between pings to a silent client; it is closed when two stay unanswered."
    "server.worker_threads" server.worker_threads = AUTO;
        "Threads that serve sockets."
    "server.ingest_events_max" server.ingest_events_max = Whole { min: 1, max: 1_000_000 };
        "Events between sockets and store; publishers wait when it is full."

    "store.durability" store.durability = OneOf(DURABILITY);
        "What OK promises: to survive a power cut, a crash of the process, or neither."
    "store.map_bytes" store.map_bytes = Bytes { min: 1 << 20, max: 64 << 40 };
        "The largest size of the store; only what is used takes disk."
    "store.head_events_max" store.head_events_max = Whole { min: 1, max: 100_000_000 };
        "Events whose index entries wait in memory to be written in bulk."
    "store.head_bytes_max" store.head_bytes_max = Bytes { min: 1 << 20, max: 1 << 40 };
        "Memory for those index entries."
    "store.mapped_bytes_max" store.mapped_bytes_max = Bytes { min: 1 << 20, max: 1 << 40 };
        "What of the store's file may be mapped into memory before it is left to the system's cache."
    "store.events_bytes_max" policy.rules.retention.bytes_max = Or("any", EVENTS_BYTES);
        "What stored events may take; above it the oldest go, but for those that [[retention]] keeps."
    "store.archive" store.archive = Truth;
        "Whether replaced and deleted events are kept, where only `export --archived` finds them."
    "store.archive_age_s_max" policy.rules.retention.archive_age_s_max = AGE;
        "Seconds since created_at that they are kept."
    "store.retention_s" store.retention_s = Whole { min: 1, max: 86_400 };
        "Seconds from one pass of retention to the next."

    "limits.message_bytes_max" limits.message_bytes_max = Bytes { min: 1 << 10, max: 64 << 20 };
        "Bytes of one message from a client."
    "limits.subscriptions_max" limits.subscriptions_max = Whole { min: 1, max: 100_000 };
        "Open subscriptions of one connection."
    "limits.filters_max" limits.filters_max = Whole { min: 1, max: 10_000 };
        "Filters in one REQ or COUNT."
    "limits.filter_values_max" limits.filter_values_max = Whole { min: 1, max: 100_000_000 };
        "List entries in the filters of all open subscriptions of one connection."
    "limits.event_tags_max" limits.event_tags_max = Whole { min: 1, max: 1_000_000 };
        "Tags of one event."
    "limits.content_chars_max" limits.content_chars_max = Whole { min: 1, max: 64 << 20 };
        "Unicode characters in the content of one event."
    "limits.created_at_past_s_max" limits.created_at_past_s_max = AGE;
        "Seconds that an event may be old when it arrives."
    "limits.created_at_future_s_max" limits.created_at_future_s_max = AGE;
        "Seconds that an event may lie in the future when it arrives."
    "limits.ephemeral_age_s_max" limits.ephemeral_age_s_max = AGE;
        "Seconds that an event of an ephemeral kind may be old when it arrives."

    "query.default_limit" query.default_limit = LIMIT;
        "Stored results of a filter without limit."
    "query.max_limit" query.max_limit = LIMIT;
        "The largest limit of a filter; larger ones are cut to it."
    "query.worker_threads" query.worker_threads = AUTO;
        "Threads that read stored results."

    "live.outbox_bytes_max" live.outbox_bytes_max = Bytes { min: 1 << 10, max: 1 << 30 };
        "Bytes that wait for one client's socket; above it the client lags and is fed from the log."
    "live.recent_events_max" live.recent_events_max = Whole { min: 1, max: 10_000_000 };
        "Recent events kept in memory for clients that lag a little."
    "live.recent_bytes_max" live.recent_bytes_max = Bytes { min: 1 << 10, max: 1 << 40 };
        "Memory for those events."
    "live.lag_events_max" live.lag_events_max = Whole { min: 1, max: SEQ_MAX };
        "Events that a lagging subscription may be behind before it is closed."
    "live.lag_s_max" live.lag_s_max = Whole { min: 1, max: 86_400 };
        "Seconds without progress after which a lagging subscription is closed."

    "negentropy.enabled" negentropy.enabled = Truth;
        "Whether clients may reconcile (NIP-77)."
    "negentropy.sessions_max" limits.reconciliations_max = Whole { min: 1, max: 1_000 };
        "Open reconciliations of one connection."
    "negentropy.items_max" negentropy.items_max = Whole { min: 1, max: 100_000_000 };
        "Events of a filter's set; spans of time, and everything, have no bound."
    "negentropy.frame_bytes_max" negentropy.frame_bytes_max = Bytes { min: FRAME_BYTES_MIN, max: 32 << 20 };
        "Bytes of one answer, before hex doubles them."
    "negentropy.memory_bytes_max" negentropy.memory_bytes_max = Bytes { min: 1 << 10, max: 1 << 40 };
        "Memory for the sets of filters; one connection may have a quarter of it."
    "negentropy.idle_s_max" negentropy.idle_s_max = Whole { min: 1, max: 86_400 };
        "Seconds without a message after which a reconciliation is closed."

    "clients.connections_max" clients.connections_max = Or("any", Whole { min: 1, max: 1_000_000 });
        "Open sockets of one client address (of IPv6, a /64)."
    "clients.events_per_s" clients.events_per_s = RATE;
        "Events a second of one client address; more are refused."
    "clients.events_burst" clients.events_burst = BURST;
        "Events that it may send at once after a pause."
    "clients.queries_per_s" clients.queries_per_s = RATE;
        "Cost of its queries a second; more are refused."
    "clients.queries_burst" clients.queries_burst = BURST;
        "Cost of queries that it may ask at once after a pause."
    "clients.bytes_per_s" clients.bytes_per_s = RATE;
        "Bytes a second that are read from it; more wait in its socket."
    "clients.bytes_burst" clients.bytes_burst = BURST;
        "Bytes that are read at once after a pause."
    "clients.connection_events_per_s" clients.connection_events_per_s = RATE;
        "Events a second of one connection; it spends what its address has as well."
    "clients.connection_events_burst" clients.connection_events_burst = BURST;
        "Events that it may send at once after a pause."
    "clients.connection_queries_per_s" clients.connection_queries_per_s = RATE;
        "Cost of one connection's queries a second."
    "clients.connection_queries_burst" clients.connection_queries_burst = BURST;
        "Cost of queries that it may ask at once after a pause."
    "clients.connection_bytes_per_s" clients.connection_bytes_per_s = RATE;
        "Bytes a second that are read from one connection."
    "clients.connection_bytes_burst" clients.connection_bytes_burst = BURST;
        "Bytes that are read from it at once after a pause."
    "clients.trusted_proxies" clients.trusted_proxies = ListOf(NETWORK);
        "Proxies whose word is taken for where a client is."
    "clients.address_header" clients.address_header = HEADER;
        "The header in which they say it."

    "admin.pubkeys" admin.pubkeys = AUTHORS;
        "Keys that may administrate over HTTP (NIP-86); empty: it is not offered."

    "auth.required" auth.is_required = Truth;
        "Whether only clients that have logged in (NIP-42) are answered."
    "auth.prompted" auth.is_prompted = Truth;
        "Whether clients are asked to log in as soon as they connect, not when they first need it."
    "auth.gated_kinds" auth.gated_kinds = KINDS;
        "Kinds that only their recipients and authors may read, after a login; empty: none."
    "auth.keepers" auth.keepers = AUTHORS;
        "Keys that may read those as well, such as the keys of your own mirrors."
    "auth.keys_max" auth.keys_max = Whole { min: 1, max: 10_000 };
        "Keys that one connection may log in with."

    "policy.authors_only" policy.rules.authors_only = Truth;
        "Only authors in policy.authors, or allowed by an administrator, may write."
    "policy.authors" policy.rules.authors_allowed = AUTHORS;
        "Authors that may write where only some may."
    "policy.authors_denied" policy.rules.authors_denied = AUTHORS;
        "Authors that may not write."
    "policy.kinds" policy.rules.kinds_allowed = KINDS;
        "The only kinds that are taken; empty: all."
    "policy.kinds_denied" policy.rules.kinds_denied = KINDS;
        "Kinds that are not taken."
    "policy.kinds_open" policy.rules.kinds_open = KINDS;
        "Kinds that everyone may write, also where only some authors may."
    "policy.work_bits_min" policy.rules.work_bits_min = Whole { min: 0, max: 256 };
        "Leading zero bits that an event's id needs (NIP-13)."
    "policy.plugin" policy.plugin = Maybe(ANY);
        "A command that is asked about each event, by the line protocol of strfry's plug-ins."
    "policy.plugin_fail" policy.plugin_fail = OneOf(FAIL_MODES);
        "Whether events are refused (closed) or taken (open) while it does not answer."
    "policy.plugin_answer_ms_max" policy.plugin_answer_ms_max = Whole { min: 10, max: 600_000 };
        "Milliseconds that one answer may take before the command is started anew."
    "policy.plugin_pending_max" policy.plugin_pending_max = Whole { min: 1, max: 100_000 };
        "Questions that it is asked before it has answered the first of them."
}

const EVENTS_BYTES: Bytes64 = Bytes64(Bytes { min: 1 << 20, max: 64 << 40 });
const RATE: Or<Whole<u64>> = Or("any", Whole { min: 1, max: u32::MAX as u64 });
const BURST: Whole<u64> = Whole { min: 1, max: u32::MAX as u64 };
const NETWORK: Text = Text {
    accepts: "an IP address or a range, \"10.0.0.0/8\"",
    good: |text| text.parse::<zeolite_policy::Network>().is_ok(),
};
const HEADER: Text = Text {
    accepts: "the name of an HTTP header",
    good: |text| hyper::header::HeaderName::try_from(text).is_ok(),
};
const AUTHORS: SetOf<PubKey> = SetOf::new();
const KINDS: SetOf<Kind> = SetOf::new();

const ANY: Text = Text { accepts: "a text", good: |_| true };
const LOG: Text = Text {
    accepts: "a level (error, warn, info, debug, trace), or directives such as \
              \"warn,zeolite_relay=debug\"",
    good: |text| tracing_subscriber::EnvFilter::builder().parse(text).is_ok(),
};
const CONTACT: Text = Text {
    accepts: "a URI, \"mailto:ops@relay.example\"",
    good: |text| {
        let is_plain = !text.contains(char::is_whitespace);
        is_plain
            && text
                .split_once(':')
                .is_some_and(|(scheme, rest)| is_word(scheme) && !rest.is_empty())
    },
};
const PUBKEY: Text =
    Text { accepts: "64 lower-case hex digits", good: |text| PubKey::from_hex(text).is_ok() };
const WEB_URL: Text = Text {
    accepts: "an http or https URL",
    good: |text| text.starts_with("http") && normalise_relay_url(text).is_some(),
};
const RELAY_URL: Text = Text {
    accepts: "a ws or wss URL",
    good: |text| text.starts_with("ws") && normalise_relay_url(text).is_some(),
};
const DURABILITY: &[(&str, Durability)] = &[
    ("durable", Durability::Durable),
    ("relaxed", Durability::Relaxed),
    ("fast", Durability::Fast),
];
const AUTO: Or<Whole<usize>> = Or("auto", Whole { min: 1, max: 1024 });
const AGE: Or<Whole<u64>> = Or("any", Whole { min: 1, max: u32::MAX as u64 });
const LIMIT: Or<Whole<u64>> = Or("unlimited", Whole { min: 1, max: u32::MAX as u64 });

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// The map consists of whole pages, of whatever size the processor has.
const MAP_STEP_BYTES: usize = 64 << 10;

/// Contradictions between values that are each acceptable: the key to blame and what is wrong.
pub(crate) fn contradictions(config: &Config) -> Vec<(&'static str, String)> {
    let Config { query, limits, store, live, policy, clients, .. } = config;
    let unlimited = u64::MAX;
    let is_above =
        |one: Option<u64>, all: Option<u64>| one.zip(all).is_some_and(|(one, all)| one > all);
    let rules = [
        (
            query.default_limit.unwrap_or(unlimited) > query.max_limit.unwrap_or(unlimited),
            "query.default_limit",
            "is above query.max_limit",
        ),
        (
            limits.content_chars_max > limits.message_bytes_max,
            "limits.content_chars_max",
            "is above limits.message_bytes_max, so no message could reach it",
        ),
        (
            !store.map_bytes.is_multiple_of(MAP_STEP_BYTES),
            "store.map_bytes",
            "must be a multiple of 64 KiB",
        ),
        (
            policy.rules.retention.bytes_max.is_some_and(|max| max > store.map_bytes as u64),
            "store.events_bytes_max",
            "is above store.map_bytes, so it would never be reached",
        ),
        (
            store.head_bytes_max > store.map_bytes,
            "store.head_bytes_max",
            "is above store.map_bytes",
        ),
        (
            is_above(clients.connection_events_per_s, clients.events_per_s),
            "clients.connection_events_per_s",
            "is above clients.events_per_s, so no connection could reach it",
        ),
        (
            is_above(clients.connection_queries_per_s, clients.queries_per_s),
            "clients.connection_queries_per_s",
            "is above clients.queries_per_s, so no connection could reach it",
        ),
        (
            is_above(clients.connection_bytes_per_s, clients.bytes_per_s),
            "clients.connection_bytes_per_s",
            "is above clients.bytes_per_s, so no connection could reach it",
        ),
        (
            live.outbox_bytes_max < limits.message_bytes_max,
            "live.outbox_bytes_max",
            "is below limits.message_bytes_max, so the largest event would not fit",
        ),
    ];
    let broken = rules.into_iter().filter(|(broken, ..)| *broken);
    broken.map(|(_, key, why)| (key, why.to_owned())).collect()
}
