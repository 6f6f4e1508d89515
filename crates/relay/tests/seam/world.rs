//! The machines of a relay, and the order in which they move.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};
use tempfile::TempDir;
use zeolite_proto::{EventId, EventParser, Seq, Timestamp, Verified};
use zeolite_relay::conn::Conn;
use zeolite_relay::fanout::{EphemeralCount, Fanout};
use zeolite_relay::inbox::FanoutIn;
use zeolite_relay::outbox::OutboxBounds;
use zeolite_relay::query::{Desk, Job, Lanes, Step};
use zeolite_relay::subscription::Subscription;
use zeolite_store::{
    Admitted, Admitter, Committer, Durability, Options, PendingBatch, ScanOptions, SliceBudget,
    Store,
};
use zeolite_testkit::{Factory, Scheduler, TestRng, Universe};

use crate::bounds::{fanout_bounds, outbox_bounds};
use crate::client::{Client, Order};
use crate::history::History;
use crate::request::Request;
use crate::seen::Seen;

const CLIENTS: usize = 3;
const WORKERS: usize = 2;
/// Rounds of everything after which a run that has not come to rest never will.
const ROUNDS_MAX: usize = 10_000;

type Message = FanoutIn<Arc<Subscription>>;

/// A query worker: one slice of a job takes three steps, so that anything can happen between.
enum Worker {
    Idle,
    Holds(Arc<Conn>, Job),
    Ran(Arc<Conn>, Job, Step),
}

pub(crate) struct World<'r> {
    scheduler: Scheduler<'r>,
    _dir: TempDir,
    store: Store,
    admitter: Admitter,
    committer: Committer,
    /// Visible in the store, and not yet with fan-out and committer.
    admitted: Option<Admitted>,
    pending: VecDeque<PendingBatch>,
    fanout: Fanout<Arc<Subscription>>,
    ephemerals: EphemeralCount,
    inbox: VecDeque<Message>,
    lanes: Lanes,
    workers: Vec<Worker>,
    desk: Desk,
    outbox_bounds: OutboxBounds,
    clients: Vec<Client>,
    clients_ever: u64,
    universe: Universe,
    parser: EventParser,
    requests: Vec<Request>,
    history: History,
    now: Timestamp,
    clock: Duration,
    /// How often clients read, and how often they ask for something else.
    write_weight: u32,
    req_weight: u32,
    steps: u64,
    pub(crate) seen: Seen,
}

impl<'r> World<'r> {
    pub(crate) fn new(rng: &'r mut TestRng) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let options = Options {
            durability: Durability::Fast,
            map_bytes: 64 << 20,
            head_events_max: rng.random_range(1..50),
            own_urls: vec![Universe::OWN_URL.to_owned()],
            ..Options::default()
        };
        let (store, admitter, committer) =
            zeolite_store::open(dir.path(), options).expect("a store");
        let scan_options = ScanOptions { default_limit: None, max_limit: None };
        let budget =
            SliceBudget { events_max: rng.random_range(1..8), time_max: Duration::from_hours(1) };
        let (fanout_bounds, outbox_bounds) = (fanout_bounds(rng), outbox_bounds(rng));
        let fanout = Fanout::new(fanout_bounds, Arc::default(), Seq::ZERO);
        let desk = Desk { store: store.clone(), options: scan_options, budget, frames: Vec::new() };
        let mut world = Self {
            store,
            admitter,
            committer,
            admitted: None,
            pending: VecDeque::new(),
            fanout,
            ephemerals: EphemeralCount::default(),
            inbox: VecDeque::new(),
            lanes: Lanes::default(),
            workers: (0..WORKERS).map(|_| Worker::Idle).collect(),
            desk,
            outbox_bounds,
            clients: Vec::new(),
            clients_ever: 0,
            universe: Universe::new(Factory::unsigned(rng.random())),
            parser: EventParser::new(),
            requests: Vec::new(),
            history: History::default(),
            now: Timestamp(Universe::now(rng)),
            clock: Duration::ZERO,
            write_weight: *[3, 10, 25].choose(rng).expect("not empty"),
            req_weight: *[2, 6].choose(rng).expect("not empty"),
            steps: 0,
            seen: Seen::default(),
            _dir: dir,
            scheduler: Scheduler::new(rng),
        };
        (0..CLIENTS).for_each(|_| world.connect());
        world
    }

    fn connect(&mut self) {
        self.clients_ever += 1;
        self.clients.push(Client::new(self.clients_ever, self.outbox_bounds));
    }

    fn rng(&mut self) -> &mut TestRng {
        self.scheduler.rng()
    }

    fn some_client(&mut self) -> usize {
        self.rng().random_range(0..CLIENTS)
    }

    /// One move of one machine.
    pub(crate) fn step(&mut self) {
        self.steps += 1;
        match self.scheduler.choose(&[
            ("admit", 10),
            ("hand over", 10),
            ("commit", 6),
            ("fan out", 14),
            ("work", 30),
            ("write", self.write_weight),
            ("req", self.req_weight),
            ("close", 1),
            ("disconnect", 1),
            ("ephemeral", 3),
            ("expire", 1),
            ("delete", 1),
            ("tick", 2),
        ]) {
            "admit" => self.admit(),
            "hand over" => self.hand_over(),
            "commit" => self.commit(),
            "fan out" => self.fan_out(),
            "work" => self.work(),
            "write" => self.write(),
            "req" => self.req(),
            "close" => self.close(),
            "disconnect" => self.disconnect(),
            "ephemeral" => self.ephemeral(),
            "expire" => self.expire(),
            "delete" => self.delete(),
            _ => self.tick(),
        }
    }

    fn event(&mut self) -> Value {
        self.universe.event(self.scheduler.rng())
    }

    fn admit(&mut self) {
        self.hand_over();
        let count = *[1, 1, 1, 2, 3, 12].choose(self.rng()).expect("not empty");
        let mut events = Vec::new();
        while events.len() < count {
            let event = self.event();
            let is_request = event["kind"] == 5 || event["kind"] == 62;
            // Requests sweep so much that little would be left to miss.
            if is_request && self.rng().random_ratio(3, 4) {
                continue;
            }
            // What the operator deleted may come back, under another seq: its id would not tell
            // the observer which of the two it was sent.
            let id = event["id"].as_str().expect("an id");
            if is_ephemeral(&event) || self.history.get(id).is_some_and(|s| s.removed.is_some()) {
                continue;
            }
            events.push(event);
        }
        let parsed = events.iter().map(|event| self.parse(event)).collect();
        let admitted = self.admitter.admit(parsed, self.now).expect("a store that takes events");
        self.note_admitted(admitted);
    }

    fn parse(&mut self, event: &Value) -> Verified<zeolite_proto::Event> {
        Verified::trusted(self.parser.parse(&event.to_string()).expect("a legal event"))
    }

    fn note_admitted(&mut self, admitted: Admitted) {
        for (seq, event) in admitted.stored.iter() {
            let json = serde_json::from_slice(event.json()).expect("JSON");
            self.scheduler.note(format_args!("{seq} is {}", event.view().id()));
            self.history.add(*seq, json);
        }
        self.admitted = Some(admitted);
        self.note_removals();
    }

    /// What the admitter thread does with the result, before it admits again.
    fn hand_over(&mut self) {
        let Some(admitted) = self.admitted.take() else { return };
        if !admitted.stored.is_empty() {
            self.inbox.push_back(FanoutIn::Admitted(admitted.stored));
        }
        self.pending.push_back(admitted.pending);
    }

    fn note_removals(&mut self) {
        let snapshot = self.store.snapshot().expect("a snapshot");
        let now = self.now;
        self.history.note_removals(self.steps, |seq, id| {
            let id = EventId::from_hex(id).expect("an id");
            let found = snapshot.by_id(&id).expect("a readable store");
            found.is_some_and(|(at, event)| at == seq && !event.is_expired(now))
        });
    }

    fn commit(&mut self) {
        let count = self.pending.len();
        let count = self.rng().random_range(0..=count);
        let batches = self.pending.drain(..count).collect();
        self.committer.commit(batches).expect("a commit");
    }

    fn fan_out(&mut self) {
        let Some(message) = self.inbox.pop_front() else { return };
        if let FanoutIn::Attach { seen, .. } = &message {
            self.seen.ahead += u64::from(*seen > self.fanout.cursor());
        }
        let lanes = &self.lanes;
        let mut lagging = Vec::new();
        self.fanout.handle(message, self.inbox.is_empty(), &mut |replay| {
            lagging.push((replay.after, replay.through));
            let conn = Arc::clone(replay.feed.conn());
            lanes.push(&conn, Job::Replay(replay));
        });
        let stats = self.fanout.take_stats();
        self.seen.lagged += stats.lagged;
        self.seen.ended += stats.ended;
        self.seen.replays += lagging.len() as u64;
        for (after, through) in lagging {
            self.scheduler.note(format_args!("replay of ({after}, {through}]"));
        }
    }

    /// One third of what a query worker does for a slice.
    fn work(&mut self) {
        let at = self.rng().random_range(0..WORKERS);
        self.workers[at] = match std::mem::replace(&mut self.workers[at], Worker::Idle) {
            Worker::Idle => match self.lanes.try_next() {
                Some((conn, job)) => Worker::Holds(conn, job),
                None => Worker::Idle,
            },
            Worker::Holds(conn, mut job) => {
                let step = self.run(&conn, &mut job);
                Worker::Ran(conn, job, step)
            }
            Worker::Ran(conn, job, mut step) => {
                if let Step::Done(message) = &mut step {
                    self.inbox.extend(message.take());
                }
                self.lanes.finish(&conn, job, &step);
                Worker::Idle
            }
        };
    }

    fn run(&mut self, conn: &Conn, job: &mut Job) -> Step {
        let request = self.request_of(conn, job);
        if let (Some(number), Job::Query(_)) = (request, &*job) {
            self.requests[number].started.get_or_insert(self.steps);
        }
        let step = job.run(&mut self.desk, self.now);
        self.seen.parked += u64::from(step == Step::Parked);
        self.scheduler.note(format_args!("a slice for REQ {request:?} of {}: {step:?}", conn.id));
        if let (Some(number), Step::Done(Some(FanoutIn::Attach { seen, .. }))) = (request, &step) {
            self.requests[number].ceiling = Some((*seen, self.steps));
        }
        step
    }

    fn request_of(&self, conn: &Conn, job: &Job) -> Option<usize> {
        let client = self.clients.iter().find(|client| client.conn.id == conn.id)?;
        client.requests.get(&job.key()?).copied()
    }

    fn write(&mut self) {
        let at = self.some_client();
        let bytes = *[1, 50, 1000, 100_000].choose(self.rng()).expect("not empty");
        self.write_to(at, bytes);
    }

    /// What the connection's writer does. True if there was something to write.
    fn write_to(&mut self, at: usize, bytes_max: usize) -> bool {
        let client = &mut self.clients[at];
        let (drained, bytes) = client.write(bytes_max);
        if drained.jobs {
            self.lanes.unpark(&client.conn);
        }
        if drained.lag {
            self.inbox.push_back(FanoutIn::Drained(client.conn.id));
        }
        client.read(&mut self.requests, &self.history);
        bytes > 0
    }

    fn req(&mut self) {
        let at = self.some_client();
        let mut filters = self.universe.filters(self.scheduler.rng());
        let is_short = self.rng().random_ratio(1, 2);
        for filter in &mut filters {
            // Impossible lists and windows are others' tests; here something must come.
            let members = filter.as_object_mut().expect("an object");
            members.retain(|_, value| value != &json!([]));
            if self.scheduler.rng().random_ratio(2, 3) {
                members.retain(|name, _| ["kinds", "authors", "limit"].contains(&&**name));
            }
            // A short answer is soon over, and the subscription live.
            if is_short {
                members.insert("limit".to_owned(), self.scheduler.rng().random_range(0..3).into());
            }
        }
        let sub = ["a", "b"][self.rng().random_range(0..2)];
        let mut message = vec![json!("REQ"), json!(sub)];
        message.extend(filters.iter().cloned());
        let number = self.requests.len();
        self.scheduler.note(format_args!("REQ {number}: {}", Value::from(message.clone())));
        self.requests.push(Request::new(filters, &self.history));
        self.say(at, &message.into(), number);
    }

    fn close(&mut self) {
        let at = self.some_client();
        let sub = ["a", "b"][self.rng().random_range(0..2)];
        self.say(at, &json!(["CLOSE", sub]), usize::MAX);
    }

    /// What the connection's reader does with a message.
    fn say(&mut self, at: usize, message: &Value, request: usize) {
        let client = &mut self.clients[at];
        for order in client.say(self.now, message, request) {
            let conn = &client.conn;
            match order {
                Order::Query(subscription) => {
                    self.lanes.push(conn, Job::query(subscription, self.ephemerals.get()));
                }
                Order::Detach(key) => {
                    self.seen.replaced += u64::from(request != usize::MAX);
                    self.inbox.push_back(FanoutIn::Detach(conn.id, key));
                }
            }
        }
    }

    fn disconnect(&mut self) {
        let at = self.some_client();
        let mut client = self.clients.swap_remove(at);
        client.abandon(&mut self.requests);
        self.inbox.push_back(FanoutIn::Disconnect(client.conn.id));
        self.connect();
    }

    fn ephemeral(&mut self) {
        let mut factory = Factory::unsigned(self.steps);
        let event = factory.draft(0).kind(20_001).content(&self.steps.to_string()).build();
        self.publish_ephemeral(event);
    }

    fn publish_ephemeral(&mut self, event: Value) {
        let parsed = self.parse(&event).into_inner();
        let id = event["id"].as_str().expect("an id").to_owned();
        self.history.ephemeral.insert(id, self.history.ephemeral.len() + 1);
        let number = self.ephemerals.count_one();
        self.inbox.push_back(FanoutIn::Ephemeral { number, event: parsed });
    }

    fn expire(&mut self) {
        self.hand_over();
        self.now = self.now.saturating_add(1);
        let admitted = self.admitter.expire(self.now, 3).expect("a store that takes events");
        self.note_admitted(admitted);
    }

    /// The operator removes something.
    fn delete(&mut self) {
        self.hand_over();
        let alive: Vec<Seq> =
            self.history.stored.iter().filter(|s| s.removed.is_none()).map(|s| s.seq).collect();
        let Some(seq) = alive.choose(self.rng()) else { return };
        let admitted = self.admitter.remove(&[*seq]).expect("a store that takes events");
        self.note_admitted(admitted);
    }

    fn tick(&mut self) {
        self.clock += Duration::from_secs(self.scheduler.rng().random_range(0..3));
        self.inbox.push_back(FanoutIn::Tick(self.clock));
    }

    /// Everyone reads and works until nothing is left to do; then an ephemeral event and a stored
    /// one, which everybody who asked for them must get.
    pub(crate) fn come_to_rest(&mut self) {
        self.drain();
        let mut factory = Factory::unsigned(7);
        let event = factory.draft(0).kind(20_001).build();
        let id = event["id"].as_str().expect("an id").to_owned();
        self.publish_ephemeral(event.clone());
        self.drain();
        for (number, request) in self.requests.iter().enumerate() {
            let expected = request.end.is_none() && request.wants(&event);
            assert_eq!(request.saw_ephemeral(&id), expected, "REQ {number}: {:?}", request.filters);
        }
        self.admit();
        self.drain();
        let open = self.requests.iter().filter(|request| request.end.is_none()).count();
        assert_eq!(self.fanout.subscriptions(), open, "who is gone is forgotten");
    }

    fn drain(&mut self) {
        for _ in 0..ROUNDS_MAX {
            self.steps += 1;
            self.hand_over();
            self.fan_out();
            (0..3 * WORKERS).for_each(|_| self.work());
            let mut moved = self.workers.iter().any(|worker| !matches!(worker, Worker::Idle));
            for at in 0..CLIENTS {
                moved |= self.write_to(at, usize::MAX);
            }
            if !moved && self.inbox.is_empty() && self.is_idle() {
                let rest = self.pending.drain(..).collect();
                self.committer.commit(rest).expect("a commit");
                return;
            }
        }
        panic!("it never comes to rest");
    }

    /// Workers are drawn at random: before the end each gets a look at the lanes.
    fn is_idle(&mut self) -> bool {
        match self.lanes.try_next() {
            None => true,
            Some((conn, job)) => {
                self.lanes.finish(&conn, job, &Step::More);
                false
            }
        }
    }

    pub(crate) fn check(&self) {
        for (number, request) in self.requests.iter().enumerate() {
            let _context = Context(number, request);
            request.check(&self.history);
        }
    }
}

/// Says which REQ failed.
struct Context<'a>(usize, &'a Request);

impl Drop for Context<'_> {
    #[allow(clippy::print_stderr, reason = "the report of a failed test")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self(number, request) = self;
            eprintln!("REQ {number}: {:?}", request.filters);
            eprintln!("ceiling {:?}, end {:?}", request.ceiling, request.end);
        }
    }
}

fn is_ephemeral(event: &Value) -> bool {
    event["kind"].as_u64().is_some_and(|kind| (20_000..30_000).contains(&kind))
}
