//! Bounds of everything a machine keeps, each with its arithmetic.

use std::time::Duration;

/// Bounds of one mirror. The defaults keep the machine below 100 MB.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Ids that wait to be fetched from the upstream. 256 Ki x 32 B = 8 MiB. From half of it on the
    /// next frame of a reconciliation waits; what a frame lists above it is found again by the
    /// next round.
    pub need_ids_max: usize,
    /// Ids that wait to be sent to the upstream. 256 Ki x 32 B = 8 MiB. What is above it is found
    /// again by the next round.
    pub have_ids_max: usize,
    /// Ids in one `REQ {ids}`, below what the upstream's limits allow: 500 is the usual `max_limit`,
    /// and 500 x 67 B = 33.5 kB goes through every message limit seen.
    pub fetch_batch_ids_max: usize,
    /// `REQ {ids}` in flight: with 500 ids each 4,000 events, a tenth of a second at 40,000 events/s.
    pub fetch_batches_max: usize,
    /// Events that the local side has not answered. 16 Ki events of 700 B = 11 MB. At the bound
    /// nothing more is asked for.
    pub ingest_events_max: usize,
    /// Bytes of records that the local side has not answered. At the bound nothing more is asked
    /// for, and at twice the bound the socket is left unread.
    pub ingest_bytes_max: usize,
    /// Events sent up and not answered by `OK`.
    pub send_events_max: usize,
    /// Bytes of records sent up and not answered by `OK`, or read from the local side to be sent.
    pub send_bytes_max: usize,
    /// Local events that wait to travel up live. At the bound further ones are left to the next
    /// audit, which is moved forward.
    pub live_up_events_max: usize,
    /// Windows that wait at the same time. 4 Ki x 40 B.
    pub windows_waiting_max: usize,
    /// Windows of one catch-up. Splits beyond it end negentropy: an upstream that refuses so many
    /// windows will refuse for ever.
    pub windows_total_max: usize,
    /// Rounds of one window in one catch-up until what is left counts as unexplained.
    pub rounds_max: u32,
    /// Remembered ids that either side refuses for good. 1 Mi entries of 18 B in tables that are
    /// at most 7/8 full and double: below 64 MB; the oldest are dropped.
    pub refused_ids_max: usize,
    /// Remembered ids that lately went either way, for the suppression of echoes, and as many that did
    /// so live since the latest comparison began: twice 128 Ki x 18 B, in tables that double.
    pub recent_ids_max: usize,
    /// Events of one page of the paged `REQ`, below the upstream's `max_limit`.
    pub page_events_max: usize,
    /// Pages in flight, each in a window of its own.
    pub pages_in_flight_max: usize,
    /// Bytes of one reconciliation frame that we send, before the upstream's `max_message_length`
    /// bounds it further; hex doubles it, so 60,000 goes through limits of 128 KiB.
    pub frame_bytes_max: usize,
    /// How long a request may stand without any progress before the connection is given up.
    pub idle_max: Duration,
    /// How long an upstream may be silent after the first `NEG-OPEN`. Servers build a set of a
    /// million events in a few seconds.
    pub first_frame_max: Duration,
    /// How long to wait for the `EOSE` of the live tail before going on without it.
    pub tail_eose_max: Duration,
    /// The first wait before a reconnect, a retry after "rate-limited" and the like; it doubles.
    pub backoff_min: Duration,
    /// The longest such wait.
    pub backoff_max: Duration,
    /// Connections in a row that brought nothing before `once` gives up.
    pub barren_connections_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            need_ids_max: 256 * 1024,
            have_ids_max: 256 * 1024,
            fetch_batch_ids_max: 500,
            fetch_batches_max: 8,
            ingest_events_max: 16 * 1024,
            ingest_bytes_max: 32 << 20,
            send_events_max: 2048,
            send_bytes_max: 8 << 20,
            live_up_events_max: 4096,
            windows_waiting_max: 4096,
            windows_total_max: 16 * 1024,
            rounds_max: 12,
            refused_ids_max: 1 << 20,
            recent_ids_max: 128 * 1024,
            page_events_max: 5000,
            pages_in_flight_max: 4,
            frame_bytes_max: 60_000,
            idle_max: Duration::from_secs(30),
            first_frame_max: Duration::from_secs(30),
            tail_eose_max: Duration::from_secs(20),
            backoff_min: Duration::from_millis(500),
            backoff_max: Duration::from_secs(60),
            barren_connections_max: 5,
        }
    }
}

/// What the upstream says of itself (NIP-11), as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerLimits {
    /// `limitation.max_limit`: results of one `REQ`.
    pub max_limit: Option<u64>,
    /// `limitation.max_message_length`: bytes of one message to it.
    pub max_message_length: Option<u64>,
    /// `limitation.max_subscriptions` of one connection.
    pub max_subscriptions: Option<u64>,
    /// Whether 77 is among `supported_nips`. A hint only: relays say yes and refuse, and say
    /// nothing and serve.
    pub negentropy: Option<bool>,
}
