//! The machine on its own, with outboxes that are lists.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use zeolite_proto::{EventParser, Kind};
use zeolite_testkit::Factory;

use super::*;

const BOUNDS: FanoutBounds = FanoutBounds {
    recent_events_max: 3,
    recent_bytes_max: 1 << 20,
    lag_events_max: 10,
    lag_max: Duration::from_secs(5),
    at_once_max: 250,
};

/// A subscription that writes down what it was given.
struct Notes {
    key: (ConnId, SubKey),
    filters: Arc<[Filter]>,
    active: Cell<bool>,
    full: Cell<bool>,
    /// How many events might have gone to its socket at once.
    at_once: Cell<usize>,
    given: RefCell<Vec<String>>,
}

#[derive(Clone)]
struct Fake(Rc<Notes>);

impl Feed for Fake {
    fn conn(&self) -> ConnId {
        self.0.key.0
    }

    fn key(&self) -> SubKey {
        self.0.key.1
    }

    fn filters(&self) -> &Arc<[Filter]> {
        &self.0.filters
    }

    fn is_active(&self) -> bool {
        self.0.active.get()
    }

    /// Connection 1 may read what is gated, others may not.
    fn may_read(&self, _: &Event) -> bool {
        self.0.key.0 == ConnId(1)
    }

    fn offer(&self, event: &Event, at_once: bool) -> Offer {
        if !self.is_active() {
            return Offer::Gone;
        }
        if self.0.full.get() {
            return Offer::Full;
        }
        let content = String::from_utf8(event.view().content().to_vec()).unwrap();
        self.0.given.borrow_mut().push(content);
        if at_once {
            self.0.at_once.set(self.0.at_once.get() + 1);
            return Offer::Sent(1);
        }
        Offer::Taken
    }

    fn end_too_slow(&self) {
        self.0.active.set(false);
        self.0.given.borrow_mut().push("CLOSED".to_owned());
    }
}

/// A machine and what it asked of the query workers.
struct World {
    factory: Factory,
    fanout: Fanout<Fake>,
    ephemerals: EphemeralCount,
    replays: Vec<(SubKey, u64, u64)>,
    last: u64,
}

impl World {
    fn new() -> Self {
        Self::with(Gates::default())
    }

    fn with(gates: Gates) -> Self {
        Self {
            factory: Factory::unsigned(1),
            fanout: Fanout::new(BOUNDS, Arc::new(gates), Seq::ZERO),
            ephemerals: EphemeralCount::default(),
            replays: Vec::new(),
            last: 0,
        }
    }

    fn tell(&mut self, input: FanoutIn<Fake>) {
        self.tell_with(input, false);
    }

    fn tell_with(&mut self, input: FanoutIn<Fake>, is_last: bool) {
        let replays = &mut self.replays;
        self.fanout.handle(input, is_last, &mut |replay: Replay<Fake>| {
            replays.push((replay.feed.key(), replay.after.0, replay.through.0));
        });
    }

    fn event(&mut self, kind: u16, content: &str) -> Event {
        let json = self.factory.draft(0).kind(kind).content(content).json();
        EventParser::new().parse(&json).unwrap()
    }

    /// Admits an event whose content is its seq.
    fn admit(&mut self, kind: u16) {
        self.last += 1;
        let event = self.event(kind, &self.last.to_string());
        self.tell(FanoutIn::Admitted([(Seq(self.last), event)].into()));
    }

    /// An ephemeral event; the fan-out is told of it later.
    fn publish(&mut self, kind: u16, content: &str) -> FanoutIn<Fake> {
        let number = self.ephemerals.count_one();
        FanoutIn::Ephemeral { number, event: self.event(kind, content) }
    }

    fn publish_now(&mut self, kind: u16, content: &str) {
        let message = self.publish(kind, content);
        self.tell(message);
    }

    fn sub(&self, conn: u64, key: u64) -> Fake {
        Fake(Rc::new(Notes {
            key: (ConnId(conn), SubKey(key)),
            filters: [Filter::from_json(r#"{"kinds":[1]}"#).unwrap()].into(),
            active: Cell::new(true),
            full: Cell::new(false),
            at_once: Cell::new(0),
            given: RefCell::default(),
        }))
    }

    fn attach(&mut self, conn: u64, key: u64, seen: u64) -> Fake {
        let sub = self.sub(conn, key);
        let heard = self.ephemerals.get();
        self.tell(FanoutIn::Attach { feed: sub.clone(), seen: Seq(seen), heard });
        sub
    }
}

#[track_caller]
fn check(sub: &Fake, expected: &[&str]) {
    assert_eq!(*sub.0.given.borrow(), expected);
}

/// The seam of section 7: what was admitted between ceiling and attach comes from the ring, what
/// matches later comes live, each once and in order.
#[test]
fn an_attach_bridges_from_its_ceiling() {
    let mut world = World::new();
    for kind in [1, 2, 1] {
        world.admit(kind);
    }
    let late = world.attach(1, 1, 1);
    let early = world.attach(1, 2, 0);
    world.admit(1);
    world.admit(7);
    check(&late, &["3", "4"]);
    check(&early, &["1", "3", "4"]);
    assert_eq!(world.replays, []);
}

/// What the ring does not hold any more is replayed from the log, then from the ring, then live.
#[test]
fn a_late_attach_is_replayed_from_the_log() {
    let mut world = World::new();
    for _ in 0..5 {
        world.admit(1);
    }
    let sub = world.attach(1, 1, 1);
    assert_eq!(world.replays, [(SubKey(1), 1, 5)]);
    world.admit(1);
    check(&sub, &[]);
    world.tell(FanoutIn::Replayed { conn: ConnId(1), key: SubKey(1), reached: Seq(5) });
    world.admit(1);
    check(&sub, &["6", "7"]);
}

/// A full outbox is not given anything until it drained, and then everything it missed.
#[test]
fn a_lagging_subscription_misses_nothing() {
    let mut world = World::new();
    let (slow, other) = (world.attach(1, 1, 0), world.attach(2, 1, 0));
    world.admit(1);
    slow.0.full.set(true);
    world.admit(1);
    slow.0.full.set(false);
    world.admit(1);
    check(&slow, &["1"]);
    world.tell(FanoutIn::Drained(ConnId(1)));
    world.admit(1);
    check(&slow, &["1", "2", "3", "4"]);
    slow.0.full.set(true);
    for _ in 0..5 {
        world.admit(1);
    }
    slow.0.full.set(false);
    world.tell(FanoutIn::Drained(ConnId(1)));
    assert_eq!(world.replays, [(SubKey(1), 4, 9)]);
    check(&other, &["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    assert_eq!(world.fanout.take_stats().lagged, 2);
}

/// Too far behind, or full for too long: a CLOSED, and nothing afterwards.
#[test]
fn too_slow_is_said() {
    let mut world = World::new();
    let far = world.attach(1, 1, 0);
    far.0.full.set(true);
    for _ in 0..11 {
        world.admit(1);
    }
    world.tell(FanoutIn::Tick(Duration::from_secs(1)));
    check(&far, &["CLOSED"]);
    let long = world.attach(2, 1, 11);
    long.0.full.set(true);
    world.admit(1);
    world.tell(FanoutIn::Tick(Duration::from_secs(6)));
    check(&long, &[]);
    world.tell(FanoutIn::Tick(Duration::from_secs(7)));
    check(&long, &["CLOSED"]);
    world.admit(1);
    assert_eq!(world.fanout.subscriptions(), 0);
}

/// CLOSE and disconnect end a subscription in whatever phase it is; answers that come late for it
/// are ignored.
#[test]
fn an_ended_subscription_is_gone_in_every_phase() {
    let mut world = World::new();
    for _ in 0..5 {
        world.admit(1);
    }
    let replaying = world.attach(1, 1, 0);
    let live = world.attach(1, 2, 5);
    let lagging = world.attach(1, 3, 5);
    lagging.0.full.set(true);
    world.admit(1);
    world.tell(FanoutIn::Detach(ConnId(1), SubKey(1)));
    world.tell(FanoutIn::Replayed { conn: ConnId(1), key: SubKey(1), reached: Seq(5) });
    world.tell(FanoutIn::Disconnect(ConnId(1)));
    lagging.0.full.set(false);
    world.tell(FanoutIn::Drained(ConnId(1)));
    world.admit(1);
    check(&replaying, &[]);
    check(&live, &["6"]);
    check(&lagging, &[]);
    let closed = world.sub(1, 4);
    closed.0.active.set(false);
    world.tell(FanoutIn::Attach { feed: closed, seen: Seq(6), heard: 0 });
    assert_eq!(world.fanout.subscriptions(), 0);
}

/// R01-22: an ephemeral event reaches who is live at that moment, and is in no replay.
#[test]
fn ephemeral_events_are_for_this_moment() {
    let mut world = World::new();
    let sub = world.attach(1, 1, 0);
    world.publish_now(1, "now");
    sub.0.full.set(true);
    world.publish_now(1, "lost");
    sub.0.full.set(false);
    world.admit(1);
    check(&sub, &["now", "1"]);
    assert_eq!(world.fanout.take_stats().ephemeral_dropped, 1);
}

/// R01-50, R46-01: an event that nobody stores, and that came between a `REQ` and its attachment, is not
/// lost; what came before is not given, whenever the fan-out hears of it, and nothing is remembered
/// for long.
#[test]
fn ephemeral_events_are_those_after_the_req() {
    let mut world = World::with(Gates::new([Kind(4)], []));
    world.publish_now(1, "before");
    let heard = world.ephemerals.get();
    world.publish_now(1, "between");
    world.publish_now(2, "unwanted");
    world.publish_now(1, "and again");
    let sub = world.sub(1, 1);
    world.tell(FanoutIn::Attach { feed: sub.clone(), seen: Seq(0), heard });
    check(&sub, &["between", "and again"]);
    world.publish_now(1, "live");
    check(&sub, &["between", "and again", "live"]);
    for second in 1..=2 {
        world.tell(FanoutIn::Tick(Duration::from_secs(second)));
    }
    let late = world.sub(1, 2);
    world.tell(FanoutIn::Attach { feed: late.clone(), seen: Seq(0), heard });
    check(&late, &[]);
    let on_its_way = world.publish(1, "acknowledged before the REQ");
    let next = world.attach(1, 3, 0);
    world.tell(on_its_way);
    check(&next, &[]);
    assert_eq!(world.fanout.take_stats().ephemeral_dropped, 0);
}

/// R59-01: what is gated goes to who may read it, live, from the ring, and for the moment only.
#[test]
fn gated_events_go_to_who_may_read_them() {
    let mut world = World::with(Gates::new([Kind(1)], []));
    let (reader, other) = (world.attach(1, 1, 0), world.attach(2, 1, 0));
    world.admit(1);
    world.publish_now(1, "now");
    let (late_reader, late_other) = (world.attach(1, 2, 0), world.attach(2, 2, 0));
    check(&reader, &["1", "now"]);
    check(&late_reader, &["1"]);
    check(&other, &[]);
    check(&late_other, &[]);
    assert_eq!(world.fanout.take_stats().ephemeral_dropped, 0);
}

/// Who has nothing else to do hands a few events to the sockets itself; a crowd, and what comes in a
/// hurry, is left to the writers.
#[test]
fn few_deliveries_go_at_once() {
    let mut world = World::new();
    let subs: Vec<_> = (0..300).map(|conn| world.attach(conn, 1, 0)).collect();
    let count = |subs: &[Fake]| subs.iter().map(|sub| sub.0.at_once.take()).sum::<usize>();
    let admit = |world: &mut World, events: u64, is_last: bool| {
        let seqs = world.last + 1..=world.last + events;
        world.last += events;
        let batch = seqs.map(|seq| (Seq(seq), world.event(1, "x"))).collect();
        world.tell_with(FanoutIn::Admitted(batch), is_last);
    };
    for (events, is_last, expected) in [
        (1, true, BOUNDS.at_once_max),
        (1, false, 0),
        (AT_ONCE_EVENTS_MAX as u64, true, BOUNDS.at_once_max),
        (AT_ONCE_EVENTS_MAX as u64 + 1, true, 0),
    ] {
        admit(&mut world, events, is_last);
        assert_eq!(count(&subs), expected, "{events} events, {is_last}");
        let stats = world.fanout.take_stats();
        assert_eq!((stats.delivered, stats.sent_bytes), (300 * events, expected as u64));
    }
    let ephemeral = world.publish(1, "now");
    world.tell_with(ephemeral, true);
    assert_eq!(count(&subs), BOUNDS.at_once_max);
    let ephemeral = world.publish(1, "later");
    world.tell(ephemeral);
    assert_eq!(count(&subs), 0);
}
