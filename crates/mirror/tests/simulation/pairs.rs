//! Two simulated upstreams, and a mirror between them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::time::Duration;

use rand::RngExt;
use rand::SeedableRng;
use rand::seq::IndexedRandom;
use zeolite_mirror::{
    Direction, Effect, End, Input, Mode, Outcome, Pair, PeerLimits, Phase, Settings, Side, Verdict,
};
use zeolite_proto::{Event, EventParser, Filter, FromRelay, Timestamp};
use zeolite_testkit::{Factory, TestRng, Universe, run_seeds};

use crate::habits::{Habits, Negentropy};
use crate::refusals::notes;
use crate::store::parse;
use crate::upstream::{Reaction, Upstream};
use crate::world::{WALL, login};

/// Steps of one run: far above what any run needs that does not go in circles.
const STEPS_MAX: u64 = 400_000;

enum Happening {
    Arrive(Side, u64, String),
    Hear(Side, u64, String),
    Lose(Side, u64),
    Connect(Side),
    Deadline,
    Publish(Side, Event),
    Heal,
}

/// One relay and the connection to it.
struct Relay {
    upstream: Upstream,
    connection: u64,
    is_connected: bool,
    lanes: BTreeMap<String, Duration>,
}

struct PairWorld<'r> {
    pair: Pair,
    ends: [Relay; 2],
    rng: &'r mut TestRng,
    now: Duration,
    order: u64,
    agenda: BinaryHeap<Reverse<(Duration, u64)>>,
    happenings: HashMap<u64, Happening>,
    deadline: u64,
    outcome: Option<Outcome>,
    phase: Phase,
    steps: u64,
}

fn at(side: Side) -> usize {
    usize::from(side == Side::Into)
}

impl<'r> PairWorld<'r> {
    fn new(settings: Settings, habits: [Habits; 2], rng: &'r mut TestRng) -> Self {
        let ends = habits.map(|habits| Relay {
            upstream: Upstream::new(habits),
            connection: 0,
            is_connected: false,
            lanes: BTreeMap::new(),
        });
        Self {
            pair: Pair::new(settings),
            ends,
            rng,
            now: Duration::ZERO,
            order: 0,
            agenda: BinaryHeap::new(),
            happenings: HashMap::new(),
            deadline: 0,
            outcome: None,
            phase: Phase::Connecting,
            steps: 0,
        }
    }

    fn at(&mut self, time: Duration, happening: Happening) {
        self.order += 1;
        self.agenda.push(Reverse((time, self.order)));
        self.happenings.insert(self.order, happening);
    }

    fn run(&mut self, end: Duration) {
        self.perform();
        while self.outcome.is_none()
            && let Some(Reverse((time, order))) = self.agenda.pop()
        {
            if time > end {
                self.agenda.push(Reverse((time, order)));
                break;
            }
            self.steps += 1;
            assert!(self.steps < STEPS_MAX, "no end: {:#?}", self.pair.progress());
            self.now = self.now.max(time);
            let happening = self.happenings.remove(&order).expect("each order once");
            self.happen(order, happening);
            self.perform();
        }
    }

    fn happen(&mut self, order: u64, happening: Happening) {
        match happening {
            Happening::Arrive(side, connection, text) => {
                if self.is_on(side, connection) {
                    let message = FromRelay::parse(&text, &mut EventParser::new());
                    let message = message.expect("these upstreams write well");
                    self.pair.handle(self.now, side, Input::Received(message));
                }
            }
            Happening::Hear(side, connection, text) => {
                if self.is_on(side, connection) {
                    let reactions = self.ends[at(side)].upstream.hear(&text, self.rng);
                    self.react(side, reactions);
                }
            }
            Happening::Lose(side, connection) => {
                if self.is_on(side, connection) {
                    self.ends[at(side)].is_connected = false;
                    let reason = "connection reset".into();
                    self.pair.handle(self.now, side, Input::Disconnected { reason });
                }
            }
            Happening::Connect(side) => {
                let end = &mut self.ends[at(side)];
                end.connection += 1;
                end.is_connected = true;
                end.lanes.clear();
                end.upstream.forget_connection();
                let max_limit = end.upstream.habits.stated_limit;
                let peer = PeerLimits { max_limit, ..PeerLimits::default() };
                let wall = Timestamp(WALL + self.now.as_secs());
                self.pair.handle(self.now, side, Input::Connected { wall, peer });
            }
            Happening::Deadline => {
                if order == self.deadline {
                    self.pair.handle(self.now, Side::From, Input::DeadlineReached);
                }
            }
            Happening::Publish(side, event) => {
                let reactions = self.ends[at(side)].upstream.publish(&event);
                self.react(side, reactions);
            }
            Happening::Heal => {
                for end in &mut self.ends {
                    end.upstream.habits = end.upstream.habits.healed();
                }
            }
        }
    }

    fn is_on(&self, side: Side, connection: u64) -> bool {
        let end = &self.ends[at(side)];
        end.is_connected && end.connection == connection
    }

    fn react(&mut self, side: Side, reactions: Vec<Reaction>) {
        for reaction in reactions {
            let after = Duration::from_micros(self.rng.random_range(100..20_000));
            let end = &mut self.ends[at(side)];
            let connection = end.connection;
            match reaction {
                Reaction::Say { lane, text } => {
                    let last = end.lanes.entry(lane).or_default();
                    *last = (self.now + after).max(*last);
                    let time = *last;
                    self.at(time, Happening::Arrive(side, connection, text));
                }
                Reaction::Drop => self.at(self.now + after, Happening::Lose(side, connection)),
            }
        }
    }

    fn perform(&mut self) {
        while let Some((side, effect)) = self.pair.poll() {
            match effect {
                Effect::Send(text) => {
                    let end = &mut self.ends[at(side)];
                    assert!(end.is_connected, "sent without a connection: {text}");
                    let last = end.lanes.entry("out".into()).or_default();
                    *last = (self.now + Duration::from_millis(1)).max(*last);
                    let (time, connection) = (*last, end.connection);
                    self.at(time, Happening::Hear(side, connection, text));
                }
                Effect::Reconnect { after } => {
                    self.ends[at(side)].is_connected = false;
                    let time = self.now + after + Duration::from_millis(1);
                    self.at(time, Happening::Connect(side));
                }
                Effect::Deadline(time) => {
                    assert!(time >= self.now, "a deadline in the past");
                    self.at(time, Happening::Deadline);
                    self.deadline = self.order;
                }
                Effect::LogIn { challenge } => {
                    let login = login(WALL + self.now.as_secs(), &challenge);
                    self.pair.handle(self.now, side, Input::Signed(login));
                }
                Effect::Report(progress) => self.phase = progress.phase,
                Effect::Finished(outcome) => self.outcome = Some(*outcome),
                other => panic!("{other:?} is none of the worker's business"),
            }
        }
    }

    /// How many events the second lacks of the first and would take, and the reverse.
    fn unexplained(&self, filter: &Filter) -> (usize, usize) {
        let lacks = |one: &Upstream, other: &Upstream| {
            let events = other.store.query(filter);
            let is_missing = |event: &&Event| one.store.judge(event) == Verdict::Stored;
            events.iter().filter(is_missing).count()
        };
        let [from, into] = &self.ends;
        (lacks(&into.upstream, &from.upstream), lacks(&from.upstream, &into.upstream))
    }
}

fn habits(negentropy: Negentropy) -> Habits {
    Habits { negentropy, ..Habits::default() }
}

fn off() -> Negentropy {
    Negentropy::Says(r#"["NEG-ERR","SUB","blocked: switched off"]"#.into())
}

/// Issue 5: `--into` moves what differs in every direction, whichever side reconciles.
#[test]
fn two_relays_become_one() {
    let capped = Negentropy::Serves { cap: 30, states_cap: true, frame_bytes_max: 0 };
    for (from, into) in [
        (Negentropy::ABLE, Negentropy::ABLE),
        (capped.clone(), Negentropy::ABLE),
        (Negentropy::ABLE, capped),
        (off(), Negentropy::ABLE),
        (Negentropy::ABLE, off()),
        (Negentropy::ABLE, Negentropy::Silent),
        (off(), off()),
    ] {
        for direction in [Direction::Down, Direction::Up, Direction::Both] {
            let mut rng = TestRng::seed_from_u64(3);
            let settings = Settings { direction, once: true, ..Settings::default() };
            let case = format!("{direction:?} {from:?} {into:?}");
            let both = [habits(from.clone()), habits(into.clone())];
            let mut world = PairWorld::new(settings, both, &mut rng);
            for (number, event) in notes(90).iter().enumerate() {
                for side in 0..2 {
                    if number % 3 != side {
                        world.ends[side].upstream.store.publish(event);
                    }
                }
            }
            world.run(Duration::from_secs(3600));
            let outcome = world.outcome.clone().unwrap_or_else(|| panic!("no end: {case}"));
            assert_eq!(outcome.end, End::Converged, "{case}");
            let missing = world.unexplained(&Filter::default());
            let (down, up) = (direction.is_down(), direction.is_up());
            assert_eq!(missing, (usize::from(!down) * 30, usize::from(!up) * 30), "{case}");
        }
    }
}

/// NIP-42: what either relay shows only to who has logged in travels too, however late the login is
/// decided.
#[test]
fn what_a_login_shows_at_either_relay_travels() {
    for (side, seed) in (0..2).flat_map(|side| (0..40).map(move |seed| (side, seed))) {
        let mut rng = TestRng::seed_from_u64(seed);
        let events = notes(30);
        let mut both = [Habits::default(), Habits::default()];
        both[side].members_only = events[..10].iter().map(|event| event.view().id()).collect();
        let settings = Settings {
            direction: Direction::Both,
            once: true,
            has_key: true,
            mode: if seed % 2 == 0 { Mode::Auto } else { Mode::Req },
            ..Settings::default()
        };
        let mut world = PairWorld::new(settings, both, &mut rng);
        events.iter().for_each(|event| _ = world.ends[side].upstream.store.publish(event));
        // What strangers see is the same at both.
        events[10..]
            .iter()
            .for_each(|event| _ = world.ends[1 - side].upstream.store.publish(event));
        world.run(Duration::from_secs(3600));
        let end = world.outcome.as_ref().map(|outcome| &outcome.end);
        assert_eq!(end, Some(&End::Converged), "side {side}, seed {seed}");
        let missing = world.unexplained(&Filter::default());
        assert_eq!(missing, (0, 0), "side {side}, seed {seed}");
    }
}

/// Issue 5: with everything that goes wrong between two relays, live traffic on both.
#[test]
fn pairs_converge_once_it_is_calm() {
    const STORM: Duration = Duration::from_secs(300);
    run_seeds("pairs_converge_once_it_is_calm", 15, |rng| {
        let mut universe = Universe::new(Factory::unsigned(rng.random_range(0..1000)));
        let settings = Settings {
            direction: *[Direction::Down, Direction::Both].choose(rng).expect("two"),
            mode: if rng.random_ratio(1, 4) { Mode::Req } else { Mode::Auto },
            audit_every: Duration::from_secs(300),
            ..Settings::default()
        };
        let both = [(); 2].map(|()| {
            let mut one_in = |choices: &[u32]| *choices.choose(rng).expect("not empty");
            let mut habits = Habits {
                is_too_fast: one_in(&[0, 10]),
                drops: one_in(&[0, 0, 40, 200]),
                is_busy: one_in(&[0, 10]),
                ignores: one_in(&[0, 0, 100]),
                ..Habits::default()
            };
            if rng.random_ratio(1, 4) {
                habits.negentropy = off();
            }
            habits
        });
        let events = universe.shuffled(80, rng);
        let direction = settings.direction;
        let trace = format!("{settings:?} {both:?}");
        let mut world = PairWorld::new(settings, both, rng);
        for event in events.iter().map(parse).filter(|event| !event.view().kind().is_ephemeral()) {
            let side = *[Side::From, Side::Into].choose(world.rng).expect("two");
            let time = world.rng.random_range(0..STORM.as_millis() as u64);
            match world.rng.random_range(0..3) {
                0 => world.at(Duration::from_millis(time), Happening::Publish(side, event)),
                _ => _ = world.ends[at(side)].upstream.store.publish(&event),
            }
        }
        world.at(STORM, Happening::Heal);
        world.run(STORM * 20);
        assert_eq!(world.phase, Phase::Live, "{trace} {:#?}", world.pair.progress());
        let (down, up) = world.unexplained(&Filter::default());
        assert_eq!(down, 0, "missing at the second: {trace}");
        assert!(up == 0 || !direction.is_up(), "{up} missing at the first: {trace}");
    });
}
