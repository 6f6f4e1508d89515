//! One REQ: what its client was sent, and whether that was right.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;
use zeolite_proto::Seq;
use zeolite_testkit::oracle_matches;

use crate::history::{History, Stored};

/// How a REQ ended, if it did.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum End {
    /// Closed or replaced by its client, or the connection went.
    Client,
    /// By the relay, with this text.
    Relay(String),
}

/// A REQ and everything that came for it.
#[derive(Default)]
pub(crate) struct Request {
    pub(crate) filters: Vec<Value>,
    /// Ephemeral events that were published before it was sent.
    ephemerals_before: usize,
    /// The step before the query's first slice, which fixed the ceiling.
    pub(crate) started: Option<u64>,
    /// The query's ceiling and the step in which it was through.
    pub(crate) ceiling: Option<(Seq, u64)>,
    pub(crate) end: Option<End>,
    stored: Vec<String>,
    eose: Option<String>,
    live: Vec<Seq>,
    ephemeral: HashSet<String>,
}

impl Request {
    pub(crate) fn new(filters: Vec<Value>, history: &History) -> Self {
        Self { filters, ephemerals_before: history.ephemeral.len(), ..Self::default() }
    }

    pub(crate) fn wants(&self, event: &Value) -> bool {
        self.filters.iter().any(|filter| oracle_matches(event, filter))
    }

    pub(crate) fn saw_ephemeral(&self, id: &str) -> bool {
        self.ephemeral.contains(id)
    }

    /// An EVENT arrived.
    pub(crate) fn event(&mut self, event: &Value, history: &History) {
        assert_eq!(self.end, None, "after its end: {event}");
        assert!(self.wants(event), "not asked for: {event}");
        let id = event["id"].as_str().expect("an id");
        if let Some(&rank) = history.ephemeral.get(id) {
            assert!(rank > self.ephemerals_before, "published before the REQ: {event}");
            assert!(self.eose.is_some(), "ephemeral before EOSE: {event}");
            assert!(self.ephemeral.insert(id.to_owned()), "twice: {event}");
        } else if self.eose.is_none() {
            self.stored.push(id.to_owned());
        } else {
            let seq = history.get(id).expect("events come from the store").seq;
            let last = self.live.last().copied().unwrap_or_default();
            assert!(seq > last, "twice or out of order, {seq} after {last}: {event}");
            self.live.push(seq);
        }
    }

    /// An EOSE arrived, with this hint.
    pub(crate) fn eose(&mut self, hint: String) {
        assert_eq!(self.end, None, "EOSE after its end");
        assert_eq!(self.eose.replace(hint), None, "a second EOSE");
    }

    /// A CLOSED arrived, with this text.
    pub(crate) fn closed(&mut self, text: &str) {
        assert_eq!(self.end.replace(End::Relay(text.to_owned())), None, "CLOSED after its end");
    }

    /// Once everything has come to rest: was it sent what it should have been?
    pub(crate) fn check(&self, history: &History) {
        match &self.end {
            None => assert!(self.eose.is_some(), "open, and without EOSE"),
            Some(End::Relay(text)) => assert!(text.starts_with("error: too slow"), "{text}"),
            Some(End::Client) => {}
        }
        self.check_stored(history);
        self.check_live(history);
    }

    fn check_stored(&self, history: &History) {
        let Some((ceiling, done)) = self.ceiling else {
            assert!(self.eose.is_none(), "EOSE of an unfinished query");
            return;
        };
        let started = self.started.expect("a query that is through had a start");
        let get = |id: &String| history.get(id).expect("events come from the store");
        let sent: Vec<&Stored> = self.stored.iter().map(get).collect();
        for stored in &sent {
            let Stored { seq, id, .. } = stored;
            assert!(*seq <= ceiling, "{seq} is above the ceiling {ceiling}");
            assert!(stored.removed.is_none_or(|at| at >= started), "{id} was gone");
        }
        let order = |stored: &&Stored| {
            (std::cmp::Reverse(stored.json["created_at"].as_u64()), stored.id.clone())
        };
        assert!(sent.windows(2).all(|pair| order(&pair[0]) < order(&pair[1])), "newest first");
        if self.eose.is_some() {
            self.check_complete(history, ceiling, started, done, &sent);
        }
    }

    /// With `EOSE` the stored part is complete, up to what was removed meanwhile.
    fn check_complete(
        &self,
        history: &History,
        ceiling: Seq,
        started: u64,
        done: u64,
        sent: &[&Stored],
    ) {
        let below = || history.stored.iter().filter(|stored| stored.seq <= ceiling);
        let there_until = |stored: &Stored, step| stored.removed.is_none_or(|at| at > step);
        if below().any(|s| there_until(s, started) && !there_until(s, done)) && self.is_limited() {
            // What a limit lets through depends on when each event went.
            return;
        }
        let mut wanted = BTreeSet::new();
        for filter in &self.filters {
            let mut matching: Vec<_> = below()
                .filter(|stored| there_until(stored, done) && oracle_matches(&stored.json, filter))
                .collect();
            matching.sort_by_key(|stored| {
                (std::cmp::Reverse(stored.json["created_at"].as_u64()), stored.id.clone())
            });
            let limit = filter["limit"].as_u64().unwrap_or(u64::MAX);
            matching.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            wanted.extend(matching.iter().map(|stored| stored.seq));
        }
        let sent: BTreeSet<Seq> = sent.iter().map(|stored| stored.seq).collect();
        let missing: Vec<_> = wanted.difference(&sent).collect();
        assert!(missing.is_empty(), "never sent before EOSE: {missing:?}");
        if self.is_limited() {
            assert_eq!(sent, wanted, "more than the limit");
        }
        if self.eose.as_deref() == Some("finish") {
            let all = below().filter(|s| there_until(s, done) && self.wants(&s.json));
            assert!(all.into_iter().all(|s| sent.contains(&s.seq)), "finish is not true");
        }
    }

    fn is_limited(&self) -> bool {
        self.filters.iter().any(|filter| filter.get("limit").is_some())
    }

    fn check_live(&self, history: &History) {
        let Some((ceiling, _)) = self.ceiling else {
            assert!(self.live.is_empty(), "live events of an unfinished query");
            return;
        };
        assert!(self.live.iter().all(|seq| *seq > ceiling), "stored events after EOSE");
        // What ended may lack its end, but nothing between.
        let through = match self.end {
            None => history.stored.last().map_or(Seq::ZERO, |stored| stored.seq),
            Some(_) => self.live.last().copied().unwrap_or(ceiling),
        };
        let missing: Vec<Seq> = history
            .stored
            .iter()
            .filter(|stored| stored.seq > ceiling && stored.seq <= through)
            .filter(|stored| stored.removed.is_none() && self.wants(&stored.json))
            .map(|stored| stored.seq)
            .filter(|seq| !self.live.contains(seq))
            .collect();
        assert!(missing.is_empty(), "never sent live: {missing:?} of {ceiling}..={through}");
    }
}
