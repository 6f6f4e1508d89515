//! Random worlds: whatever goes wrong for a while, in the end both sides hold the same.

use std::time::Duration;

use rand::RngExt;
use rand::seq::IndexedRandom;
use zeolite_mirror::{Direction, Mode, Phase, Settings};
use zeolite_proto::{Event, Filter, Kind};
use zeolite_testkit::{Factory, TestRng, Universe, run_seeds};

use crate::habits::{Habits, Negentropy};
use crate::store::parse;
use crate::world::World;

/// How long things go wrong.
const STORM: Duration = Duration::from_secs(600);

fn draw_habits(rng: &mut TestRng) -> Habits {
    let mut one_in = |choices: &[u32]| *choices.choose(rng).expect("not empty");
    let mut habits = Habits {
        is_too_fast: one_in(&[0, 0, 5, 30]),
        lies: one_in(&[0, 0, 5, 50]),
        ends_early: one_in(&[0, 0, 4]),
        drops: one_in(&[0, 0, 10, 40, 200]),
        is_busy: one_in(&[0, 0, 4, 20]),
        ignores: one_in(&[0, 0, 20, 100]),
        ..Habits::default()
    };
    habits.takes_limit_zero = rng.random_ratio(3, 4);
    habits.gives_hints = rng.random_ratio(1, 3);
    habits.limit_max = *[u64::MAX, 500, 40, 7].choose(rng).expect("not empty");
    habits.stated_limit = [None, Some(habits.limit_max), Some(30)].choose(rng).copied().flatten();
    habits.negentropy = match rng.random_range(0..10) {
        0..6 => Negentropy::Serves {
            cap: *[usize::MAX, 100, 10, 2].choose(rng).expect("not empty"),
            states_cap: rng.random_ratio(1, 2),
            frame_bytes_max: *[0, 4096].choose(rng).expect("not empty"),
        },
        6 => Negentropy::Says(r#"["NEG-ERR","SUB","blocked: switched off"]"#.into()),
        7 => Negentropy::Says(r#"["NOTICE","unknown command"]"#.into()),
        8 => Negentropy::Silent,
        _ => Negentropy::Drops,
    };
    habits.wants_login = rng.random_ratio(1, 4);
    habits
}

fn draw_settings(universe: &mut Universe, rng: &mut TestRng) -> Settings {
    let mut settings = Settings {
        direction: *[Direction::Down, Direction::Up, Direction::Both].choose(rng).expect("three"),
        mode: if rng.random_ratio(1, 4) { Mode::Req } else { Mode::Auto },
        audit_every: Duration::from_secs(300),
        seed: rng.random(),
        ..Settings::default()
    };
    if rng.random_ratio(1, 3) {
        // Filters that match something: dates and tags rarely do.
        let filter = universe.filter(rng);
        let kept = ["kinds", "authors"].map(|name| (name.to_owned(), filter[name].clone()));
        let kept: serde_json::Map<_, _> = kept
            .into_iter()
            .filter(|(_, list)| list.as_array().is_some_and(|l| !l.is_empty()))
            .collect();
        let json = serde_json::Value::from(kept).to_string();
        settings.filter = Filter::from_json(&json).expect("a filter");
    }
    let limits = &mut settings.limits;
    if rng.random_ratio(1, 2) {
        // Bounds that are reached.
        limits.need_ids_max = 40;
        limits.have_ids_max = 40;
        limits.fetch_batch_ids_max = 9;
        limits.fetch_batches_max = 3;
        limits.ingest_events_max = 45;
        limits.page_events_max = 40;
        limits.send_events_max = 6;
    }
    settings
}

fn is_kept(event: &Event) -> bool {
    !event.view().kind().is_ephemeral() && event.view().kind() != Kind::AUTH
}

/// Issue 5, cases 12, 13, 16, 19, 25..28, 70: after whatever went wrong, both sides hold the same, but
/// for what rules explain; and nothing is sent without end.
#[test]
fn both_sides_converge_once_it_is_calm() {
    run_seeds("both_sides_converge_once_it_is_calm", 40, |rng| {
        let mut universe = Universe::new(Factory::unsigned(rng.random_range(0..1000)));
        let habits = draw_habits(rng);
        let settings =
            Settings { has_key: habits.wants_login, ..draw_settings(&mut universe, rng) };
        let count = *[0, 30, 150].choose(rng).expect("three");
        let events: Vec<Event> =
            universe.shuffled(count, rng).iter().map(parse).filter(is_kept).collect();
        let (direction, filter) = (settings.direction, settings.filter.clone());
        let mut world = World::new(settings.clone(), habits, rng);
        world.local.sets_move = world.rng.random_ratio(1, 2);
        let mut lie = Factory::unsigned(77);
        world.upstream.lie = Some(parse(&lie.draft(9).kind(31_999).build()));
        scatter(&events, &mut world);
        world.run(STORM * 20);
        // An audit may be under way.
        for second in 1..300 {
            if world.phase == Phase::Live {
                break;
            }
            world.run(STORM * 20 + Duration::from_secs(second));
        }

        let trace = format!(
            "{:#?}\n{:#?}\n{:#?}",
            settings,
            world.upstream.habits,
            world.machine.progress()
        );
        assert_eq!(world.phase, Phase::Live, "{:?} {trace}", world.trouble);
        let (down, up) = world.unexplained(&filter);
        // A second of these worlds holds up to 40 events: smaller pages cannot show all of it, which
        // is counted.
        let is_dense = world.machine.progress().counts.dense_seconds > 0;
        let is_dense = is_dense && world.upstream.habits.limit_max < 40;
        if direction.is_down() && !is_dense {
            assert_eq!(down, 0, "missing here: {trace}");
        }
        if direction.is_up() {
            assert_eq!(up, 0, "missing there: {trace}");
        }
        assert!(world.local.open_jobs() == 0, "a set was left open");
        assert!(world.upstream.heard < 60_000, "{} messages: {trace}", world.upstream.heard);
    });
}

/// Events here, there, on both sides, and later.
fn scatter(events: &[Event], world: &mut World<'_>) {
    for event in events {
        let time = Duration::from_millis(world.rng.random_range(0..STORM.as_millis() as u64));
        match world.rng.random_range(0..6) {
            0 => _ = world.local.store.publish(event),
            1 => _ = world.upstream.store.publish(event),
            2 => {
                world.local.store.publish(event);
                world.upstream.store.publish(event);
            }
            3 => world.publish_here_at(time, event.clone()),
            4 => world.publish_there_at(time, event.clone()),
            _ => {
                world.publish_here_at(time, event.clone());
                let later = time + Duration::from_millis(world.rng.random_range(0..50));
                world.publish_there_at(later, event.clone());
            }
        }
    }
    world.failures_left = world.rng.random_range(0..4);
    world.commit_time = Duration::from_millis(world.rng.random_range(1..200));
    world.commit_events_max = world.rng.random_range(1..50);
    world.heal_at(STORM);
}
