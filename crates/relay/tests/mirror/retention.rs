//! A mirror into a relay that does not keep everything.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::support::{BASE, Relay, eventually, ids_at, ids_of, notes, publish};

const OUTCOMES: &str = "zeolite_mirror_events_total{mirror=\"up\",outcome=";

/// M-04: what the relay would remove at once is refused when a mirror brings it, in the catch-up
/// and live. The rest comes, and the mirror is live all the same.
#[test]
fn what_is_not_kept_is_not_mirrored() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after the epoch").as_secs();
    let upstream = Relay::start("");
    let (old, young) = (notes(71, BASE, 60), notes(72, now - 1_000, 40));
    publish(&upstream.url, &old);
    publish(&upstream.url, &young);
    let config = format!(
        "[[retention]]\nkinds = [1]\nage_s_max = 86400\n\
         [[mirror]]\nname = \"up\"\nurl = \"{}\"\n",
        upstream.url
    );
    let relay = Relay::start(&config);
    eventually("the mirror is live", || relay.metric("zeolite_mirror_live{mirror=\"up\"}") == 1);
    let count = |outcome: &str| relay.metric(&format!("{OUTCOMES}\"{outcome}\"}}"));
    assert_eq!((count("stored"), count("blocked")), (40, 60));
    assert_eq!(ids_at(&relay.url), ids_of(&young));
    let (late, fresh) = (notes(73, BASE + 500, 5), notes(74, now - 500, 5));
    publish(&upstream.url, &late);
    publish(&upstream.url, &fresh);
    eventually("what is new arrived", || count("stored") == 45);
    eventually("what is old was refused", || count("blocked") == 65);
    assert_eq!(ids_at(&relay.url), &ids_of(&young) | &ids_of(&fresh));
    assert_eq!(relay.metric("zeolite_retention_removed_total{rule=\"1\"}"), 0, "nothing came in");
}
