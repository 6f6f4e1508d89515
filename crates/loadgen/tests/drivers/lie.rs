//! The ways in which a relay may be wrong.

use std::time::Duration;

/// One way of being wrong, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lie {
    Honest,
    /// Every so manyth event that should be sent is not.
    Drop(u64),
    /// Every so manyth event is sent twice.
    Double(u64),
    /// EOSE comes when half of the answer was sent; the rest never does.
    EarlyEose,
    /// An answer has at most so many events, whatever the limit.
    CutAt(usize),
    /// Every so manyth event is acknowledged and not kept, nor handed on.
    Forget(u64),
    /// Every so manyth event that is sent has another id.
    WrongId(u64),
    /// Every so manyth OK names another event.
    WrongOk(u64),
    /// Every so manyth OK comes twice.
    DoubleOk(u64),
    /// Every OK comes this late.
    LateOk(Duration),
    /// The connection ends with every so manyth event that should be sent.
    Disconnect(u64),
    /// Events go to every subscription, whatever its filter.
    ToEveryone,
    /// EOSE never comes.
    NoEose,
    /// COUNT is one too many.
    WrongCount,
    /// Every so manyth event is missing from reconciliation sets.
    HideFromSets(usize),
    /// Old events come first.
    OldestFirst,
}

impl Lie {
    /// The period of this lie, if it is the given one.
    pub(crate) fn every(self, which: fn(u64) -> Self) -> Option<u64> {
        let (Self::Drop(every)
        | Self::Double(every)
        | Self::Forget(every)
        | Self::WrongId(every)
        | Self::WrongOk(every)
        | Self::DoubleOk(every)
        | Self::Disconnect(every)) = self
        else {
            return None;
        };
        (which(every) == self).then_some(every)
    }
}
