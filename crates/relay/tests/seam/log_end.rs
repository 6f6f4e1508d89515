//! Replays against a log that ends early.

use std::net::Ipv4Addr;
use std::sync::Arc;

use serde_json::json;
use zeolite_proto::{EventParser, Filter, Seq, SubId, Timestamp, Verified};
use zeolite_relay::clients::Visitor;
use zeolite_relay::conn::{Conn, ConnId};
use zeolite_relay::fanout::Replay;
use zeolite_relay::inbox::FanoutIn;
use zeolite_relay::outbox::OutboxBounds;
use zeolite_relay::query::{Desk, Job, Step};
use zeolite_relay::subscription::Subscription;
use zeolite_session::SubKey;
use zeolite_store::{Options, ScanOptions, SliceBudget};
use zeolite_testkit::Factory;

/// A failed commit takes back what had been admitted and fanned out. A replay that was asked to go
/// that far span on a worker for ever; it ends with the log.
#[test]
fn a_replay_ends_with_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let (store, mut admitter, _committer) =
        zeolite_store::open(dir.path(), Options::default()).unwrap();
    let mut factory = Factory::unsigned(1);
    let mut parser = EventParser::new();
    let events = (0..3).map(|at| {
        let event = factory.note(0, at, "x");
        Verified::trusted(parser.parse(&event.to_string()).unwrap())
    });
    admitter.admit(events.collect(), Timestamp(0)).unwrap();

    let bytes_max = 1 << 20;
    let bounds = OutboxBounds {
        results_high_bytes: bytes_max,
        low_bytes: bytes_max,
        live_bytes_max: bytes_max,
        reply_bytes_max: bytes_max,
        ingest_bytes_max: bytes_max,
    };
    let conn = Arc::new(Conn::new(ConnId(1), Visitor::free(Ipv4Addr::LOCALHOST.into()), bounds));
    let filters = [Filter::from_json(&json!({}).to_string()).unwrap()].into();
    let sub = SubId::new("s").unwrap();
    let feed = Subscription::new(Arc::clone(&conn), SubKey(1), sub, filters);
    let mut desk = Desk {
        store,
        options: ScanOptions::default(),
        budget: SliceBudget::UNLIMITED,
        frames: Vec::new(),
    };
    let mut job = Job::Replay(Replay { feed, after: Seq(1), through: Seq(9) });
    let last = (0..3).map(|_| job.run(&mut desk, Timestamp(0))).find(|step| *step != Step::More);
    let Some(Step::Done(Some(FanoutIn::Replayed { reached, .. }))) = last else {
        panic!("{last:?}");
    };
    assert_eq!(reached, Seq(9), "the fan-out goes on from where it is");
    let mut frames = Vec::new();
    conn.outbox.take(&mut frames);
    let text = String::from_utf8_lossy(&frames);
    assert_eq!(text.matches("[\"EVENT\",\"s\",").count(), 2, "events 2 and 3");
}
