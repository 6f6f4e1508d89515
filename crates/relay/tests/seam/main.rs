//! The seam between stored history and the live feed, simulated.
//!
//! A seeded run drives the real store, admitter, committer, session, query jobs, lanes, outboxes
//! and fan-out machine on one thread, in a random interleaving: admissions, commits, slices of
//! queries and replays, attachments, partial writes, lag and drain, replaced, closed and ended
//! subscriptions, disconnects. Every byte that the sockets take is read back as a client would,
//! and held against an oracle that shares no code with the product.
//!
//! `ZEOLITE_SEEDS=n` runs n seeds; a failing seed prints the command that replays it.

#![allow(missing_docs, reason = "a test crate has no callers")]

mod bounds;
mod client;
mod history;
mod log_end;
mod request;
mod seen;
mod world;

use zeolite_testkit::run_seeds;

use seen::Seen;
use world::World;

/// Seeds of an ordinary run: a few seconds.
const SEEDS: u64 = 300;
/// Steps of one run before everything comes to rest.
const STEPS: usize = 400;

/// R01-47, R01-49 to R01-51, R01-75, R01-76, R01-82, cases 20, 39, 46, 48 and 50: each subscription
/// is sent each matching event exactly once, stored ones newest first before its one `EOSE`,
/// live ones in the order of their `Seq` after it; nothing above the ceiling before, nothing at
/// or below it after; a subscription that is ended by the relay is told so.
#[test]
fn every_subscription_sees_every_event_once() {
    let mut runs = 0;
    let mut seen = Seen::default();
    run_seeds("every_subscription_sees_every_event_once", SEEDS, |rng| {
        let mut world = World::new(rng);
        for _ in 0..STEPS {
            world.step();
        }
        world.come_to_rest();
        world.check();
        runs += 1;
        seen.add(&world.seen);
    });
    if runs >= SEEDS {
        seen.assert_all_at_least(runs);
    }
}
