//! Replays that pass over a part of the log, or find that it ends early.

use std::net::Ipv4Addr;
use std::sync::Arc;

use serde_json::json;
use zeolite_proto::{EventParser, Filter, Gates, Kind, Seq, SubId, Timestamp, Verified};
use zeolite_relay::clients::Visitor;
use zeolite_relay::conn::{Conn, ConnId};
use zeolite_relay::fanout::Replay;
use zeolite_relay::inbox::FanoutIn;
use zeolite_relay::login::LoginDesk;
use zeolite_relay::outbox::OutboxBounds;
use zeolite_relay::query::{Desk, Job, Step};
use zeolite_relay::subscription::Subscription;
use zeolite_session::{LoginTerms, SubKey};
use zeolite_store::{Options, ScanOptions, SliceBudget};
use zeolite_testkit::Factory;

/// Replays `(1, through]` of a log of events of these kinds to an anonymous client that wants
/// everything. Gives how far the replay says it came, and how many events the client is sent.
fn replay(kinds: &[u16], gates: Gates, through: u64) -> (Seq, usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let (store, mut admitter, _committer) =
        zeolite_store::open(dir.path(), Options::default()).expect("a store");
    let mut factory = Factory::unsigned(1);
    let mut parser = EventParser::new();
    let events = kinds.iter().zip(0..).map(|(kind, at)| {
        let event = factory.draft(0).kind(*kind).at(at).build();
        Verified::trusted(parser.parse(&event.to_string()).expect("an event"))
    });
    admitter.admit(events.collect(), Timestamp(0)).expect("room");

    let bytes_max = 1 << 20;
    let bounds = OutboxBounds {
        results_high_bytes: bytes_max,
        low_bytes: bytes_max,
        live_bytes_max: bytes_max,
        reply_bytes_max: bytes_max,
        ingest_bytes_max: bytes_max,
    };
    let desk = LoginDesk::new(LoginTerms::default(), Arc::new(gates));
    let visitor = Visitor::free(Ipv4Addr::LOCALHOST.into());
    let conn = Arc::new(Conn::new(ConnId(1), visitor, &desk, bounds));
    let filters = [Filter::from_json(&json!({}).to_string()).expect("a filter")].into();
    let sub = SubId::new("s").expect("an id");
    let feed = Subscription::new(Arc::clone(&conn), SubKey(1), sub, filters);
    let mut desk = Desk {
        store,
        options: ScanOptions::default(),
        budget: SliceBudget::UNLIMITED,
        frames: Vec::new(),
    };
    let mut job = Job::Replay(Replay { feed, after: Seq(1), through: Seq(through) });
    let last = (0..3).map(|_| job.run(&mut desk, Timestamp(0))).find(|step| *step != Step::More);
    let Some(Step::Done(Some(FanoutIn::Replayed { reached, .. }))) = last else {
        panic!("{last:?}");
    };
    let mut frames = Vec::new();
    conn.outbox.take(&mut frames);
    (reached, String::from_utf8_lossy(&frames).matches("[\"EVENT\",\"s\",").count())
}

/// A failed commit takes back what had been admitted and fanned out. A replay that was asked to go
/// that far span on a worker for ever; it ends with the log, and the fan-out goes on from where
/// it is.
#[test]
fn a_replay_ends_with_the_log() {
    assert_eq!(replay(&[1, 1, 1], Gates::default(), 9), (Seq(9), 2));
}

/// R59-01: what a client may not read it is not sent after a lag either.
#[test]
fn a_replay_passes_over_what_is_for_others() {
    let gates = Gates::new([Kind(4)], []);
    assert_eq!(replay(&[1, 4, 1, 4, 4, 1], gates, 6), (Seq(6), 2));
}
