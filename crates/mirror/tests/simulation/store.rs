//! A relay's store for the simulation: the oracle, and the events behind its ids.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;
use zeolite_mirror::Verdict;
use zeolite_proto::{Event, EventId, EventParser, Filter};
use zeolite_testkit::{OracleOutcome, OracleStore};

/// Before every expiration in these worlds.
const NOW: u64 = 1_600_000_000;

pub(crate) struct Store {
    oracle: OracleStore,
    events: BTreeMap<EventId, Event>,
    pub blocked: HashSet<EventId>,
    /// Events given to it, however often.
    pub taken: u64,
}

impl Store {
    pub(crate) fn new() -> Self {
        Self {
            oracle: OracleStore::new(&["wss://relay.example"]),
            events: BTreeMap::new(),
            blocked: HashSet::new(),
            taken: 0,
        }
    }

    /// Takes an event as a relay does.
    pub(crate) fn publish(&mut self, event: &Event) -> Verdict {
        self.taken += 1;
        let id = event.view().id();
        if self.blocked.contains(&id) {
            return Verdict::Blocked;
        }
        self.events.insert(id, event.clone());
        match self.oracle.publish(&value(event), NOW) {
            OracleOutcome::Stored => Verdict::Stored,
            OracleOutcome::Duplicate => Verdict::Duplicate,
            OracleOutcome::Superseded => Verdict::Superseded,
            OracleOutcome::Deleted => Verdict::Deleted,
            OracleOutcome::Vanished => Verdict::Vanished,
            OracleOutcome::Expired => Verdict::Expired,
            OracleOutcome::Ephemeral => Verdict::Ephemeral,
        }
    }

    /// What it would say to an event, without taking it.
    pub(crate) fn judge(&self, event: &Event) -> Verdict {
        let mut copy = Self {
            oracle: self.oracle.clone(),
            events: BTreeMap::new(),
            blocked: self.blocked.clone(),
            taken: 0,
        };
        copy.publish(event)
    }

    /// Stored matches, newest first.
    pub(crate) fn query(&self, filter: &Filter) -> Vec<Event> {
        let mut json = Vec::new();
        filter.push_json(&mut json);
        let filter = serde_json::from_slice(&json).expect("a filter is JSON");
        let ids = self.oracle.query(&[filter], NOW);
        ids.iter().map(|id| self.events[&EventId::from_hex(id).expect("an id")].clone()).collect()
    }

    pub(crate) fn get(&self, id: &EventId) -> Option<Event> {
        self.oracle.get(&id.to_string()).map(|_| self.events[id].clone())
    }
}

pub(crate) fn parse(value: &Value) -> Event {
    EventParser::new().parse(&value.to_string()).expect("a valid event")
}

fn value(event: &Event) -> Value {
    serde_json::from_slice(event.json()).expect("an event is JSON")
}
