//! Which index a filter was served by, and why.

use std::fmt;

/// An index, or set of index groups, that can serve a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// No event can match, so nothing is read.
    Nothing,
    /// One look-up for each id.
    Ids,
    /// One group for each pair of author and kind.
    AuthorKinds,
    /// One group for each author.
    Authors,
    /// The groups of a tag filter's values.
    Tag {
        /// The tag's letter.
        letter: char,
        /// True for `&x`, of which a single value is walked.
        all: bool,
    },
    /// One group for each kind.
    Kinds,
    /// All events by time.
    Timeline,
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Ids => f.write_str("ids"),
            Self::AuthorKinds => f.write_str("author and kind"),
            Self::Authors => f.write_str("authors"),
            Self::Tag { letter, all: false } => write!(f, "#{letter}"),
            Self::Tag { letter, all: true } => write!(f, "&{letter}"),
            Self::Kinds => f.write_str("kinds"),
            Self::Timeline => f.write_str("timeline"),
        }
    }
}

/// How one filter is served, and what that has cost so far.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The index that is walked.
    pub chosen: Dimension,
    /// How often another index was taken on the way, because the walk met far more entries than
    /// expected.
    pub replans: u32,
    /// Every index that was considered the last time.
    pub considered: Vec<Considered>,
    /// Entries looked at.
    pub looked: u64,
    /// Matches given.
    pub matched: u64,
}

/// What the planner knew of one index.
#[derive(Clone, Copy, Debug)]
pub struct Considered {
    /// The index.
    pub dimension: Dimension,
    /// Groups to be walked.
    pub groups: usize,
    /// What the first reads said; `None` if there was no need to ask.
    pub estimate: Option<Estimate>,
}

/// The planner's guess of what an index costs.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Entries that will be looked at.
    pub looks: u64,
    /// True if that is all there is.
    pub is_exact: bool,
    /// Microseconds.
    pub cost_us: u64,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {}: {} looked at, {} matched", self.chosen, self.looked, self.matched)?;
        if self.replans > 0 {
            write!(f, ", planned again {} times", self.replans)?;
        }
        for one in &self.considered {
            write!(f, "\n  {}: {} groups", one.dimension, one.groups)?;
            match one.estimate {
                None => f.write_str(", not estimated")?,
                Some(estimate) => {
                    let about = if estimate.is_exact { "exactly" } else { "about" };
                    write!(f, ", {about} {} looks, {} us", estimate.looks, estimate.cost_us)?;
                }
            }
        }
        Ok(())
    }
}
