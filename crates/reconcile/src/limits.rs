//! What a message may cost, and the numbers of the protocol.

/// The first byte of every message: version 1.
pub const VERSION: u8 = 0x61;

/// A range with fewer items is listed rather than split: the reference's choice, twice the buckets.
pub const LIST_ITEMS_MAX: usize = 2 * BUCKETS - 1;

/// Into how many ranges a range is split: the reference's choice.
pub const BUCKETS: usize = 16;

/// The least a frame may be limited to. A split takes up to 16 * (10 + 1 + 32 + 1 + 16) = 960
/// bytes and a list of 31 ids 1,040, so that a frame of this size always carries something.
pub const FRAME_BYTES_MIN: usize = 4_096;

/// What is kept free of a frame for its end: the bound, count and last id of a list that is cut
/// (43 + 11 + 32), the skip before it (44), and the fingerprint of the rest (19).
pub(crate) const FRAME_RESERVE_BYTES: usize = 200;

/// Rounds that need no reason. Equal depth of both trees takes log16(n) rounds, 15 at most in
/// practice; limited frames take more, and earn them with what they list.
pub(crate) const ROUNDS_FREE: u64 = 64;

/// Rounds of one session: 10M ids in frames of 4 kB are 83,000.
pub(crate) const ROUNDS_MAX: u64 = 100_000;

/// Bytes of splits that any peer can use. Of the 16 parts of a range that differs, 350 bytes, at least
/// one differs, which takes as many bytes in the peer's next message; so whoever sends messages of so
/// many bytes has no use for more, and known clients send 60,000.
pub(crate) const SPLIT_BYTES_MIN: usize = 60_000;

/// Bytes of answers of which ranges are still to be asked about. With frames of 500 kB a session
/// keeps at most one answer for each level of the tree, of which 10M items have six.
pub(crate) const REST_BYTES_MAX: usize = 8 << 20;

/// How many bytes a message may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimit(usize);

/// A limit under which a frame could fail to carry anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame limit is 0 for none, or at least {FRAME_BYTES_MIN} bytes")]
pub struct FrameLimitError;

impl FrameLimit {
    /// No limit: a message may list the whole set.
    pub const NONE: Self = Self(usize::MAX);

    /// The smallest there is.
    pub const LEAST: Self = Self(FRAME_BYTES_MIN);

    /// At most `bytes_max` bytes, counted before they become hex. 0 stands for no limit.
    pub fn new(bytes_max: usize) -> Result<Self, FrameLimitError> {
        match bytes_max {
            0 => Ok(Self::NONE),
            1..FRAME_BYTES_MIN => Err(FrameLimitError),
            _ => Ok(Self(bytes_max)),
        }
    }

    /// What may be filled before the end of the frame is written.
    pub(crate) fn fill_bytes_max(self) -> usize {
        self.0 - FRAME_RESERVE_BYTES
    }
}
