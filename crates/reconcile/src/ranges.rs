//! Reading messages.

use crate::bound::Bound;
use crate::limits::VERSION;
use crate::sum::Fingerprint;
use crate::varint::{self, VarintError};

/// Why bytes are not a message of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// There is not even a version.
    #[error("message is empty")]
    Empty,
    /// The first byte is no version of this protocol (N-01).
    #[error("message starts with {0:#04x}, which is no version of this protocol")]
    NotThisProtocol(u8),
    /// Another version of this protocol than ours (N-01).
    #[error("message has version byte {0:#04x} instead of 0x61")]
    OtherVersion(u8),
    /// The message ends within a range.
    #[error("message ends within a range")]
    Truncated,
    /// A number above 2^64 - 1.
    #[error("message has a number of more than 64 bits")]
    NumberTooLarge,
    /// A bound whose prefix is longer than an id.
    #[error("message has a bound with a prefix of {0} bytes")]
    PrefixTooLong(u64),
    /// A range of none of the three modes.
    #[error("message has a range of unknown mode {0}")]
    UnknownMode(u64),
    /// A list of more ids than follow.
    #[error("message has a list of {0} ids, more than it holds")]
    ListTooLong(u64),
}

impl From<VarintError> for MessageError {
    fn from(error: VarintError) -> Self {
        match error {
            VarintError::Truncated => Self::Truncated,
            VarintError::TooLarge => Self::NumberTooLarge,
        }
    }
}

/// What a message says about the items from the last range's bound up to this one's (N-04).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<'m> {
    /// Up to where, exclusive. Never below the bound of the range before.
    pub bound: Bound,
    /// What is said.
    pub body: Body<'m>,
}

/// The three modes of a range (N-07).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'m> {
    /// Nothing more to do here.
    Skip,
    /// The sender's items have this fingerprint.
    Fingerprint(Fingerprint),
    /// The sender's items have these ids.
    Ids(&'m [[u8; 32]]),
}

/// What must be known to go on reading between two ranges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The bound of the range before.
    pub(crate) lower: Bound,
    time: u64,
}

/// The ranges of a message, which has been checked whole.
#[derive(Clone, Debug)]
pub struct Ranges<'m> {
    rest: &'m [u8],
    lower: Bound,
    /// The time of the last bound as it was sent, from which the next one counts.
    time: u64,
}

impl<'m> Ranges<'m> {
    /// Checks the whole message. Allocates nothing.
    pub fn new(message: &'m [u8]) -> Result<Self, MessageError> {
        match message.split_first() {
            None => Err(MessageError::Empty),
            Some((&VERSION, rest)) => {
                let ranges = Self { rest, lower: Bound::ZERO, time: 0 };
                ranges.clone().check()?;
                Ok(ranges)
            }
            Some((&other @ 0x60..=0x6F, _)) => Err(MessageError::OtherVersion(other)),
            Some((&other, _)) => Err(MessageError::NotThisProtocol(other)),
        }
    }

    /// Goes on in a message that was checked, of which everything before `place` is left out.
    pub(crate) fn resume(rest: &'m [u8], place: Place) -> Self {
        Self { rest, lower: place.lower, time: place.time }
    }

    /// Where the next range begins.
    pub(crate) fn place(&self) -> Place {
        Place { lower: self.lower, time: self.time }
    }

    /// The bytes of the next range and of those behind it.
    pub(crate) fn rest(&self) -> &'m [u8] {
        self.rest
    }

    fn check(mut self) -> Result<(), MessageError> {
        while !self.rest.is_empty() {
            self.take_range()?;
        }
        Ok(())
    }

    fn take_range(&mut self) -> Result<Range<'m>, MessageError> {
        let bound = self.take_bound()?;
        let body = match varint::take(&mut self.rest)? {
            0 => Body::Skip,
            1 => Body::Fingerprint(Fingerprint(*self.take_array()?)),
            2 => Body::Ids(self.take_ids()?),
            mode => return Err(MessageError::UnknownMode(mode)),
        };
        Ok(Range { bound, body })
    }

    /// A bound that runs backwards stands for an empty range, at the last bound (N-15).
    fn take_bound(&mut self) -> Result<Bound, MessageError> {
        self.time = match varint::take(&mut self.rest)? {
            0 => u64::MAX,
            delta => self.time.saturating_add(delta - 1),
        };
        let prefix_bytes = varint::take(&mut self.rest)?;
        if prefix_bytes > 32 {
            return Err(MessageError::PrefixTooLong(prefix_bytes));
        }
        let split = self.rest.split_at_checked(prefix_bytes as usize);
        let (prefix, rest) = split.ok_or(MessageError::Truncated)?;
        self.rest = rest;
        self.lower = self.lower.max(Bound::with_prefix(self.time, prefix));
        Ok(self.lower)
    }

    fn take_array<const N: usize>(&mut self) -> Result<&'m [u8; N], MessageError> {
        let split = self.rest.split_first_chunk();
        let (array, rest) = split.ok_or(MessageError::Truncated)?;
        self.rest = rest;
        Ok(array)
    }

    fn take_ids(&mut self) -> Result<&'m [[u8; 32]], MessageError> {
        let count = varint::take(&mut self.rest)?;
        let (held, _) = self.rest.as_chunks::<32>();
        let wanted = usize::try_from(count).ok().and_then(|count| held.get(..count));
        let ids = wanted.ok_or(MessageError::ListTooLong(count))?;
        self.rest = &self.rest[32 * ids.len()..];
        Ok(ids)
    }
}

impl<'m> Iterator for Ranges<'m> {
    type Item = Range<'m>;

    fn next(&mut self) -> Option<Range<'m>> {
        let more = !self.rest.is_empty();
        more.then(|| self.take_range().expect("the whole message was checked"))
    }
}
