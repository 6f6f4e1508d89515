//! `--into`: between two relays, of which the mirror keeps nothing.

use serde_json::json;

use crate::fake::{Fake, Neg};
use crate::independent::{independent_relay, runtime};
use crate::support::{BASE, Relay, between, ids_at, ids_of, notes, publish};

/// Down and both ways bring two relays together, by either mode; a second run finds nothing, and a
/// dry run moves nothing.
#[test]
fn two_relays_are_brought_together() {
    for mode in ["negentropy", "req"] {
        let (from, into) = (Relay::start(""), Relay::start(""));
        publish(&from.url, &notes(61, BASE, 300));
        publish(&into.url, &notes(62, BASE + 100, 200));
        let dry = between(&from.url, &into.url, &["--dry-run", "--dir", "both", "--mode", mode]);
        assert_eq!(dry.code, Some(0), "{mode}: {dry:?}");
        assert_eq!((ids_at(&from.url).len(), ids_at(&into.url).len()), (300, 200));
        let down = between(&from.url, &into.url, &["--once", "--mode", mode]);
        assert_eq!((down.code, &down.summary["stored"]), (Some(0), &json!(300)), "{down:?}");
        let both = between(&from.url, &into.url, &["--once", "--dir", "both", "--mode", mode]);
        assert_eq!((both.code, &both.summary["accepted"]), (Some(0), &json!(200)), "{both:?}");
        assert_eq!(ids_at(&from.url), ids_at(&into.url), "{mode}");
        assert_eq!(ids_at(&from.url).len(), 500, "{mode}");
    }
}

/// From a relay of another make into ours, and back.
#[test]
fn relays_of_two_makes_are_brought_together() {
    let runtime = runtime();
    let (_relay, theirs) = runtime.block_on(independent_relay());
    let ours = Relay::start("");
    let (at_theirs, at_ours) = (notes(63, BASE, 700), notes(64, BASE + 50, 700));
    publish(&theirs, &at_theirs);
    publish(&ours.url, &at_ours);
    let ran = between(&theirs, &ours.url, &["--once", "--dir", "both"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let all = &ids_of(&at_theirs) | &ids_of(&at_ours);
    assert_eq!(ids_at(&ours.url), all, "{ran:?}");
    let again = between(&theirs, &ours.url, &["--dry-run", "--dir", "both"]);
    let differences = (&again.summary["offered_down"], &again.summary["offered_up"]);
    assert_eq!(differences, (&json!(0), &json!(0)), "{again:?}");
}

/// One of the two does not reconcile: both are read page by page.
#[test]
fn a_pair_falls_back_to_pages() {
    let refusing = Fake::start(Neg::Refused(json!(["NEG-ERR", "$", "blocked: sync is off"])));
    let events = notes(65, BASE, 150);
    refusing.hold(&events);
    let ours = Relay::start("");
    let ran = between(&refusing.url, &ours.url, &["--once"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ids_at(&ours.url), ids_of(&events));
    assert!(refusing.asked("NEG-OPEN") <= 10, "a storm of {}", refusing.asked("NEG-OPEN"));
}
