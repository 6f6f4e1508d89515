//! What one client may send, each limit with its arithmetic.

/// The limits of a session. NIP-11's `limitation` is derived from them; the field that each one
/// feeds stands with it.
///
/// The length of a subscription id is no matter of policy: see
/// [`zeolite_proto::limits::SUB_ID_CHARS_MAX`], NIP-11's `max_subid_length`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Bytes of one message, `max_message_length`. A longer one ends the connection (1009).
    ///
    /// A follow list of 5,000 keys of 75 bytes each is 375 kB; one of 6,500 still fits. 1,000
    /// connections that each hold half a message back cost 256 MiB.
    pub message_bytes_max: usize,

    /// Open subscriptions of one connection, `max_subscriptions`.
    ///
    /// Known clients keep 10 to 50 open. An entry here takes 32 bytes and the id's own.
    pub subscriptions_max: usize,

    /// Filters in one REQ or COUNT. NIP-11 has no field for it.
    ///
    /// Each filter is a scan of its own: with [`Self::subscriptions_max`] a connection can ask
    /// for 5,000 scans at once, and no more.
    pub filters_max: usize,

    /// List entries in the filters of all open subscriptions together. NIP-11 has no field for it.
    ///
    /// Standing filters live in memory: 20,000 entries of 32 bytes, and about twice that in
    /// the filter index, make 2 MB for the greediest connection. A follow list of 5,000 fits
    /// four times.
    pub filter_values_max: usize,

    /// Open reconciliations of one connection (NIP-77); 0: none are offered. No field in NIP-11.
    ///
    /// A mirror works on a few windows of time at once. The filters' list entries are bounded by
    /// [`Self::filter_values_max`] again; sets that must be built are bounded by the relay.
    pub reconciliations_max: usize,

    /// Tags of one event, `max_event_tags`. A follow list has one for each key.
    pub event_tags_max: usize,

    /// Characters (Unicode scalar values) in an event's content, `max_content_length`.
    ///
    /// Half of the default message, so that text which doubles in JSON still fits.
    pub content_chars_max: usize,

    /// How old an event may be on arrival, in seconds, `created_at_lower_limit`; `None`: any age.
    /// Requests to vanish are taken at any age (R62-06), gift wraps with two days of grace
    /// because they are back-dated on purpose (R59-06).
    pub created_at_past_s_max: Option<u64>,

    /// How far in the future an event may lie on arrival, in seconds, `created_at_upper_limit`;
    /// `None`: any. 15 minutes forgive a clock that is wrong, and keep a request to vanish from
    /// barring its author for long (R62-12).
    pub created_at_future_s_max: Option<u64>,

    /// How old an event of an ephemeral kind may be, in seconds; `None`: any age. No field in
    /// NIP-11.
    ///
    /// They are not stored, so nothing else stops an old one from being sent again and again.
    /// An hour is more than any clock is wrong; ephemeral gift wraps get two days more.
    pub ephemeral_age_s_max: Option<u64>,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            message_bytes_max: 512 * 1024,
            subscriptions_max: 100,
            filters_max: 50,
            filter_values_max: 20_000,
            reconciliations_max: 16,
            event_tags_max: 5_000,
            content_chars_max: 256 * 1024,
            created_at_past_s_max: None,
            created_at_future_s_max: Some(15 * 60),
            ephemeral_age_s_max: Some(60 * 60),
        }
    }
}
