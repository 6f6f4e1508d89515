//! Bounds that no operator needs to set, each with its arithmetic.

use std::time::Duration;

/// Bytes of events between parser and `OK`, over all connections: 0.2 s of ingest at 40,000
/// events/s and 8 kB each.
pub const INGEST_BYTES_MAX: usize = 64 << 20;

/// One connection may hold this share of the ingest queue, so that it cannot lock out the others.
pub const INGEST_SHARE_OF_CONNECTION: usize = 4;

/// Events that a verifier takes at once while others could share the work: enough for the gain of
/// batches (6 us an event instead of 60, 22 us without vector instructions), few enough that the first
/// event's `OK` does not wait for long (64 x 22 us = 1.4 ms).
pub const VERIFY_SLICE_EVENTS_SHARED: usize = 64;

/// Events in one slice for a verifier: batch verification gains little beyond (3.8 us an event at 1,024,
/// 3.4 us at 4,096).
pub const VERIFY_SLICE_EVENTS_MAX: usize = 1024;

/// Events admitted as one batch. At 3 us each this keeps the live feed's latency under 10 ms.
pub const ADMIT_EVENTS_MAX: usize = 2048;

/// Slices between verifiers and admitter. The ingest queue bounds what they hold.
pub const ADMITTER_INBOX_SLICES: usize = 256;

/// Batches between admitter and committer. The ingest queue bounds what they hold.
pub const COMMITTER_INBOX_BATCHES: usize = 256;

/// Ephemeral events that are kept for subscriptions on their way to the fan-out, which takes a
/// fraction of a millisecond: of 10,000 a second as many as come in a tenth.
pub const EPHEMERALS_KEPT_MAX: usize = 1024;

/// Bytes of those events.
pub const EPHEMERALS_KEPT_BYTES_MAX: usize = 4 << 20;

/// Messages to the fan-out. At most 100 bytes each besides events, which the ring shares: 800 kB.
pub const FANOUT_INBOX_MESSAGES: usize = 8192;

/// Expired events removed at one tick of a second: 10,000 a second is more than any relay takes in.
pub const EXPIRE_EVENTS_MAX: usize = 10_000;

/// How long one slice of a scan may run before other connections get their turn.
pub const SCAN_SLICE_MAX: Duration = Duration::from_millis(1);

/// Events in one slice of a scan.
pub const SCAN_SLICE_EVENTS_MAX: usize = 512;

/// Bytes of results added to an outbox at once: one write to the socket.
pub const SCAN_SLICE_BYTES: usize = 64 << 10;

/// Query jobs of one connection beyond its subscriptions, that is COUNTs. The reader waits when
/// there are more.
pub const COUNTS_WAITING_MAX: usize = 16;

/// Messages of one connection's reconciliations that wait for their answers. A peer alternates, so
/// this is how many sessions it can drive at full speed at once; the reader waits when there are
/// more. A message is at most half of the largest text: 1 MiB for all of them by default.
pub const NEG_MESSAGES_WAITING_MAX: usize = 4;

/// One connection may hold this share of the memory for sets, so that it cannot lock out the others.
pub const NEG_SHARE_OF_CONNECTION: usize = 4;

/// How long the rest of a message, or of a frame, may take: a message of 512 kB over 70 kbit/s.
pub const MESSAGE_REST_MAX: Duration = Duration::from_secs(60);

/// How long a socket may take nothing while something waits for it, before it is dropped.
pub const WRITE_STALL_MAX: Duration = Duration::from_secs(60);

/// How long a closing connection may take to answer our close frame.
pub const CLOSE_LINGER_MAX: Duration = Duration::from_secs(2);

/// Bytes read and dropped from a client whose connection is being closed, so that the close frame
/// is not lost in a reset.
pub const CLOSE_DRAIN_BYTES_MAX: usize = 16 << 20;

/// How long an orderly stop may take before it is cut short.
pub const STOP_MAX: Duration = Duration::from_millis(4500);

/// The buffer for one HTTP request: headers of browsers and proxies take 1 to 4 kB.
pub const HTTP_BUFFER_BYTES_MAX: usize = 16 << 10;

/// Lifted public keys that the verifier remembers, 80 bytes each: 5 MB.
pub const VERIFIER_KEYS_MAX: usize = 65_536;

/// Client addresses that are remembered, about 100 bytes each; those beyond share one account.
pub const CLIENTS_MAX: usize = 65_536;

/// Deliveries of one message that the fan-out hands to sockets itself, at 4 us each, where there are more
/// than [`FEW_CORES`]: those can write to the others meanwhile. Where there are not, it does all by
/// itself, since waking the writers costs more than it gains: on two cores the middle one of 1,000
/// deliveries takes 3.0 to 4.3 ms and not 3.8 to 5.1.
pub const AT_ONCE_WRITES_MAX: usize = 32;

/// See [`AT_ONCE_WRITES_MAX`].
pub const FEW_CORES: usize = 4;

/// Events that are admitted together and may be handed to sockets so: of more, a socket might take
/// several with one call.
pub const AT_ONCE_EVENTS_MAX: usize = 8;

/// How long a connection that wanted more than it may spend is not read, at most: at ten messages a
/// second it is woken four times a second and not ten, and what it asks within its budget waits no
/// longer than people notice.
pub const OVER_BUDGET_PAUSE_MAX: Duration = Duration::from_millis(320);

/// The share of it that differs from one pause to the next: they take 256 ms in the middle, and 1,000
/// that begin together end over 128 ms.
pub const OVER_BUDGET_PAUSE_JITTER: f64 = 0.4;

/// Messages refused to one connection between two such pauses. A flood of them is 256 a second, at
/// 2 us each 0.05 % of a core.
pub const OVER_BUDGET_AT_ONCE: u16 = 64;

/// Events that one message to the admitter removes: about 5 ms of its time.
pub const PURGE_SLICE_EVENTS: usize = 512;

/// How long retention pauses after a slice, for each time the slice took: it uses half of a core and
/// of the committer at most.
pub const RETENTION_PAUSE_FACTOR: u32 = 1;

/// The same while events wait for the verifiers: a tenth.
pub const RETENTION_PAUSE_FACTOR_BUSY: u32 = 9;

/// How long it rests after a pass, for each time the pass took: one that looks in vain at millions of
/// events that the rules keep costs a twentieth of a core.
pub const RETENTION_REST_FACTOR: u32 = 20;

/// Reports that are read for the list of events that need moderation, newest first: about 20 ms.
pub const REPORTS_READ_MAX: u64 = 5_000;

/// Bytes of an administrator's request.
pub const ADMIN_BODY_BYTES_MAX: usize = 1 << 20;

/// How often what the relay published about its roles is compared with what they are: what retention
/// removed, or a full store refused, is there again within the hour. A comparison reads at most a
/// hundred events.
pub const HERALD_PERIOD: Duration = Duration::from_secs(60 * 60);

/// Checked slices that wait for the policy program's thread. More wait in the verifiers' queue.
pub const PLUGIN_INBOX_SLICES: usize = 8;

/// Bytes of one line of a policy program: an answer with its message has about 200.
pub const PLUGIN_LINE_BYTES_MAX: u64 = 64 << 10;

/// Answers of a policy program that wait for its thread, 100 kB; more wait in its pipe.
pub const PLUGIN_ANSWERS_WAITING: usize = 1_024;

/// Descriptors beside the sockets: the store, the runtime, the listener, logs.
pub const DESCRIPTORS_RESERVED: u64 = 64;
