//! Hard limits of the format. Policy limits, which an operator sets, live with their enforcers.

/// The latest `created_at` an event may carry: five bytes of seconds, the year 36,812.
///
/// Index keys hold the time in five bytes. NIP-77 reserves 2^64-1 for infinity, which lies above.
pub const CREATED_AT_MAX: u64 = (1 << 40) - 1;

/// Characters in a subscription id (NIP-01).
pub const SUB_ID_CHARS_MAX: usize = 64;

/// The largest sequence number: index keys hold five bytes, enough for 10,000 events/s over
/// three years and a half, a thousand times the size of the public network.
pub const SEQ_MAX: u64 = (1 << 40) - 1;

/// Filters in one message. A filter takes three bytes on the wire and over a hundred in memory, so
/// that without a bound a message of 512 KiB would become 20 MB before any policy looks at it.
pub const MESSAGE_FILTERS_MAX: usize = 1_000;

/// Bytes of a client's own words that an error text repeats. Longer ones are cut, so that a
/// refusal never costs more than the message it refuses.
pub const ECHO_BYTES_MAX: usize = 64;

/// Bytes of an error text about broken JSON, which may quote a value of any length.
pub const ERROR_BYTES_MAX: usize = 3 * ECHO_BYTES_MAX;
