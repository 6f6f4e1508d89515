//! What became of the lines: counts, and where to look first.

use std::collections::BTreeMap;
use std::fmt;

/// What became of one line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// New, and on disk.
    Stored,
    /// Here already.
    Duplicate,
    /// A newer version of it is here.
    Superseded,
    /// Its author deleted it (NIP-09).
    Deleted,
    /// Its author asked to vanish (NIP-62).
    Vanished,
    /// Its time is over (NIP-40).
    Expired,
    /// Of a kind that is never stored (NIP-01).
    Ephemeral,
    /// Refused for this reason.
    Refused(String),
}

impl Verdict {
    /// A refusal whose text fits on a line of the summary, whatever a peer or file put into it.
    pub(crate) fn refused(reason: impl fmt::Display) -> Self {
        Self::Refused(plain(&reason.to_string()))
    }
}

/// A foreign text, made fit for a terminal: short, on one line, without control characters.
pub(crate) fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(REASON_CHARS_MAX).map(plain).collect()
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stored => "stored",
            Self::Duplicate => "duplicate",
            Self::Superseded => "superseded",
            Self::Deleted => "deleted",
            Self::Vanished => "vanished",
            Self::Expired => "expired",
            Self::Ephemeral => "ephemeral",
            Self::Refused(reason) => reason,
        })
    }
}

/// Characters of a reason that are kept.
const REASON_CHARS_MAX: usize = 120;

/// Lines that are named per verdict.
const PLACES_MAX: usize = 5;

/// Reasons that are counted each on its own. Texts may quote the input, so their number is
/// bounded; what comes after is counted together.
const REASONS_MAX: usize = 64;

/// A line of one of the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Which input, counted from 0.
    pub(crate) file: usize,
    /// Which line of it, counted from 1.
    pub(crate) line: u64,
}

/// How many lines met one fate, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) count: u64,
    /// The first few places, in order.
    pub(crate) first: Vec<Place>,
}

/// Counts by verdict. Its size does not depend on the input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    entries: BTreeMap<Verdict, Entry>,
}

impl Tally {
    /// Counts one line.
    pub(crate) fn add(&mut self, verdict: Verdict, place: Place) {
        self.merge_entry(verdict, Entry { count: 1, first: vec![place] });
    }

    /// Adds what another tally counted.
    pub(crate) fn merge(&mut self, other: Self) {
        for (verdict, entry) in other.entries {
            self.merge_entry(verdict, entry);
        }
    }

    fn merge_entry(&mut self, verdict: Verdict, new: Entry) {
        let is_full = self.entries.len() >= REASONS_MAX;
        let key = match verdict {
            Verdict::Refused(_) if is_full && !self.entries.contains_key(&verdict) => {
                Verdict::Refused("other reasons".to_owned())
            }
            verdict => verdict,
        };
        let entry = self.entries.entry(key).or_default();
        entry.count += new.count;
        // Full lists whose last place comes first need no look: the usual case.
        if entry.first.len() < PLACES_MAX || new.first.first() < entry.first.last() {
            entry.first.extend(new.first);
            entry.first.sort_unstable();
            entry.first.truncate(PLACES_MAX);
        }
    }

    /// How many lines were counted.
    pub(crate) fn total(&self) -> u64 {
        self.entries.values().map(|entry| entry.count).sum()
    }

    /// How many lines met this fate.
    pub(crate) fn count(&self, verdict: &Verdict) -> u64 {
        self.entries.get(verdict).map_or(0, |entry| entry.count)
    }

    /// Lines that were refused, by reason.
    pub(crate) fn refused(&self) -> impl Iterator<Item = (&Verdict, &Entry)> {
        self.entries.iter().filter(|(verdict, _)| matches!(verdict, Verdict::Refused(_)))
    }

    /// The whole summary; `names` are the inputs.
    pub(crate) fn summary(&self, names: &[String]) -> String {
        let refused: u64 = self.refused().map(|(_, entry)| entry.count).sum();
        let mut lines = vec![format!("{:>12} read", self.total())];
        for verdict in [
            Verdict::Stored,
            Verdict::Duplicate,
            Verdict::Superseded,
            Verdict::Deleted,
            Verdict::Vanished,
            Verdict::Expired,
            Verdict::Ephemeral,
        ] {
            lines.push(format!("{:>12} {verdict}", self.count(&verdict)));
        }
        lines.push(format!("{refused:>12} refused"));
        for (verdict, entry) in self.refused() {
            let places: Vec<_> = entry.first.iter().map(|place| place.name(names)).collect();
            let more = if entry.count > places.len() as u64 { ", .." } else { "" };
            let line = format!("{:>16} {verdict} ({}{more})", entry.count, places.join(", "));
            lines.push(line);
        }
        lines.join("\n")
    }
}

impl Place {
    fn name(self, names: &[String]) -> String {
        match names {
            [_] => format!("line {}", self.line),
            names => format!("{}:{}", names[self.file], self.line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: u64) -> Place {
        Place { file: 0, line }
    }

    /// The first lines are the first of the input, in whatever order they are counted.
    #[test]
    fn first_places_are_the_first() {
        let mut tally = Tally::default();
        for line in [9, 3, 7, 1, 8, 2, 6] {
            tally.add(Verdict::Duplicate, place(line));
        }
        let mut other = Tally::default();
        other.add(Verdict::Duplicate, place(4));
        tally.merge(other);
        let entry = &tally.entries[&Verdict::Duplicate];
        assert_eq!(entry.first, [1, 2, 3, 4, 6].map(place));
        assert_eq!((entry.count, tally.total()), (8, 8));
    }

    /// A file of a million different faults does not make the summary grow.
    #[test]
    fn reasons_are_bounded_and_plain() {
        let mut tally = Tally::default();
        for line in 1..=1000 {
            let reason = format!("invalid: \u{1b}[31m{line}{}", "x".repeat(500));
            tally.add(Verdict::refused(reason), place(line));
        }
        let summary = tally.summary(&["a".to_owned()]);
        assert_eq!(tally.total(), 1000);
        assert!(tally.entries.len() <= REASONS_MAX + 1, "{}", tally.entries.len());
        assert!(!summary.contains('\u{1b}'));
        assert!(summary.lines().all(|line| line.len() < 250));
    }

    /// The wording of the summary, with one and with several inputs.
    #[test]
    fn summaries_name_the_first_lines() {
        let mut tally = Tally::default();
        tally.add(Verdict::Stored, place(1));
        for line in 2..=8 {
            tally.add(Verdict::refused("invalid: bad"), place(line));
        }
        let one = tally.summary(&["a".to_owned()]);
        assert!(one.starts_with("           8 read\n           1 stored\n"), "{one}");
        assert!(
            one.ends_with("7 invalid: bad (line 2, line 3, line 4, line 5, line 6, ..)"),
            "{one}"
        );
        let two = tally.summary(&["a".to_owned(), "b".to_owned()]);
        assert!(two.contains("(a:2, a:3, "), "{two}");
    }
}
