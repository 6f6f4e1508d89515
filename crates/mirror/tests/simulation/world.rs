//! Virtual time: who hears what when.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::time::Duration;

use rand::RngExt;
use zeolite_mirror::{Effect, Input, Login, Machine, Outcome, PeerLimits, Phase, Settings};
use zeolite_proto::{Event, EventParser, Filter, FromRelay, Timestamp};
use zeolite_testkit::{Factory, TestRng};

use crate::habits::Habits;
use crate::local::Local;
use crate::store::parse;
use crate::upstream::{Reaction, Upstream};

/// The time of day when a world begins.
pub(crate) const WALL: u64 = 1_700_010_000;

/// Steps of one run: far above what any run needs that does not go in circles.
const STEPS_MAX: u64 = 400_000;

/// What happens at some time.
enum Happening {
    Tell(Input),
    /// Something on the connection with this number.
    Arrive(u64, String),
    Hear(u64, String),
    Lose(u64, String),
    Connect,
    Deadline(u64),
    /// The local side takes the next events it was given.
    Commit,
    PublishHere(Event),
    PublishThere(Event),
    Heal,
}

pub(crate) struct World<'r> {
    pub machine: Machine,
    pub upstream: Upstream,
    pub local: Local,
    pub rng: &'r mut TestRng,
    now: Duration,
    order: u64,
    agenda: BinaryHeap<Reverse<(Duration, u64)>>,
    happenings: HashMap<u64, Happening>,
    connection: u64,
    is_connected: bool,
    /// When the latest text of a lane arrives: texts of a lane do not overtake one another.
    lanes: BTreeMap<String, Duration>,
    deadline: u64,
    /// Events on their way into the local side.
    inbox: Vec<Event>,
    /// How long the local side takes for one batch, and how many events that is.
    pub commit_time: Duration,
    pub commit_events_max: usize,
    /// Attempts to connect that fail.
    pub failures_left: u32,
    pub outcome: Option<Outcome>,
    pub phase: Phase,
    pub trouble: Option<String>,
    pub steps: u64,
    /// The most bytes of records that were read and that the upstream had not taken.
    pub held_bytes_max: usize,
    /// Whether the connection may be lost while nothing is said.
    pub losses: u32,
}

impl<'r> World<'r> {
    pub(crate) fn new(settings: Settings, habits: Habits, rng: &'r mut TestRng) -> Self {
        Self {
            machine: Machine::new(settings),
            upstream: Upstream::new(habits),
            local: Local::new(),
            rng,
            now: Duration::ZERO,
            order: 0,
            agenda: BinaryHeap::new(),
            happenings: HashMap::new(),
            connection: 0,
            is_connected: false,
            lanes: BTreeMap::new(),
            deadline: 0,
            inbox: Vec::new(),
            commit_time: Duration::from_millis(2),
            commit_events_max: 1000,
            failures_left: 0,
            outcome: None,
            phase: Phase::Connecting,
            trouble: None,
            steps: 0,
            held_bytes_max: 0,
            losses: 0,
        }
    }

    fn at(&mut self, time: Duration, happening: Happening) -> u64 {
        self.order += 1;
        self.agenda.push(Reverse((time, self.order)));
        self.happenings.insert(self.order, happening);
        self.order
    }

    fn soon(&mut self, happening: Happening) {
        let after = Duration::from_micros(self.rng.random_range(100..20_000));
        self.at(self.now + after, happening);
    }

    pub(crate) fn publish_there_at(&mut self, time: Duration, event: Event) {
        self.at(time, Happening::PublishThere(event));
    }

    pub(crate) fn publish_here_at(&mut self, time: Duration, event: Event) {
        self.at(time, Happening::PublishHere(event));
    }

    /// From then on nothing goes wrong any more.
    pub(crate) fn heal_at(&mut self, time: Duration) {
        self.at(time, Happening::Heal);
    }

    /// Runs until the mirror has ended, or until nothing is left to happen before `end`.
    pub(crate) fn run(&mut self, end: Duration) {
        self.perform();
        while self.outcome.is_none()
            && let Some(Reverse((time, order))) = self.agenda.pop()
        {
            if time > end {
                self.agenda.push(Reverse((time, order)));
                break;
            }
            self.steps += 1;
            assert!(self.steps < STEPS_MAX, "no end: {:#?}", self.machine.progress());
            self.now = self.now.max(time);
            let happening = self.happenings.remove(&order).expect("each order once");
            self.happen(happening);
            self.perform();
        }
    }

    fn tell(&mut self, input: Input) {
        self.machine.handle(self.now, input);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Tell(input) => self.tell(input),
            Happening::Arrive(connection, text) => {
                if self.is_on(connection) {
                    assert!(self.machine.wants_messages() || self.losses == 0);
                    match FromRelay::parse(&text, &mut EventParser::new()) {
                        Ok(message) => self.tell(Input::Received(message)),
                        Err(error) => self.tell(Input::Unreadable(error)),
                    }
                }
            }
            Happening::Hear(connection, text) => {
                if self.is_on(connection) {
                    let reactions = self.upstream.hear(&text, self.rng);
                    self.react(reactions);
                }
            }
            Happening::Lose(connection, reason) => {
                if self.is_on(connection) {
                    self.is_connected = false;
                    self.tell(Input::Disconnected { reason });
                }
            }
            Happening::Connect => self.connect(),
            Happening::Deadline(number) => {
                if number == self.deadline {
                    self.tell(Input::DeadlineReached);
                }
            }
            Happening::Commit => self.commit(),
            Happening::PublishHere(event) => {
                let (_, fresh) = self.local.ingest(vec![event]);
                self.follow(fresh);
            }
            Happening::PublishThere(event) => {
                let reactions = self.upstream.publish(&event);
                self.react(reactions);
            }
            Happening::Heal => {
                self.upstream.habits = self.upstream.habits.healed();
                self.failures_left = 0;
                self.losses = 0;
            }
        }
    }

    fn is_on(&self, connection: u64) -> bool {
        self.is_connected && self.connection == connection
    }

    fn connect(&mut self) {
        if self.failures_left > 0 {
            self.failures_left -= 1;
            return self.tell(Input::Disconnected { reason: "connection refused".into() });
        }
        self.connection += 1;
        self.is_connected = true;
        self.lanes.clear();
        self.upstream.forget_connection();
        let peer =
            PeerLimits { max_limit: self.upstream.habits.stated_limit, ..PeerLimits::default() };
        let wall = Timestamp(WALL + self.now.as_secs());
        self.tell(Input::Connected { wall, peer });
    }

    fn react(&mut self, reactions: Vec<Reaction>) {
        for reaction in reactions {
            let after = Duration::from_micros(self.rng.random_range(100..20_000));
            match reaction {
                Reaction::Say { lane, text } => {
                    let last = self.lanes.entry(lane).or_default();
                    *last = (self.now + after).max(*last);
                    let time = *last;
                    self.at(time, Happening::Arrive(self.connection, text));
                }
                Reaction::Drop => {
                    let lost = Happening::Lose(self.connection, "connection reset".into());
                    self.at(self.now + after, lost);
                }
            }
        }
    }

    fn perform(&mut self) {
        while let Some(effect) = self.machine.poll() {
            match effect {
                Effect::Send(text) => {
                    assert!(self.is_connected, "sent without a connection: {text}");
                    let last = self.lanes.entry("out".into()).or_default();
                    *last = (self.now + Duration::from_millis(1)).max(*last);
                    let time = *last;
                    self.at(time, Happening::Hear(self.connection, text));
                }
                Effect::Reconcile { job, step } => {
                    let answer = self.local.reconcile(job, step);
                    self.soon(Happening::Tell(answer));
                }
                Effect::EndReconcile { job } => self.local.end(job),
                Effect::Compare { job, filter, items } => {
                    let answer = self.local.compare(job, &filter, &items);
                    self.soon(Happening::Tell(answer));
                }
                Effect::Ingest { events, trusted } => {
                    // Case 25: trust belongs to the connection.
                    assert_eq!(trusted, self.machine.settings().trusted);
                    self.give(events);
                }
                Effect::FetchLocal { ids, bytes_max } => {
                    let answer = self.local.read(&ids, bytes_max);
                    let held = self.local.read_bytes.saturating_sub(self.upstream.taken_bytes);
                    self.held_bytes_max = self.held_bytes_max.max(held);
                    self.soon(Happening::Tell(answer));
                }
                Effect::LogIn { challenge } => {
                    assert_eq!(*challenge, self.connection.to_string());
                    let login = login(WALL + self.now.as_secs(), &challenge);
                    self.tell(Input::Signed(login));
                }
                Effect::FollowLocal => self.local.is_following = true,
                Effect::Reconnect { after } => {
                    self.is_connected = false;
                    self.at(self.now + after + Duration::from_millis(1), Happening::Connect);
                }
                Effect::Deadline(time) => {
                    assert!(time >= self.now, "a deadline in the past");
                    let number = self.at(time, Happening::Deadline(0));
                    self.deadline = number;
                    self.happenings.insert(number, Happening::Deadline(number));
                }
                Effect::Report(progress) => {
                    self.phase = progress.phase;
                    self.trouble = progress.trouble;
                }
                Effect::Finished(outcome) => self.outcome = Some(*outcome),
            }
        }
    }

    fn give(&mut self, events: Vec<Event>) {
        self.local.unanswered += events.len();
        self.local.unanswered_max = self.local.unanswered_max.max(self.local.unanswered);
        if self.inbox.is_empty() {
            self.at(self.now + self.commit_time, Happening::Commit);
        }
        self.inbox.extend(events);
    }

    fn commit(&mut self) {
        let count = self.commit_events_max.min(self.inbox.len());
        let events: Vec<Event> = self.inbox.drain(..count).collect();
        self.local.unanswered -= events.len();
        let (verdicts, fresh) = self.local.ingest(events);
        self.tell(Input::Ingested(verdicts));
        self.follow(fresh);
        if !self.inbox.is_empty() {
            self.at(self.now + self.commit_time, Happening::Commit);
        }
    }

    fn follow(&mut self, fresh: Vec<Event>) {
        if !self.local.is_following {
            return;
        }
        for event in fresh {
            self.soon(Happening::Tell(Input::LocalLive(event)));
        }
    }

    /// The ids on either side that the other lacks and would take.
    pub(crate) fn unexplained(&self, filter: &Filter) -> (usize, usize) {
        let here = self.local.store.query(filter);
        let there = self.upstream.store.query(filter);
        let hidden = &self.upstream.habits.hidden;
        let unwelcome = &self.upstream.habits.unwelcome;
        let is_missing_here = |event: &&Event| {
            let id = event.view().id();
            !hidden.contains(&id)
                && self.local.store.judge(event) == zeolite_mirror::Verdict::Stored
        };
        let is_missing_there = |event: &&Event| {
            let id = event.view().id();
            !unwelcome.contains(&id)
                && self.upstream.store.judge(event) == zeolite_mirror::Verdict::Stored
        };
        (there.iter().filter(is_missing_here).count(), here.iter().filter(is_missing_there).count())
    }
}

/// What a key would sign.
pub(crate) fn login(at: u64, challenge: &str) -> Login {
    let mut factory = Factory::unsigned(9);
    let draft = factory.draft(0).kind(22_242).at(at);
    let event = draft.tag(&["challenge", challenge]).build();
    Login { id: parse(&event).view().id(), json: event.to_string() }
}
