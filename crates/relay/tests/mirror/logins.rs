//! Upstreams that want a login (NIP-42), and mirrors that have a key.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::fake::{Fake, Manners};
use crate::guard::Guard;
use crate::support::{BASE, Mirror, Ran, Relay, between, ids_of, notes, publish};

/// NIP-19's own example of a secret key.
const NSEC: &str = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5";

/// The public key that belongs to it.
const KEY: &str = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e";

/// Messages beyond this are a storm.
const ASKED_MAX: usize = 20;

fn guarded(guard: Guard) -> Fake {
    Fake::with(Manners { guard: Some(guard), ..Manners::default() })
}

/// A key in the mirror's directory, with these rights.
fn key_file(mirror: &Mirror, mode: u32) -> PathBuf {
    let path = mirror.0.path().join("login.key");
    std::fs::write(&path, format!("{NSEC}\n")).expect("a file can be written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("it is ours");
    path
}

fn run(mirror: &Mirror, upstream: &Fake, arguments: &[&str]) -> Ran {
    let key = key_file(mirror, 0o600);
    let login = ["--once", "--auth-key-file", key.to_str().expect("a plain path")];
    mirror.run(&upstream.url, &[&login, arguments].concat())
}

/// Whether it asks at once or only when something is refused: what was refused is asked again, down
/// and up, by NIP-77 and page by page.
#[test]
fn a_login_opens_the_door() {
    for asks_first in [true, false] {
        for mode in ["negentropy", "req"] {
            let case = format!("asks first: {asks_first}, {mode}");
            let upstream = guarded(Guard { asks_first, ..Guard::KIND });
            let (theirs, ours) = (notes(31, BASE, 40), notes(32, BASE, 30));
            upstream.hold(&theirs);
            let source = Fake::with(Manners::default());
            source.hold(&ours);
            let mirror = Mirror::new();
            mirror.ok(&source.url, &["--once"]);
            let ran = run(&mirror, &upstream, &["--dir", "both", "--mode", mode]);
            assert_eq!(ran.code, Some(0), "{case}: {ran:?}");
            let all = ids_of(&[theirs, ours].concat());
            assert_eq!((mirror.ids(), upstream.ids()), (all.clone(), all), "{case}: {ran:?}");
            assert!((1..=3).contains(&upstream.asked("AUTH")), "{case}");
            let asked = upstream.asked("REQ") + upstream.asked("NEG-OPEN");
            assert!(asked <= ASKED_MAX, "{case}: a storm of {asked}");
        }
    }
}

/// Up alone: events that were refused at the door are sent again, and nothing is lost.
#[test]
fn events_wait_for_the_login() {
    let upstream = guarded(Guard { asks_first: false, ..Guard::KIND });
    let source = Fake::with(Manners::default());
    let events = notes(33, BASE, 50);
    source.hold(&events);
    let mirror = Mirror::new();
    mirror.ok(&source.url, &["--once"]);
    let ran = run(&mirror, &upstream, &["--dir", "up"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(upstream.ids(), ids_of(&events));
}

/// The key is not wanted, or not for this: final, said, and not tried again and again.
#[test]
fn a_key_that_is_not_wanted_ends_the_mirror() {
    let refuses = Guard { refuses: Some("restricted: not on the list"), ..Guard::KIND };
    let restricts = Guard { restricts: Some("restricted: members only"), ..Guard::KIND };
    for (guard, reason) in [(refuses, "not on the list"), (restricts, "members only")] {
        let upstream = guarded(guard);
        upstream.hold(&notes(34, BASE, 10));
        let mirror = Mirror::new();
        let ran = run(&mirror, &upstream, &[]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("refuses the mirror's key"), "{ran:?}");
        assert!(ran.stderr.contains(reason) && !ran.stderr.contains(NSEC), "{ran:?}");
        let asked = upstream.asked("REQ") + upstream.asked("NEG-OPEN") + upstream.asked("AUTH");
        assert!(asked <= ASKED_MAX, "a storm of {asked}");
    }
}

/// Both relays of a pair may want it.
#[test]
fn a_pair_logs_in_at_both() {
    let (from, into) = (guarded(Guard::KIND), guarded(Guard { asks_first: false, ..Guard::KIND }));
    let events = notes(35, BASE, 40);
    from.hold(&events);
    let keys = Mirror::new();
    let key = key_file(&keys, 0o600);
    let key = key.to_str().expect("a plain path");
    let ran = between(&from.url, &into.url, &["--once", "--auth-key-file", key]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(into.ids(), ids_of(&events));
}

/// A key that others may read is not used, and what it is does not show.
#[test]
fn a_key_that_others_may_read_is_refused() {
    let upstream = guarded(Guard::KIND);
    let mirror = Mirror::new();
    let key = key_file(&mirror, 0o644);
    let key = key.to_str().expect("a plain path");
    let ran = mirror.run(&upstream.url, &["--once", "--auth-key-file", key]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("chmod 600") && !ran.stderr.contains(NSEC), "{ran:?}");
    assert_eq!(upstream.asked("AUTH"), 0);
}

/// R77-10, R59-01: of a relay of ours a mirror gets what is for others only with a key that may read
/// everything, and then all of it, by NIP-77 and page by page.
#[test]
fn a_keeper_mirrors_what_is_private() {
    let upstream = Relay::start(&format!("[auth]\nprompted = true\nkeepers = [\"{KEY}\"]\n"));
    let mut factory = zeolite_testkit::Factory::new(36);
    let mut private = |kind: u16, at: u64| {
        let recipient = factory.pubkey(9);
        factory.draft(0).kind(kind).at(BASE + at).tag(&["p", &recipient]).build()
    };
    let open = notes(37, BASE, 20);
    let private: Vec<_> =
        (0..20).map(|at| private(if at % 2 == 0 { 4 } else { 1059 }, at)).collect();
    publish(&upstream.url, &open);
    publish(&upstream.url, &private);
    let all = ids_of(&[open.clone(), private].concat());
    for mode in ["negentropy", "req"] {
        let stranger = Mirror::new();
        stranger.ok(&upstream.url, &["--once", "--mode", mode]);
        assert_eq!(stranger.ids(), ids_of(&open), "{mode}");
        let keeper = Mirror::new();
        let key = key_file(&keeper, 0o600);
        let key = key.to_str().expect("a plain path");
        keeper.ok(&upstream.url, &["--once", "--mode", mode, "--auth-key-file", key]);
        assert_eq!(keeper.ids(), all, "{mode}");
    }
}
