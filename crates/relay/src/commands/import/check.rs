//! What a worker does with a chunk: parse, check, verify. The rules are the socket's.

use std::sync::Arc;

use zeolite_policy::Policy;
use zeolite_proto::{
    Event, EventId, EventParser, EventRef, Reason, SignatureCheck, Timestamp, Verified,
};
use zeolite_session::{Publisher, SessionLimits, check_event};

use super::lines::Chunk;
use super::tally::{Place, Tally, Verdict};

/// What a chunk came to: the verdicts that are final, and the events that go on.
pub(crate) struct Checked<E> {
    pub(crate) tally: Tally,
    pub(crate) events: Vec<(Place, E)>,
}

/// What an event must satisfy before anyone looks at its signature.
pub(crate) struct Gate {
    limits: SessionLimits,
    publisher: Publisher<'static>,
    /// The relay's rules and its administrators' decisions, where they are asked for.
    policy: Option<Policy>,
}

impl Gate {
    pub(crate) fn new(
        limits: &SessionLimits,
        publisher: Publisher<'static>,
        policy: Option<Policy>,
    ) -> Self {
        Self { limits: limits.clone(), publisher, policy }
    }

    fn judge(&self, event: EventRef<'_>, now: Timestamp) -> Result<(), Reason> {
        check_event(&self.limits, event, now, self.publisher)?;
        self.policy.as_ref().map_or(Ok(()), |policy| policy.judge(event, now))
    }
}

/// Parses a chunk and sorts out what a socket would refuse and what is never stored.
pub(crate) fn parse(
    chunk: &Chunk,
    parser: &mut EventParser,
    gate: &Gate,
    now: Timestamp,
) -> Checked<Event> {
    let mut tally = Tally::default();
    for (place, verdict) in &chunk.faults {
        tally.add(verdict.clone(), *place);
    }
    let mut events = Vec::new();
    for (place, text) in chunk.events() {
        match parse_one(text, parser, gate, now) {
            Ok(event) => events.push((place, event)),
            Err(verdict) => tally.add(verdict, place),
        }
    }
    Checked { tally, events }
}

fn parse_one(
    text: &[u8],
    parser: &mut EventParser,
    gate: &Gate,
    now: Timestamp,
) -> Result<Event, Verdict> {
    let text =
        std::str::from_utf8(text).map_err(|_| Verdict::refused("invalid: line is not UTF-8"))?;
    let event = parser.parse(text).map_err(|error| Verdict::refused(Reason::from(error)))?;
    if event.view().kind().is_ephemeral() {
        return Err(Verdict::Ephemeral);
    }
    gate.judge(event.view(), now).map_err(Verdict::refused)?;
    Ok(event)
}

/// How signatures are dealt with.
#[derive(Clone)]
pub(crate) enum Trust {
    /// Every signature is verified.
    Verify(Arc<dyn SignatureCheck + Send + Sync>),
    /// The operator vouches for the input.
    Trusted,
}

/// Takes out the duplicates, which cost no verification, and the events whose signature is wrong.
pub(crate) fn verify(
    checked: Checked<Event>,
    trust: &Trust,
    mut is_stored: impl FnMut(&EventId) -> bool,
) -> Checked<Verified<Event>> {
    let Checked { mut tally, events } = checked;
    let check = match trust {
        Trust::Verify(check) => check,
        Trust::Trusted => {
            let trusted = |(place, event)| (place, Verified::trusted(event));
            return Checked { tally, events: events.into_iter().map(trusted).collect() };
        }
    };
    let (mut places, mut unverified) = (Vec::new(), Vec::new());
    for (place, event) in events {
        if is_stored(&event.view().id()) {
            tally.add(Verdict::Duplicate, place);
        } else {
            places.push(place);
            unverified.push(event);
        }
    }
    let mut events = Vec::with_capacity(places.len());
    for (place, verified) in places.into_iter().zip(Verified::check_all(unverified, &**check)) {
        match verified {
            Ok(event) => events.push((place, event)),
            Err(_) => tally.add(Verdict::refused(BAD_SIGNATURE), place),
        }
    }
    Checked { tally, events }
}

/// The words of the socket road.
const BAD_SIGNATURE: &str = "invalid: the signature is wrong";
