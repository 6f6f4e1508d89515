//! Between relays of ours: every direction and mode, the live tail, dry runs, trust, reconnects.

use std::io::{BufRead, BufReader};

use serde_json::json;
use zeolite_testkit::Factory;

use crate::support::{
    BASE, Client, Mirror, Relay, eventually, id_of, ids_at, ids_of, notes, publish,
};

/// Down by both modes gives what the upstream holds; a second run finds nothing in one round.
#[test]
fn down_gives_the_same_set_and_finds_nothing_again() {
    let relay = Relay::start("");
    publish(&relay.url, &notes(1, BASE, 300));
    for mode in ["negentropy", "req", "auto"] {
        let mirror = Mirror::new();
        let first = mirror.ok(&relay.url, &["--once", "--mode", mode]);
        assert_eq!(first["stored"], 300, "{mode}: {first}");
        assert_eq!(mirror.ids(), ids_at(&relay.url), "{mode}");
        let again = mirror.ok(&relay.url, &["--once", "--mode", mode]);
        assert_eq!(again["stored"], 0, "{mode}: {again}");
        if mode != "req" {
            assert_eq!(again["rounds"], 1, "{mode}: {again}");
        }
    }
}

/// Up and both: each side gets what it lacks, deletions included, and nothing else.
#[test]
fn up_and_both_bring_the_sides_together() {
    let (first, second) = (Relay::start(""), Relay::start(""));
    let shared = notes(2, BASE, 50);
    publish(&first.url, &shared);
    publish(&second.url, &shared);
    publish(&first.url, &notes(3, BASE, 60));
    publish(&second.url, &notes(4, BASE + 30, 70));
    let mut factory = Factory::new(2);
    let target = id_of(&shared[0]);
    let deletion = factory.draft(0).kind(5).at(BASE + 1000).tag(&["e", &target]).build();
    publish(&first.url, &[deletion]);
    let mirror = Mirror::new();
    mirror.ok(&first.url, &["--once"]);
    let up = mirror.ok(&second.url, &["--once", "--dir", "up"]);
    assert_eq!(up["accepted"], 61, "{up}");
    assert!(!ids_at(&second.url).contains(&target), "the deletion travelled");
    let both = mirror.ok(&second.url, &["--once", "--dir", "both"]);
    assert_eq!(both["stored"], 70, "{both}");
    assert_eq!(mirror.ids(), ids_at(&second.url));
    assert_eq!(ids_at(&second.url).len(), 50 + 60 + 70);
}

/// A dry run says what would move, and moves nothing.
#[test]
fn a_dry_run_moves_nothing() {
    let (relay, other) = (Relay::start(""), Relay::start(""));
    publish(&relay.url, &notes(5, BASE, 40));
    publish(&other.url, &notes(6, BASE, 25));
    let mirror = Mirror::new();
    mirror.ok(&other.url, &["--once"]);
    let dry = mirror.ok(&relay.url, &["--dry-run", "--dir", "both"]);
    assert_eq!((&dry["offered_down"], &dry["offered_up"]), (&json!(40), &json!(25)), "{dry}");
    assert_eq!((mirror.ids().len(), ids_at(&relay.url).len()), (25, 40));
}

/// Case 25, 28: only what the filter selects travels, and deletions by strangers do not.
#[test]
fn the_filter_bounds_what_travels() {
    let relay = Relay::start("");
    let mut factory = Factory::new(7);
    let author = factory.pubkey(0);
    let mine: Vec<_> = (0..20).map(|at| factory.note(0, BASE + at, "mine")).collect();
    let theirs: Vec<_> = (0..20).map(|at| factory.note(1, BASE + at, "theirs")).collect();
    let strangers = factory.draft(1).kind(5).at(BASE + 50).tag(&["e", &id_of(&theirs[0])]).build();
    let local = factory.note(1, BASE, "held here only");
    let aimed = factory.draft(1).kind(5).at(BASE + 51).tag(&["e", &id_of(&local)]).build();
    publish(&relay.url, &mine);
    publish(&relay.url, &theirs);
    publish(&relay.url, &[strangers, aimed]);
    let holder = Relay::start("");
    publish(&holder.url, std::slice::from_ref(&local));
    let mirror = Mirror::new();
    mirror.ok(&holder.url, &["--once"]);
    let filter = json!({"authors": [author], "kinds": [1]}).to_string();
    mirror.ok(&relay.url, &["--once", "--filter", &filter]);
    let mut expected = ids_of(&mine);
    expected.insert(id_of(&local));
    assert_eq!(mirror.ids(), expected);
    let window = Mirror::new();
    let (since, until) = ((BASE + 5).to_string(), (BASE + 9).to_string());
    window.ok(&relay.url, &["--once", "--filter", &filter, "--since", &since, "--until", &until]);
    assert_eq!(window.ids(), ids_of(&mine[5..10]));
}

/// A relay's own `[[mirror]]`: catches up, then passes on what is new both ways, at once, also
/// what is dated back (case 27); the page and the metrics tell.
#[test]
fn a_relay_mirrors_live_in_both_directions() {
    let upstream = Relay::start("");
    publish(&upstream.url, &notes(8, BASE, 30));
    let config = format!("[[mirror]]\nurl = \"{}\"\ndir = \"both\"\nname = \"up\"\n", upstream.url);
    let relay = Relay::start(&config);
    publish(&relay.url, &notes(9, BASE, 10));
    let live = r#"zeolite_mirror_live{mirror="up"}"#;
    eventually("the mirror is live", || relay.metric(live) == 1);
    let both = [&relay.url, &upstream.url];
    eventually("both have all", || both.iter().all(|url| ids_at(url).len() == 40));
    assert_eq!(ids_at(&relay.url), ids_at(&upstream.url));
    let mut subscriber = Client::connect(&relay.url).expect("the relay listens");
    subscriber.send(&json!(["REQ", "live", {"limit": 0}])).expect("it reads");
    assert_eq!(subscriber.recv().expect("it answers")[0], "EOSE");
    let late = notes(10, BASE - 100_000, 5);
    publish(&upstream.url, &late);
    for event in &late {
        assert_eq!(subscriber.recv().expect("it comes live")[2]["id"], event["id"]);
    }
    let back = notes(11, BASE - 200_000, 5);
    publish(&relay.url, &back);
    eventually("it travelled up", || ids_of(&back).is_subset(&ids_at(&upstream.url)));
    let series = r#"zeolite_mirror_events_total{mirror="up",outcome="sent"}"#;
    // What came down is not sent back.
    eventually("each event of this side was sent once", || relay.metric(series) == 15);
}

/// A wrong signature is refused and counted, unless the upstream is trusted; a directory that holds
/// one forged event shows the difference.
#[test]
fn trust_is_a_decision_of_the_operator() {
    let forger = crate::fake::Fake::start(crate::fake::Neg::Served);
    let mut events = notes(12, BASE, 4);
    let forged = json!("0".repeat(128));
    events[2]["sig"] = forged;
    forger.hold(&events);
    let doubting = Mirror::new();
    let summary = doubting.ok(&forger.url, &["--once"]);
    assert_eq!((&summary["stored"], &summary["invalid"]), (&json!(3), &json!(1)), "{summary}");
    let trusting = Mirror::new();
    let summary = trusting.ok(&forger.url, &["--once", "--trust"]);
    assert_eq!(summary["stored"], 4, "{summary}");
}

/// The store of a running relay is held: the message says what to do instead.
#[test]
fn a_held_store_is_explained() {
    let relay = Relay::start("");
    let mirror = Mirror::new();
    let mut holder = mirror.command(&["--from", &relay.url]).spawn().expect("it runs");
    let mut reports = BufReader::new(holder.stdout.take().expect("it is piped")).lines();
    reports.next().expect("a report").expect("it is text");
    let held = mirror.run(&relay.url, &["--once"]);
    assert_eq!(held.code, Some(1), "{held:?}");
    for word in ["in use by process", "[[mirror]]", "--into"] {
        assert!(held.stderr.contains(word), "{held:?}");
    }
    // SIGTERM ends a live mirror in order.
    let pid = holder.id().to_string();
    std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill runs");
    let code = holder.wait().expect("it was ours").code();
    assert_eq!(code, Some(130));
}
