//! Upstreams that refuse: the right reaction, no storm, no hang, and an exit code that tells.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite;

use crate::fake::{Fake, Manners, Neg};
use crate::support::{BASE, Mirror, ids_of, notes};

/// Requests beyond this are a storm.
const REQUESTS_MAX: usize = 60;

fn neg_err(text: &str) -> Neg {
    Neg::Refused(json!(["NEG-ERR", "$", text]))
}

/// An upstream that does not reconcile is read page by page, and is not asked again and again; if
/// only NIP-77 is allowed, the mirror fails and says why.
#[track_caller]
fn check_falls_back(neg: Neg, reason: &str) {
    let upstream = Fake::start(neg);
    let events = notes(21, BASE, 120);
    upstream.hold(&events);
    let mirror = Mirror::new();
    let summary = mirror.ok(&upstream.url, &["--once"]);
    assert_eq!(mirror.ids(), ids_of(&events), "{summary}");
    assert!(upstream.asked("NEG-OPEN") <= 3, "a storm of {}", upstream.asked("NEG-OPEN"));
    assert!(upstream.asked("REQ") <= REQUESTS_MAX, "a storm of {}", upstream.asked("REQ"));
    let strict = Mirror::new();
    let ran = strict.run(&upstream.url, &["--once", "--mode", "negentropy"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains(reason), "{ran:?}");
    assert!(upstream.asked("NEG-OPEN") <= 20, "a storm of {}", upstream.asked("NEG-OPEN"));
}

/// Case 13: "blocked:" for policy is no "too big".
#[test]
fn a_policy_is_not_split_away() {
    check_falls_back(neg_err("blocked: sync is off"), "sync is off");
}

/// Case 16: refused by NOTICE, without an id.
#[test]
fn a_notice_ends_the_try() {
    let notice = Neg::Refused(json!(["NOTICE", "ERROR: bad msg: negentropy disabled"]));
    check_falls_back(notice, "negentropy disabled");
    let unknown = Neg::Refused(json!(["NOTICE", "could not parse command"]));
    check_falls_back(unknown, "could not parse command");
}

/// Case 17, N-15: what cannot be read ends the session, not the mirror.
#[test]
fn malformed_answers_end_the_try() {
    for hex in ["", "6", "zz", "62", "61ffffffffffffffffffffffffff", "6100000290ffffff7f"] {
        let upstream = Fake::start(Neg::Refused(json!(["NEG-MSG", "$", hex])));
        upstream.hold(&notes(22, BASE, 10));
        let mirror = Mirror::new();
        let ran = mirror.run(&upstream.url, &["--once", "--mode", "negentropy"]);
        assert_eq!(ran.code, Some(1), "{hex}: {ran:?}");
        assert!(upstream.asked("NEG-OPEN") <= 20, "{hex}: {}", upstream.asked("NEG-OPEN"));
    }
}

/// Case 15: a stated cap, in whatever form, splits windows, and the sets converge.
#[test]
fn a_cap_splits_windows_and_converges() {
    for said in [json!(50), json!("50"), json!({"max": 50}), Value::Null] {
        let upstream = Fake::start(Neg::Capped(50, said.clone()));
        let events = notes(23, BASE, 200);
        upstream.hold(&events);
        let mirror = Mirror::new();
        let summary = mirror.ok(&upstream.url, &["--once", "--mode", "negentropy"]);
        assert_eq!(mirror.ids(), ids_of(&events), "{said}: {summary}");
        assert!(upstream.asked("NEG-OPEN") <= 150, "{said}: {}", upstream.asked("NEG-OPEN"));
    }
}

/// Case 19: pages with a cap below what is asked, and seconds denser than a page.
#[test]
fn pages_lose_nothing_at_their_edges() {
    let upstream =
        Fake::with(Manners { neg: neg_err("blocked: off"), page: 3, ..Manners::default() });
    let mut factory = zeolite_testkit::Factory::new(24);
    let times = [10, 9, 8, 8, 7, 6, 6, 5];
    let events: Vec<_> =
        times.iter().enumerate().map(|(at, t)| factory.note(at, BASE + t, "x")).collect();
    upstream.hold(&events);
    let mirror = Mirror::new();
    let summary = mirror.ok(&upstream.url, &["--once"]);
    assert_eq!(mirror.ids(), ids_of(&events), "{summary}");
    assert!(upstream.asked("REQ") <= REQUESTS_MAX, "a storm of {}", upstream.asked("REQ"));
}

/// A relay that wants a login ends the mirror with that reason, at once.
#[test]
fn a_login_is_not_guessed() {
    let upstream = Fake::with(Manners {
        neg: neg_err("auth-required: log in"),
        closed: Some("auth-required: log in first"),
        ..Manners::default()
    });
    let ran = Mirror::new().run(&upstream.url, &["--once"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("login"), "{ran:?}");
    assert!(upstream.asked("REQ") <= 20, "a storm of {}", upstream.asked("REQ"));
}

/// M-05, case 70: a refusal of an event is final, counted, and no reason to fail; each event is
/// sent once.
#[test]
fn refused_events_are_sent_once() {
    let upstream = Fake::with(Manners {
        refuse: Some(|event| {
            let is_even = event["created_at"].as_u64().is_some_and(|at| at.is_multiple_of(2));
            is_even.then_some("blocked: even seconds are not taken")
        }),
        ..Manners::default()
    });
    let source = Fake::start(Neg::Served);
    source.hold(&notes(25, BASE, 40));
    let mirror = Mirror::new();
    mirror.ok(&source.url, &["--once"]);
    let summary = mirror.ok(&upstream.url, &["--once", "--dir", "up"]);
    assert_eq!((&summary["accepted"], &summary["refused"]), (&json!(20), &json!(20)), "{summary}");
    assert_eq!(summary["refused_there"], json!({"blocked": 20}));
    assert_eq!(upstream.asked("EVENT"), 40);
}

/// An upstream that takes connections and says nothing: the mirror gives up after five of them, each
/// in the time it is allowed, and says why.
#[track_caller]
fn check_gives_up(opens_sockets: bool, reason: &str) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("ws://{}", listener.local_addr().expect("it is bound"));
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming().map_while(Result::ok) {
            counted.fetch_add(1, Ordering::Relaxed);
            held.push(stream.try_clone().expect("a stream has copies"));
            std::thread::spawn(move || {
                if opens_sockets && let Ok(mut socket) = tungstenite::accept(stream) {
                    while socket.read().is_ok() {}
                }
            });
        }
    });
    let ran = Mirror::new().run(&url, &["--once", "--timeout", "1"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("cannot be reached"), "{ran:?}");
    assert!(ran.stderr.contains(reason), "{ran:?}");
    // Each try asks for the WebSocket and for NIP-11.
    let taken = taken.load(Ordering::Relaxed);
    assert!((5..=10).contains(&taken), "{taken} connections");
}

/// Case 16: silent before it is a WebSocket.
#[test]
fn an_upstream_that_never_answers_is_given_up() {
    check_gives_up(false, "did not answer within 1 s");
}

/// Case 16: silent from then on.
#[test]
fn an_upstream_that_falls_silent_is_given_up() {
    check_gives_up(true, "no progress for 1 s");
}

/// Nobody listens: the mirror gives up with that reason.
#[test]
fn an_upstream_that_is_not_there_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("ws://{}", listener.local_addr().expect("it is bound"));
    drop(listener);
    let ran = Mirror::new().run(&url, &["--once"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("cannot connect"), "{ran:?}");
}
