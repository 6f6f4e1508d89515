//! Who received what: each event once, and when.

use std::sync::Arc;
use std::time::Instant;

use zeolite_proto::EventId;

use super::notes::Notes;
use super::pace::Schedule;
use crate::latency::Recorder;
use crate::row::Row;

/// Who must receive the note at a place.
pub(crate) enum Audience {
    /// The one member with this number.
    One(Box<dyn Fn(usize) -> usize>),
    /// All of so many members.
    All(usize),
}

/// Counts deliveries and finds those that are missing, doubled or went astray.
pub(crate) struct Ledger {
    notes: Arc<Notes>,
    schedule: Schedule,
    audience: Audience,
    /// A bit for each delivery that must come.
    seen: Vec<u64>,
    counts: Counts,
    /// Times from the intended publication to the arrival.
    pub(crate) delivery: Recorder,
    /// The first and the latest arrival of each note.
    arrivals: Vec<Option<(Instant, Instant)>>,
}

/// What a ledger found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Deliveries that had to come and came for the first time.
    pub(crate) delivered: u64,
    /// Deliveries that came again.
    pub(crate) doubled: u64,
    /// Events that were not published here, or went to somebody who did not ask for them.
    pub(crate) stray: u64,
}

impl Ledger {
    pub(crate) fn new(notes: Arc<Notes>, schedule: Schedule, audience: Audience) -> Self {
        let members = match audience {
            Audience::One(_) => 1,
            Audience::All(members) => members,
        };
        let bits = members * notes.len();
        Self {
            seen: vec![0; bits.div_ceil(64)],
            arrivals: vec![None; notes.len()],
            counts: Counts::default(),
            delivery: Recorder::new(),
            notes,
            schedule,
            audience,
        }
    }

    /// How many deliveries must come.
    pub(crate) fn expected(&self) -> u64 {
        match self.audience {
            Audience::One(_) => self.notes.len() as u64,
            Audience::All(members) => (members * self.notes.len()) as u64,
        }
    }

    /// Takes one delivery, and says whether it is one that had to come and had not.
    pub(crate) fn take(&mut self, member: usize, id: &EventId, now: Instant) -> bool {
        let Some(place) = self.notes.place(id) else {
            self.counts.stray += 1;
            return false;
        };
        let bit = match &self.audience {
            Audience::One(of) if of(place) != member => {
                self.counts.stray += 1;
                return false;
            }
            Audience::One(_) => place,
            Audience::All(_) => member * self.notes.len() + place,
        };
        let (word, mask) = (&mut self.seen[bit / 64], 1 << (bit % 64));
        if *word & mask != 0 {
            self.counts.doubled += 1;
            return false;
        }
        *word |= mask;
        self.counts.delivered += 1;
        self.delivery.record(now.saturating_duration_since(self.schedule.due(place)));
        self.arrivals[place].get_or_insert((now, now)).1 = now;
        true
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Times from the intended publication of a note to its first arrival.
    pub(crate) fn first_arrivals(&self) -> Recorder {
        self.arrival_times(|(first, _)| first)
    }

    /// Times from the intended publication of a note to its last arrival.
    pub(crate) fn last_arrivals(&self) -> Recorder {
        self.arrival_times(|(_, last)| last)
    }

    fn arrival_times(&self, which: impl Fn((Instant, Instant)) -> Instant) -> Recorder {
        let mut times = Recorder::new();
        for (place, arrivals) in self.arrivals.iter().enumerate() {
            if let Some(arrivals) = arrivals {
                let time = which(*arrivals).saturating_duration_since(self.schedule.due(place));
                times.record(time);
            }
        }
        times
    }

    /// Each event exactly once for everyone who asked for it, and nothing else.
    pub(crate) fn check(&self, row: &mut Row) {
        row.check("deliveries", self.expected(), self.counts.delivered)
            .check("doubled", 0, self.counts.doubled)
            .check("stray", 0, self.counts.stray);
    }
}

#[cfg(test)]
mod tests {
    use super::super::notes::authors;
    use super::*;

    fn ledger(audience: Audience) -> (Ledger, Arc<Notes>) {
        let notes = Arc::new(Notes::new(&authors(2), 4, 10, |place| place % 2));
        let schedule = Schedule::new(Instant::now(), 1_000.0);
        (Ledger::new(notes.clone(), schedule, audience), notes)
    }

    /// Missing, doubled and stray deliveries are told apart, for both kinds of audience.
    #[test]
    fn deliveries_are_told_apart() {
        let check = |audience, deliveries: &[(usize, usize)], expected: [u64; 3]| {
            let (mut ledger, notes) = ledger(audience);
            for (member, place) in deliveries {
                ledger.take(*member, &notes.event(*place).id, Instant::now());
            }
            let Counts { delivered, doubled, stray } = ledger.counts();
            assert_eq!([delivered, doubled, stray], expected, "{deliveries:?}");
        };
        let one = || Audience::One(Box::new(|place| place % 2));
        check(one(), &[(0, 0), (1, 1), (0, 2), (1, 3)], [4, 0, 0]);
        check(one(), &[(0, 0), (0, 0), (0, 1)], [1, 1, 1]);
        check(Audience::All(2), &[(0, 0), (1, 0), (0, 0)], [2, 1, 0]);
        let (mut ledger, _) = ledger(one());
        ledger.take(0, &EventId([7; 32]), Instant::now());
        assert_eq!(ledger.counts(), Counts { stray: 1, ..Counts::default() });
        assert_eq!(ledger.expected(), 4);
    }
}
