//! The responder: one message in, one message out.

use crate::bound::Bound;
use crate::limits::{BUCKETS, FrameLimit, VERSION};
use crate::ranges::{Body, MessageError, Range, Ranges};
use crate::set::{Edge, Set};
use crate::turn::{Room, Turn};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum RespondError<E> {
    /// The message is malformed.
    #[error("{0}")]
    Message(#[from] MessageError),
    /// The set could not be read.
    #[error("cannot read the set: {0}")]
    Set(E),
}

/// The answer to a message, of at most the bytes that `frame` allows. There is always one, be it
/// that nothing is left to do.
///
/// Nothing is kept between messages, so each may be answered from a set of its own moment. Another
/// version of the protocol is answered with ours (N-01).
pub fn respond<S: Set>(
    set: &S,
    message: &[u8],
    frame: FrameLimit,
) -> Result<Vec<u8>, RespondError<S::Error>> {
    let ranges = match Ranges::new(message) {
        Err(MessageError::OtherVersion(_)) => return Ok(vec![VERSION]),
        other => other?,
    };
    let mut turn = Turn::new(set, frame);
    if is_cut(set, &ranges).map_err(RespondError::Set)? {
        turn.bound_splits(message.len());
    }
    let mut lower = Edge::START;
    for range in ranges {
        let upper = set.seek(&lower, &range.bound).map_err(RespondError::Set)?;
        let room = match range.body {
            Body::Fingerprint(theirs) if theirs != lower.fingerprint_to(&upper) => {
                turn.split(&lower, &upper).map_err(RespondError::Set)?
            }
            Body::Ids(_) => turn.list_cut(&lower, &upper).map_err(RespondError::Set)?,
            Body::Skip | Body::Fingerprint(_) => {
                turn.skip(&range.bound);
                Room::Left
            }
        };
        if room == Room::Full {
            turn.close().map_err(RespondError::Set)?;
            break;
        }
        lower = upper;
    }
    Ok(turn.finish())
}

/// Whether the message seems to have been cut by a limit of the peer's: its last word is on a good part
/// of the set.
fn is_cut<S: Set>(set: &S, ranges: &Ranges<'_>) -> Result<bool, S::Error> {
    let (mut lower, mut last) = (Bound::ZERO, None);
    for range in ranges.clone() {
        lower = last.map_or(Bound::ZERO, |range: Range<'_>| range.bound);
        last = Some(range);
    }
    match last {
        Some(Range { bound, body: Body::Fingerprint(_) }) if bound.is_infinity() => {
            let rest = set.len() - set.seek(&Edge::START, &lower)?.index;
            Ok(rest > set.len() / BUCKETS)
        }
        _ => Ok(false),
    }
}
