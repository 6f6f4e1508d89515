//! The limits of this crate, each with its arithmetic.

/// Seconds by which the `created_at` of an HTTP authorisation may differ from the clock, either
/// way (NIP-98 suggests 60).
pub(crate) const HTTP_AUTH_AGE_S_MAX: u64 = 60;

/// Bytes of a reason that an administrator gives; longer ones are cut. A list of 100,000 banned
/// keys then takes at most 30 MB.
pub(crate) const REASON_BYTES_MAX: usize = 256;

/// How far back gift wraps may be dated on purpose (NIP-59).
pub(crate) const BACKDATED_S_MAX: u64 = 2 * 24 * 60 * 60;

/// Kinds up to which a retention rule is searched for by kind. Each is one walk over the index;
/// more are found by walking the timeline.
pub(crate) const RETENTION_FILTER_KINDS_MAX: usize = 256;

/// Authors up to which a retention rule is searched for by author, for the same reason.
pub(crate) const RETENTION_FILTER_AUTHORS_MAX: usize = 2_000;

/// The part of a store's bound that is freed at once when it is passed, so that room is made in
/// few long passes: a sixteenth.
pub(crate) const RETENTION_SLACK_FRACTION: u64 = 16;

/// The part of a store's bound that must be free before events are taken again that are as old as
/// those that went: a quarter, four times what a pass frees.
pub(crate) const RETENTION_FLOOR_FRACTION: u64 = 4;

/// Roles, at most 1.5 kB each: what is said of all of them takes 150 kB in memory and in the file.
pub(crate) const ROLES_MAX: usize = 100;

/// Times that a role is given to somebody. One event lists them all: 150 bytes each with the longest
/// id, 215 if all of it must be escaped, make 430 kB at most, which fits into the largest message by
/// default (512 kB); 2,000 tags, into the 5,000 that events may have by default.
pub(crate) const ASSIGNMENTS_MAX: usize = 2_000;

/// Bytes of a role's id: a key in hex, or any shorter name.
pub(crate) const ROLE_ID_BYTES_MAX: usize = 64;

/// Bytes of a role's label, a few words.
pub(crate) const ROLE_LABEL_BYTES_MAX: usize = 256;

/// Bytes of a role's description, a paragraph.
pub(crate) const ROLE_DESCRIPTION_BYTES_MAX: usize = 1_024;
