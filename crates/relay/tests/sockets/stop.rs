//! Stopping a relay.

use std::time::{Duration, Instant};

use serde_json::json;
use zeolite_testkit::Factory;

use crate::support::relay;

/// Case 64: a stop under load answers what was taken in, says goodbye to everyone, and does not
/// wait for those who do not listen.
#[test]
fn a_stop_answers_what_is_under_way_and_closes() {
    let mut relay = relay(|_| {});
    let mut factory = Factory::new(8);
    let mut idle = relay.client();
    assert!(idle.query("never", &json!({"kinds": [7]})).is_empty());
    let deaf = relay.raw_websocket();
    let mut publisher = relay.client();
    let notes: Vec<_> =
        (0..500).map(|at| json!(["EVENT", factory.note(0, 1_700_000_000 + at, "x")])).collect();
    publisher.send_all(&notes);
    publisher.expect(json!(["OK", notes[0][1]["id"], true, ""]));
    let running = relay.relay.take().unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let stop = scope.spawn(|| running.stop());
        assert_eq!(idle.close_code(), 1001);
        // OKs up to some point, then the close frame.
        assert_eq!(publisher.close_code(), 1001);
        drop(publisher);
        stop.join().unwrap();
    });
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    drop(deaf);
}
