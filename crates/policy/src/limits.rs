//! The limits of this crate, each with its arithmetic.

/// Seconds by which the `created_at` of an HTTP authorisation may differ from the clock, either
/// way (NIP-98 suggests 60).
pub(crate) const HTTP_AUTH_AGE_S_MAX: u64 = 60;

/// Bytes of a reason that an administrator gives; longer ones are cut. A list of 100,000 banned
/// keys then takes at most 30 MB.
pub(crate) const REASON_BYTES_MAX: usize = 256;
