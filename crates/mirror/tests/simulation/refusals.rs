//! Every way in which upstreams refuse to reconcile, and what a mirror makes of it.

use std::time::Duration;

use rand::SeedableRng;
use zeolite_mirror::{Direction, End, Mode, Outcome, Settings};
use zeolite_proto::Event;
use zeolite_testkit::{Factory, TestRng};

use crate::habits::{Habits, Negentropy};
use crate::store::parse;
use crate::world::World;

const HOUR: Duration = Duration::from_secs(3600);

/// Notes of one author, ten seconds apart.
pub(crate) fn notes(count: u64) -> Vec<Event> {
    let mut factory = Factory::unsigned(5);
    (0..count).map(|at| parse(&factory.note(0, 1_700_000_000 + 10 * at, &at.to_string()))).collect()
}

pub(crate) struct Run {
    pub(crate) outcome: Outcome,
    pub(crate) neg_opens: u64,
    pub(crate) heard: u64,
    pub(crate) missing: (usize, usize),
    pub(crate) trouble: Option<String>,
}

/// One run to its end, with half of the events on each side.
pub(crate) fn run(settings: Settings, habits: Habits, events: &[Event]) -> Run {
    let mut rng = TestRng::seed_from_u64(1);
    let filter = settings.filter.clone();
    let mut world = World::new(Settings { once: true, ..settings }, habits, &mut rng);
    for (at, event) in events.iter().enumerate() {
        let store = if at % 2 == 0 { &mut world.upstream.store } else { &mut world.local.store };
        store.publish(event);
    }
    world.run(HOUR * 10);
    let missing = world.unexplained(&filter);
    let outcome = world.outcome.clone();
    Run {
        outcome: outcome.unwrap_or_else(|| panic!("no end: {:#?}", world.machine.progress())),
        neg_opens: world.upstream.neg_opens,
        heard: world.upstream.heard,
        missing,
        trouble: world.trouble.clone(),
    }
}

fn both(mode: Mode) -> Settings {
    Settings { direction: Direction::Both, mode, ..Settings::default() }
}

/// Cases 13 to 18: whatever the refusal, a mirror that may falls back to pages and converges, with
/// few questions; one that may not ends with the reason.
#[test]
fn refusals_are_survived_without_a_storm() {
    for (text, opens_max) in [
        (r#"["NEG-ERR","SUB","blocked: sync is off"]"#, 1),
        (r#"["NEG-ERR","SUB","blocked: no reconciliation here",{"why":"policy"}]"#, 1),
        (r#"["NEG-ERR","SUB","PROTOCOL-ERROR"]"#, 1),
        (r#"["NEG-ERR","SUB","error: unsupported filter"]"#, 1),
        (r#"["NEG-ERR","SUB","auth-required: log in"]"#, 1),
        (r#"["NEG-ERR","SUB"]"#, 1),
        (r#"["CLOSED","SUB","unsupported: what is that"]"#, 1),
        (r#"["CLOSED","SUB"]"#, 1),
        (r#"["NOTICE","ERROR: bad msg: negentropy disabled"]"#, 1),
        (r#"["NOTICE","Unknown message type: NEG-OPEN"]"#, 1),
        (r#"["NOTICE","invalid: unrecognised command"]"#, 1),
        // Case 17: frames that are none.
        (r#"["NEG-MSG","SUB","zz"]"#, 1),
        (r#"["NEG-MSG","SUB",""]"#, 1),
        (r#"["NEG-MSG","SUB","62"]"#, 1),
        (r#"["NEG-MSG","SUB","616"]"#, 1),
        (r#"["NEG-MSG","SUB","61ffffffffffffffffffffff"]"#, 1),
        (r#"["NEG-MSG","SUB","6100000282808080808000"]"#, 1),
        // Patience is bounded, and so is splitting.
        (r#"["NEG-ERR","SUB","too many requests"]"#, 7),
        (r#"["NEG-ERR","SUB","closed: no time"]"#, 7),
        (r#"["NOTICE","rate-limited: slow down"]"#, 7),
        (r#"["NEG-ERR","SUB","blocked: too many query results"]"#, 300),
        (r#"["NEG-ERR","SUB","blocked: too many query results",10]"#, 300),
        (r#"["NOTICE","ERROR: too many query results"]"#, 300),
    ] {
        let mut settings = both(Mode::Auto);
        settings.limits.windows_total_max = 250;
        let habits = Habits { negentropy: Negentropy::Says(text.into()), ..Habits::default() };
        let run = run(settings, habits.clone(), &notes(60));
        assert_eq!(run.outcome.end, End::Converged, "{text}: {:?}", run.trouble);
        assert_eq!(run.missing, (0, 0), "{text}");
        assert!(run.neg_opens <= opens_max, "{text}: {} times NEG-OPEN", run.neg_opens);
        assert!(run.heard < 1000, "{text}: {} messages", run.heard);

        let mut settings = both(Mode::Negentropy);
        settings.limits.windows_total_max = 250;
        let run = super::refusals::run(settings, habits, &notes(60));
        let end = &run.outcome.end;
        let is_named = matches!(end, End::NegentropyRefused(_) | End::AuthRequired(_));
        assert!(is_named && !end.is_success(), "{text}: {end:?}");
        assert!(run.neg_opens <= opens_max, "{text}: {} times NEG-OPEN", run.neg_opens);
    }
}

/// Case 16: silence, and connections that are lost at the question, mean the same as a refusal.
#[test]
fn silence_is_a_refusal() {
    for negentropy in [Negentropy::Silent, Negentropy::Drops] {
        let habits = Habits { negentropy: negentropy.clone(), ..Habits::default() };
        let run = run(both(Mode::Auto), habits, &notes(60));
        assert_eq!(run.outcome.end, End::Converged, "{negentropy:?}");
        assert_eq!(run.missing, (0, 0), "{negentropy:?}");
        assert!(run.neg_opens <= 2, "{negentropy:?}: {} times NEG-OPEN", run.neg_opens);
    }
}

/// Case 15, M-02: a cap splits windows until they fit, whether it is stated or not.
#[test]
fn caps_split_windows() {
    for (cap, states_cap) in [(30, true), (30, false), (3, true), (1, false)] {
        let negentropy = Negentropy::Serves { cap, states_cap, frame_bytes_max: 0 };
        let habits = Habits { negentropy, ..Habits::default() };
        let run = run(both(Mode::Negentropy), habits, &notes(60));
        assert_eq!(run.outcome.end, End::Converged, "cap {cap}: {:?}", run.trouble);
        assert_eq!(run.missing, (0, 0), "cap {cap}");
        assert!(run.outcome.counts.splits > 0, "cap {cap}");
        assert!(run.neg_opens < 600, "cap {cap}: {} times NEG-OPEN", run.neg_opens);
    }
}

/// Case 15: a second that alone is above the cap is read page by page, or named.
#[test]
fn a_crowded_second_is_paged() {
    let mut factory = Factory::unsigned(6);
    let events: Vec<Event> =
        (0..20).map(|at: u32| parse(&factory.note(0, 1_700_000_000, &at.to_string()))).collect();
    let negentropy = Negentropy::Serves { cap: 5, states_cap: true, frame_bytes_max: 0 };
    let habits = Habits { negentropy, ..Habits::default() };
    let auto = run(both(Mode::Auto), habits.clone(), &events);
    assert_eq!((auto.outcome.end, auto.missing), (End::Converged, (0, 0)));
    let strict = run(both(Mode::Negentropy), habits, &events);
    assert!(matches!(strict.outcome.end, End::Incomplete(_)), "{:?}", strict.outcome.end);
}
