//! Single cases, told one by one.

use std::time::Duration;

use rand::SeedableRng;
use zeolite_mirror::{Direction, End, Mode, Phase, Settings};
use zeolite_proto::{Event, Filter};
use zeolite_testkit::{Factory, TestRng};

use crate::habits::{Habits, Negentropy};
use crate::refusals::{notes, run};
use crate::store::parse;
use crate::world::World;

const MINUTE: Duration = Duration::from_secs(60);

fn settings(direction: Direction, mode: Mode) -> Settings {
    Settings { direction, mode, ..Settings::default() }
}

fn filter(json: &str) -> Filter {
    Filter::from_json(json).expect("a filter")
}

/// Issue 5: what is equal costs one question, and nothing is moved.
#[test]
fn equal_sets_cost_one_round() {
    let mut rng = TestRng::seed_from_u64(1);
    let once = Settings { once: true, ..settings(Direction::Both, Mode::Auto) };
    let mut world = World::new(once, Habits::default(), &mut rng);
    for event in notes(100) {
        world.local.store.publish(&event);
        world.upstream.store.publish(&event);
    }
    world.run(MINUTE);
    let outcome = world.outcome.expect("an end");
    assert_eq!(outcome.end, End::Converged);
    assert_eq!((outcome.counts.reconciliations, outcome.counts.rounds), (1, 1));
    // NEG-OPEN, and NEG-CLOSE if it arrives before the connection ends.
    assert!(world.upstream.heard <= 2, "{} messages", world.upstream.heard);
}

/// A dry run counts what differs and moves nothing, by either method.
#[test]
fn a_dry_run_moves_nothing() {
    for mode in [Mode::Auto, Mode::Req] {
        let dry = Settings { dry_run: true, ..settings(Direction::Both, mode) };
        let run = run(dry, Habits::default(), &notes(60));
        let counts = &run.outcome.counts;
        assert_eq!(run.outcome.end, End::DryRun);
        assert_eq!((counts.need, counts.have, counts.sent), (30, 30, 0), "{mode:?}");
        assert_eq!((counts.stored, run.missing), (0, (30, 30)), "{mode:?}");
    }
}

/// Case 19: a cap below the page, siblings of one second at a page's edge, with NIP-67 and without.
#[test]
fn pages_lose_nothing_at_their_edges() {
    let mut factory = Factory::unsigned(3);
    let seconds = [10, 9, 8, 8, 7, 6, 6, 6, 5, 1, 0];
    let events: Vec<Event> = seconds
        .iter()
        .enumerate()
        .map(|(at, second)| parse(&factory.note(0, 1_700_000_000 + second, &at.to_string())))
        .flat_map(|event| [event.clone(), event])
        .collect();
    for (limit_max, stated_limit) in [(4, Some(4)), (4, None), (4, Some(500)), (300, None)] {
        for gives_hints in [true, false] {
            let habits = Habits { limit_max, stated_limit, gives_hints, ..Habits::default() };
            let down = settings(Direction::Down, Mode::Req);
            let events: Vec<Event> = events.iter().step_by(2).cloned().collect();
            let mut rng = TestRng::seed_from_u64(2);
            let mut world = World::new(Settings { once: true, ..down }, habits, &mut rng);
            events.iter().for_each(|event| _ = world.upstream.store.publish(event));
            world.run(MINUTE);
            let end = world.outcome.clone().expect("an end").end;
            let case = format!("cap {limit_max}, stated {stated_limit:?}, hints {gives_hints}");
            assert_eq!(end, End::Converged, "{case}");
            assert_eq!(world.unexplained(&Filter::default()).0, 0, "{case}");
        }
    }
}

/// Case 19: a second denser than a page is stepped over, counted and named.
#[test]
fn a_dense_second_is_named() {
    let mut factory = Factory::unsigned(3);
    let mut rng = TestRng::seed_from_u64(2);
    for stated_limit in [Some(4), None] {
        let habits = Habits { limit_max: 4, stated_limit, ..Habits::default() };
        let once = Settings { once: true, ..settings(Direction::Down, Mode::Req) };
        let mut world = World::new(once, habits, &mut rng);
        for at in 0..12 {
            let second = 1_700_000_000 + if at < 9 { 5 } else { 12 - at };
            world.upstream.store.publish(&parse(&factory.note(0, second, &at.to_string())));
        }
        world.run(MINUTE);
        let outcome = world.outcome.clone().expect("an end");
        assert!(matches!(outcome.end, End::Incomplete(_)), "{:?}", outcome.end);
        assert_eq!(outcome.counts.dense_seconds, 1, "stated {stated_limit:?}");
        assert_eq!(world.unexplained(&Filter::default()).0, 5, "all but the dense second");
    }
}

/// Case 19: whether the first second of a window was cut can only be told from outside of the window.
#[test]
fn a_dense_second_at_the_edge_is_named() {
    for (count, older, dense) in [(9, 3, 1), (4, 3, 1), (3, 3, 0), (3, 0, 0), (1, 0, 0)] {
        let mut factory = Factory::unsigned(3);
        let mut rng = TestRng::seed_from_u64(2);
        let habits = Habits { limit_max: 4, ..Habits::default() };
        let scope = filter(r#"{"since":1700000000}"#);
        let down = settings(Direction::Down, Mode::Req);
        let once = Settings { once: true, filter: scope.clone(), ..down };
        let mut world = World::new(once, habits, &mut rng);
        for at in 0..count + older {
            let second = if at < count { 1_700_000_000 } else { 1_600_000_000 };
            world.upstream.store.publish(&parse(&factory.note(0, second, &at.to_string())));
        }
        world.run(MINUTE);
        let outcome = world.outcome.clone().expect("an end");
        assert_eq!(outcome.counts.dense_seconds, dense, "{count} and {older} older");
        assert_eq!(outcome.end.is_success(), dense == 0, "{count} and {older} older");
        assert_eq!(world.local.store.query(&Filter::default()).len(), count.min(4));
    }
}

/// Case 26: connections are lost again and again; the third one delivers.
#[test]
fn the_third_reconnect_delivers() {
    for (mode, direction) in [
        (Mode::Auto, Direction::Down),
        (Mode::Req, Direction::Down),
        (Mode::Auto, Direction::Up),
        (Mode::Req, Direction::Both),
    ] {
        let habits = Habits { drops: 5, limit_max: 10, ..Habits::default() };
        let mut rng = TestRng::seed_from_u64(9);
        let mut world = World::new(settings(direction, mode), habits, &mut rng);
        for (at, event) in notes(200).iter().enumerate() {
            let store =
                if at % 2 == 0 { &mut world.upstream.store } else { &mut world.local.store };
            store.publish(event);
        }
        world.failures_left = 3;
        world.heal_at(MINUTE * 5);
        world.run(MINUTE * 50);
        let (down, up) = world.unexplained(&Filter::default());
        assert!(world.machine.progress().counts.connections > 3, "{mode:?}");
        assert_eq!(world.phase, Phase::Live, "{mode:?} {:?}", world.trouble);
        assert!(!direction.is_down() || down == 0, "{mode:?}: {down} missing here");
        assert!(!direction.is_up() || up == 0, "{mode:?}: {up} missing there");
    }
}

/// Case 27: an event from long ago that arrives live is taken, and so is one that arrived while there
/// was no connection.
#[test]
fn back_dated_events_arrive() {
    let mut factory = Factory::unsigned(4);
    let mut rng = TestRng::seed_from_u64(9);
    let mut old = |name: &str| parse(&factory.draft(1).at(1_699_000_000).content(name).build());
    let (live, missed) = (old("live"), old("missed"));
    let mut world = World::new(settings(Direction::Down, Mode::Auto), Habits::default(), &mut rng);
    notes(20).iter().for_each(|event| _ = world.upstream.store.publish(event));
    world.publish_there_at(MINUTE, live);
    world.run(MINUTE * 2);
    assert_eq!(world.unexplained(&Filter::default()).0, 0, "live");
    // No subscription was there to deliver this one.
    world.upstream.store.publish(&missed);
    world.run(MINUTE * 59);
    assert_eq!(world.unexplained(&Filter::default()).0, 1, "nothing told it");
    world.run(MINUTE * 62);
    assert_eq!(world.unexplained(&Filter::default()).0, 0, "the audit found it");
}

/// Case 28: a mirror of one author's notes takes that author's deletions, and nobody else's.
#[test]
fn deletions_of_strangers_stay_out() {
    let mut factory = Factory::unsigned(4);
    let (own, stranger) = (factory.pubkey(0), factory.pubkey(1));
    let target = factory.note(0, 1_700_000_000, "deleted");
    let kept = factory.note(1, 1_700_000_000, "kept");
    let id = |event: &serde_json::Value| event["id"].as_str().expect("an id").to_owned();
    let by_own = factory.draft(0).kind(5).tag(&["e", &id(&target)]).build();
    let by_stranger = factory.draft(1).kind(5).tag(&["e", &id(&kept)]).build();
    for mode in [Mode::Auto, Mode::Req] {
        let mut rng = TestRng::seed_from_u64(9);
        let scope = filter(&format!(r#"{{"kinds":[1],"authors":["{own}"]}}"#));
        let one = Settings { filter: scope, ..settings(Direction::Down, mode) };
        let mut world = World::new(one, Habits::default(), &mut rng);
        notes(5).iter().for_each(|event| _ = world.upstream.store.publish(event));
        for event in [&target, &kept] {
            world.local.store.publish(&parse(event));
        }
        world.upstream.store.publish(&parse(&by_own));
        world.upstream.store.publish(&parse(&by_stranger));
        world.run(MINUTE);
        let here = world.local.store.query(&Filter::default());
        let has = |event: &serde_json::Value| here.contains(&parse(event));
        assert!(!has(&target), "{mode:?}: the author's deletion was pulled");
        assert!(has(&kept), "{mode:?}: a stranger's was not");
        let theirs = filter(&format!(r#"{{"authors":["{stranger}"],"kinds":[5]}}"#));
        assert_eq!(world.local.store.query(&theirs), [], "{mode:?}");
    }
}

/// M-04, case 12: what either side refuses for good, and what is listed but never given, is asked for
/// a bounded number of times, audits included.
#[test]
fn refused_ids_are_remembered() {
    let mut rng = TestRng::seed_from_u64(9);
    let events = notes(60);
    let ids = |range: std::ops::Range<usize>| events[range].iter().map(|event| event.view().id());
    let habits = Habits {
        hidden: ids(0..5).collect(),
        unwelcome: ids(40..50).collect(),
        ..Habits::default()
    };
    let mut world = World::new(settings(Direction::Both, Mode::Auto), habits, &mut rng);
    world.local.store.blocked = ids(10..20).collect();
    events[..30].iter().for_each(|event| _ = world.upstream.store.publish(event));
    events[30..].iter().for_each(|event| _ = world.local.store.publish(event));
    world.run(MINUTE * 59);
    let counts = world.machine.progress().counts.clone();
    assert_eq!((counts.stored, counts.blocked, counts.gone), (15, 10, 5));
    assert_eq!((counts.accepted, counts.refused), (20, 10));
    world.run(MINUTE * 60 * 10);
    let later = &world.machine.progress().counts;
    assert_eq!((later.blocked, later.refused, later.sent), (10, 10, counts.sent));
    assert!(later.gone <= 5 * 11, "{} times asked in vain", later.gone);
}

/// A relay that says yes and keeps nothing gets an event twice, and not at every audit again.
#[test]
fn swallowed_events_are_not_sent_for_ever() {
    let events = notes(10);
    let swallowed = events.iter().map(|event| event.view().id()).collect();
    let habits = Habits { swallowed, ..Habits::default() };
    let mut rng = TestRng::seed_from_u64(9);
    let mut world = World::new(settings(Direction::Up, Mode::Auto), habits, &mut rng);
    events.iter().for_each(|event| _ = world.local.store.publish(event));
    world.run(MINUTE * 60 * 10);
    assert_eq!(world.machine.progress().counts.sent, 20);
    assert_eq!(world.phase, Phase::Live);
}

/// Issue 5: what came from the upstream does not go back, and what went up is no news when it
/// comes back.
#[test]
fn echoes_are_suppressed() {
    let mut rng = TestRng::seed_from_u64(9);
    let both = settings(Direction::Both, Mode::Auto);
    let mut world = World::new(both, Habits::default(), &mut rng);
    for (at, event) in notes(40).into_iter().enumerate() {
        let time = MINUTE + Duration::from_secs(at as u64);
        if at % 2 == 0 {
            world.publish_here_at(time, event);
        } else {
            world.publish_there_at(time, event);
        }
    }
    world.run(MINUTE * 50);
    assert_eq!(world.unexplained(&Filter::default()), (0, 0));
    let counts = &world.machine.progress().counts;
    assert_eq!((counts.sent, counts.accepted, counts.stored), (20, 20, 20));
    // 20 of its own, 20 of the upstream's, and no echo.
    assert_eq!(world.local.store.taken, 40);
}

/// What comes up or down live while the sets are compared is in one set and not yet in the answer
/// about the other: it is no difference.
#[test]
fn what_crosses_a_comparison_travels_once() {
    for (seed, mode) in (0..20).flat_map(|seed| [(seed, Mode::Auto), (seed, Mode::Req)]) {
        let mut rng = TestRng::seed_from_u64(seed);
        let both = settings(Direction::Both, mode);
        let mut world = World::new(both, Habits::default(), &mut rng);
        world.local.sets_move = true;
        for (at, event) in notes(200).into_iter().enumerate() {
            let time = Duration::from_millis(at as u64);
            if at % 2 == 0 {
                world.publish_here_at(time, event);
            } else {
                world.publish_there_at(time, event);
            }
        }
        world.run(MINUTE);
        assert_eq!(world.unexplained(&Filter::default()), (0, 0), "{mode:?}, seed {seed}");
        let counts = &world.machine.progress().counts;
        let moved = (counts.sent, counts.accepted, counts.stored);
        assert_eq!(moved, (100, 100, 100), "{mode:?}, seed {seed}");
    }
}

/// M-06, case 25: what was not asked for is not taken in, on whichever subscription it comes, and
/// trust changes nothing about it.
#[test]
fn lies_are_dropped() {
    let mut factory = Factory::unsigned(4);
    for (mode, trusted) in [(Mode::Auto, true), (Mode::Req, true), (Mode::Auto, false)] {
        let habits = Habits { lies: 1, ..Habits::default() };
        let mut rng = TestRng::seed_from_u64(9);
        let scope = filter(r#"{"kinds":[1]}"#);
        let down = settings(Direction::Down, mode);
        let mut world = World::new(Settings { filter: scope, trusted, ..down }, habits, &mut rng);
        world.upstream.lie = Some(parse(&factory.draft(1).kind(30_000).build()));
        notes(20).iter().for_each(|event| _ = world.upstream.store.publish(event));
        world.run(MINUTE);
        assert_eq!(world.local.store.query(&Filter::default()).len(), 20, "{mode:?}");
        assert!(world.machine.progress().counts.unasked >= 20, "{mode:?}");
    }
}

/// Case 51: a live subscription that is ended again and again is opened less and less often, and what
/// came meanwhile is found by comparing.
#[test]
fn a_tail_that_does_not_last_causes_no_storm() {
    let habits = Habits { ends_limited: true, ..Habits::default() };
    let mut rng = TestRng::seed_from_u64(9);
    let mut world = World::new(settings(Direction::Down, Mode::Auto), habits, &mut rng);
    for (at, event) in notes(20).into_iter().enumerate() {
        world.publish_there_at(MINUTE * at as u32, event);
    }
    world.run(MINUTE * 60);
    assert_eq!(world.unexplained(&Filter::default()).0, 0);
    assert!(world.upstream.heard < 600, "{} messages in an hour", world.upstream.heard);
}

/// Case 70: a local side that takes 50 events a second never has more than the bound to answer, and
/// the mirror does not run into its own idle limit.
#[test]
fn a_slow_sink_is_not_flooded() {
    for mode in [Mode::Auto, Mode::Req] {
        let mut rng = TestRng::seed_from_u64(9);
        let mut once = Settings { once: true, ..settings(Direction::Down, mode) };
        once.limits.ingest_events_max = 100;
        let mut world = World::new(once, Habits::default(), &mut rng);
        world.commit_time = Duration::from_secs(1);
        world.commit_events_max = 5;
        notes(600).iter().for_each(|event| _ = world.upstream.store.publish(event));
        world.run(MINUTE * 10);
        assert_eq!(world.outcome.as_ref().expect("an end").end, End::Converged, "{mode:?}");
        assert_eq!(world.machine.progress().counts.connections, 1, "{mode:?}");
        assert!(world.local.unanswered_max <= 100, "{mode:?}: {}", world.local.unanswered_max);
    }
}

/// Case 70: events of 60 kB on their way up take no more memory than small ones, and all arrive.
#[test]
fn large_events_travel_up_in_small_parts() {
    let mut factory = Factory::unsigned(6);
    let mut rng = TestRng::seed_from_u64(9);
    let mut once = Settings { once: true, ..settings(Direction::Up, Mode::Auto) };
    once.limits.send_bytes_max = 3 << 20;
    let mut world = World::new(once, Habits::default(), &mut rng);
    for at in 0..300 {
        let note = factory.note(0, crate::world::WALL - at, &"x".repeat(60_000));
        world.local.store.publish(&parse(&note));
    }
    world.run(MINUTE * 10);
    assert_eq!(world.outcome.as_ref().expect("an end").end, End::Converged);
    assert_eq!(world.unexplained(&Filter::default()), (0, 0));
    assert_eq!(world.machine.progress().counts.sent, 300);
    let held = world.held_bytes_max;
    assert!((1 << 20..(3 << 20) + 70_000).contains(&held), "{held} bytes");
}

/// R77-13, case 16: an upstream that wants a login for everything is named as such.
#[test]
fn a_login_is_asked_for_in_the_outcome() {
    let habits = Habits {
        negentropy: Negentropy::Says(r#"["CLOSED","SUB","auth-required: members only"]"#.into()),
        ..Habits::default()
    };
    let strict = run(settings(Direction::Down, Mode::Negentropy), habits, &notes(10));
    assert!(matches!(strict.outcome.end, End::AuthRequired(_)), "{:?}", strict.outcome.end);
}

/// NIP-42: with a key everything that was refused at the door is asked again, down and up, by either
/// method, and nobody knocks without end; without one the mirror says that a key is wanted.
#[test]
fn a_login_opens_the_door() {
    for mode in [Mode::Negentropy, Mode::Req] {
        let habits = Habits { wants_login: true, ..Habits::default() };
        let mut rng = TestRng::seed_from_u64(5);
        let both = Settings { once: true, has_key: true, ..settings(Direction::Both, mode) };
        let mut world = World::new(both.clone(), habits.clone(), &mut rng);
        let (theirs, ours): (Vec<_>, Vec<_>) = (notes(60), notes(90).split_off(60));
        theirs.iter().for_each(|event| _ = world.upstream.store.publish(event));
        ours.iter().for_each(|event| _ = world.local.store.publish(event));
        world.run(MINUTE);
        let end = world.outcome.clone().expect("an end").end;
        assert_eq!(end, End::Converged, "{mode:?}");
        assert_eq!(world.unexplained(&Filter::default()), (0, 0), "{mode:?}");
        assert!((1..=8).contains(&world.upstream.refused_at_door), "{mode:?}");
        let mut rng = TestRng::seed_from_u64(6);
        let strange = Settings { has_key: false, ..both };
        let mut world = World::new(strange, habits, &mut rng);
        theirs.iter().for_each(|event| _ = world.upstream.store.publish(event));
        world.run(MINUTE);
        let end = world.outcome.clone().expect("an end").end;
        assert!(matches!(end, End::AuthRequired(_)), "{mode:?}: {end:?}");
        assert!(world.upstream.refused_at_door <= 8, "{mode:?}");
    }
}
