//! Bounds so narrow that every queue is full now and then.

use std::time::Duration;

use rand::RngExt;
use rand::seq::IndexedRandom;
use zeolite_relay::fanout::FanoutBounds;
use zeolite_relay::outbox::OutboxBounds;
use zeolite_testkit::TestRng;

pub(crate) fn fanout_bounds(rng: &mut TestRng) -> FanoutBounds {
    FanoutBounds {
        recent_events_max: rng.random_range(0..12),
        recent_bytes_max: *[2000, 100_000].choose(rng).expect("not empty"),
        lag_events_max: *[8, 1000, 1000].choose(rng).expect("not empty"),
        lag_max: Duration::from_secs(*[3, 10_000].choose(rng).expect("not empty")),
        at_once_max: 0,
    }
}

/// An event is 400 to 700 bytes: a few of them fill any of these outboxes, and the ephemeral one that
/// ends a run finds room for both subscriptions of a connection.
pub(crate) fn outbox_bounds(rng: &mut TestRng) -> OutboxBounds {
    OutboxBounds {
        results_high_bytes: rng.random_range(500..4000),
        low_bytes: rng.random_range(0..500),
        live_bytes_max: rng.random_range(500..3000),
        reply_bytes_max: 1 << 20,
        ingest_bytes_max: 1 << 20,
    }
}
