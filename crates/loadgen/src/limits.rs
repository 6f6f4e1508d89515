//! Hard limits of the load generator.

/// Ids that a report carries in full: the largest answer of the query table (5,000) with room, and
/// less than a megabyte of JSON. Larger answers are compared by their fingerprint.
pub const RESULT_IDS_MAX: usize = 10_000;

/// Bytes of one frame or message from a relay. Relays take messages of 128 KiB to 1 MiB; an
/// export in one message would be a fault.
pub const FRAME_BYTES_MAX: usize = 64 << 20;

/// Bytes of the answer to an upgrade request.
pub const HANDSHAKE_BYTES_MAX: usize = 16 << 10;

/// Bytes that one read takes. A bulk answer of 300 MB/s then costs 1,200 reads a second, and the
/// buffer, shared by all sockets of a thread, stays within the second-level cache.
pub const READ_BYTES: usize = 256 << 10;

/// Seconds for connecting and upgrading. A ramp of 15,000 sockets fills a listen queue: the kernel
/// repeats a dropped SYN after 1, 2, 4 and 8 seconds.
pub const CONNECT_S_MAX: u64 = 20;

/// Connections from one source address. Linux gives 28,232 ports; connections of the run before
/// wait a minute in TIME-WAIT.
pub const SOCKETS_PER_SOURCE: usize = 8_000;

/// Descriptors beside the sockets: standard streams, files, the event loop.
pub const DESCRIPTORS_RESERVED: u64 = 64;

/// Connections that are being set up at a time. Relays listen with queues of 128 and more.
pub const CONNECTING_MAX: usize = 64;

/// Sockets for which the null server makes room.
pub const NULL_SERVER_SOCKETS: usize = 16_000;

/// Messages of one reconciliation. A set of a million differences in frames of 4 KiB takes 8,000.
pub const RECONCILE_ROUNDS_MAX: u32 = 100_000;
