//! Which events are under way to a relay, and what its answers mean. Without IO.

use std::collections::{HashMap, VecDeque};

use zeolite_proto::{Event, EventId};

use crate::commands::import::tally::{Place, Tally, Verdict};

/// Events under way at most, if the relay does not object: at 40,000 events/s and a round trip
/// of 10 ms, 400 keep it busy.
const IN_FLIGHT_MAX: usize = 1024;

/// Bytes under way at most, one event aside.
const IN_FLIGHT_BYTES_MAX: usize = 4 << 20;

/// Answers of a relay that works after which the window opens by one event.
const ANSWERS_PER_STEP: usize = 4;

/// What an answer asks of the sender.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Go on.
    Fine,
    /// Wait a while: the event was refused for its rate and will be sent again.
    SlowDown,
    /// Stop: the relay itself failed.
    Broken(String),
    /// No event with this id is under way.
    Unknown,
}

/// The events between the input and the relay's answers.
pub(crate) struct Window {
    /// To be sent, in order.
    queue: VecDeque<Item>,
    /// Sent and unanswered. Two copies of an event are two entries under one id.
    in_flight: HashMap<EventId, VecDeque<Item>>,
    in_flight_events: usize,
    in_flight_bytes: usize,
    /// Events that may be under way; falls when the relay says so, rises again with its answers.
    in_flight_max: usize,
    answers: usize,
    tally: Tally,
}

struct Item {
    place: Place,
    event: Event,
}

impl Window {
    pub(crate) fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            in_flight: HashMap::new(),
            in_flight_events: 0,
            in_flight_bytes: 0,
            in_flight_max: IN_FLIGHT_MAX,
            answers: 0,
            tally: Tally::default(),
        }
    }

    /// Takes the next part of the input: what is already decided, and what is to be sent.
    pub(crate) fn push(&mut self, tally: Tally, events: Vec<(Place, Event)>) {
        self.tally.merge(tally);
        self.queue.extend(events.into_iter().map(|(place, event)| Item { place, event }));
    }

    /// True if the next part of the input would be sent at once.
    pub(crate) fn wants_more(&self) -> bool {
        self.queue.is_empty()
    }

    /// True if nothing is waiting, neither here nor at the relay.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.in_flight_events == 0
    }

    /// True if an answer is due.
    pub(crate) fn awaits_answers(&self) -> bool {
        self.in_flight_events > 0
    }

    /// The next event to send; it counts as sent. `None` if the window is full or there is none.
    pub(crate) fn next_to_send(&mut self) -> Option<Event> {
        if self.in_flight_events >= self.in_flight_max
            || self.in_flight_bytes >= IN_FLIGHT_BYTES_MAX
        {
            return None;
        }
        let item = self.queue.pop_front()?;
        let event = item.event.clone();
        self.in_flight_events += 1;
        self.in_flight_bytes += event.record_bytes();
        self.in_flight.entry(event.view().id()).or_default().push_back(item);
        Some(event)
    }

    /// Takes the relay's answer to an event.
    pub(crate) fn answer(&mut self, id: &EventId, accepted: bool, text: &str) -> Reply {
        let Some(item) = self.take(id) else { return Reply::Unknown };
        let (prefix, _) = text.split_once(':').unwrap_or(("", text));
        let verdict = match (accepted, prefix) {
            (true, "duplicate") => Verdict::Duplicate,
            (true, _) => Verdict::Stored,
            (false, "rate-limited") => {
                self.queue.push_front(item);
                self.in_flight_max = (self.in_flight_max / 2).max(1);
                return Reply::SlowDown;
            }
            (false, "error") => {
                self.queue.push_front(item);
                return Reply::Broken(text.to_owned());
            }
            (false, "duplicate") => Verdict::Superseded,
            // Our own words; another relay's are counted as they are.
            (false, _) if text == "blocked: deleted by its author" => Verdict::Deleted,
            (false, _) if text == "invalid: the event has expired" => Verdict::Expired,
            (false, _) => Verdict::refused(text),
        };
        self.tally.add(verdict, item.place);
        self.answers += 1;
        if self.answers.is_multiple_of(ANSWERS_PER_STEP) {
            self.in_flight_max = (self.in_flight_max + 1).min(IN_FLIGHT_MAX);
        }
        Reply::Fine
    }

    fn take(&mut self, id: &EventId) -> Option<Item> {
        let items = self.in_flight.get_mut(id)?;
        let item = items.pop_front()?;
        if items.is_empty() {
            self.in_flight.remove(id);
        }
        self.in_flight_events -= 1;
        self.in_flight_bytes -= item.event.record_bytes();
        Some(item)
    }

    /// The connection is lost: what is unanswered is sent again. An event that the relay had
    /// taken in before is answered as a duplicate then.
    pub(crate) fn rewind(&mut self) {
        let mut lost: Vec<_> = self.in_flight.drain().flat_map(|(_, items)| items).collect();
        lost.sort_by_key(|item| item.place);
        for item in lost.into_iter().rev() {
            self.queue.push_front(item);
        }
        (self.in_flight_events, self.in_flight_bytes) = (0, 0);
    }

    /// How many lines are done.
    pub(crate) fn done(&self) -> u64 {
        self.tally.total()
    }

    /// What became of the lines that are done.
    pub(crate) fn into_tally(self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use zeolite_proto::EventParser;
    use zeolite_testkit::Factory;

    use super::*;

    fn events(count: u64) -> Vec<(Place, Event)> {
        let mut factory = Factory::unsigned(1);
        let mut parser = EventParser::new();
        let mut event = |line| {
            let json = factory.note(0, line, "").to_string();
            (Place { file: 0, line }, parser.parse(&json).expect("the factory makes events"))
        };
        (1..=count).map(&mut event).collect()
    }

    fn send_all(window: &mut Window) -> Vec<EventId> {
        std::iter::from_fn(|| window.next_to_send()).map(|event| event.view().id()).collect()
    }

    /// What each answer counts as; the prefix decides, not the words.
    #[test]
    fn answers_are_counted_by_prefix() {
        for (accepted, text, verdict) in [
            (true, "", Verdict::Stored),
            (true, "anything", Verdict::Stored),
            (true, "duplicate: seen", Verdict::Duplicate),
            (false, "duplicate: a newer version is stored", Verdict::Superseded),
            (false, "blocked: deleted by its author", Verdict::Deleted),
            (false, "invalid: the event has expired", Verdict::Expired),
            (false, "blocked: spam", Verdict::refused("blocked: spam")),
            (false, "invalid: bad", Verdict::refused("invalid: bad")),
        ] {
            let mut window = Window::new();
            window.push(Tally::default(), events(1));
            let sent = send_all(&mut window);
            assert_eq!(window.answer(&sent[0], accepted, text), Reply::Fine, "{text}");
            assert_eq!(window.answer(&sent[0], accepted, text), Reply::Unknown, "{text}");
            assert!(window.is_idle());
            assert_eq!(window.into_tally().count(&verdict), 1, "{text}");
        }
    }

    /// A relay that is too busy gets the event again, and fewer at a time; one that is broken
    /// ends the import. Neither event is counted.
    #[test]
    fn refusals_that_are_not_final() {
        let mut window = Window::new();
        window.push(Tally::default(), events(3));
        let sent = send_all(&mut window);
        assert_eq!(window.answer(&sent[1], false, "rate-limited: slow down"), Reply::SlowDown);
        assert_eq!(send_all(&mut window), [sent[1]]);
        let broken = Reply::Broken("error: disk full".to_owned());
        assert_eq!(window.answer(&sent[0], false, "error: disk full"), broken);
        assert_eq!((window.done(), window.is_idle()), (0, false));
    }

    /// The window is bounded, and a lost connection sends what is unanswered again, in order.
    #[test]
    fn the_window_is_bounded_and_rewinds() {
        let mut window = Window::new();
        window.push(Tally::default(), events(IN_FLIGHT_MAX as u64 + 5));
        let sent = send_all(&mut window);
        assert_eq!(sent.len(), IN_FLIGHT_MAX);
        assert!(!window.wants_more());
        window.answer(&sent[7], true, "");
        window.rewind();
        let again = send_all(&mut window);
        assert_eq!(again.len(), IN_FLIGHT_MAX);
        assert_eq!((&again[..7], &again[7..20]), (&sent[..7], &sent[8..21]));
    }
}
