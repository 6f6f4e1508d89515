//! What publishers are told.

use std::fmt;
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use zeolite_proto::{EventId, Prefix, Reason, RelayMsg};
use zeolite_store::Outcome;

use crate::conn::Conn;

/// Whom an event came from. It must be answered once.
pub struct Origin {
    pub(crate) conn: Arc<Conn>,
    pub(crate) id: EventId,
    pub(crate) cost_bytes: usize,
    /// Given back when the event is answered.
    pub(crate) _permit: OwnedSemaphorePermit,
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from connection {}", self.id, self.conn.id)
    }
}

/// What became of an event, in the groups that the metrics count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It has a `Seq`.
    Stored,
    /// It was handed to whoever listens.
    Ephemeral,
    /// It was here before.
    Duplicate,
    /// A newer version of it is stored.
    Superseded,
    /// Its author deleted it, or vanished after it.
    Deleted,
    /// Its time is over (NIP-40).
    Expired,
    /// Its signature is wrong.
    Forged,
    /// The store has no room left.
    Full,
    /// The store failed.
    Failed,
}

impl From<&Outcome> for Verdict {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Stored(_) => Self::Stored,
            Outcome::Duplicate => Self::Duplicate,
            Outcome::Superseded => Self::Superseded,
            Outcome::Deleted | Outcome::Vanished => Self::Deleted,
            Outcome::Expired => Self::Expired,
            Outcome::Full => Self::Full,
        }
    }
}

impl Verdict {
    /// The third and fourth element of `OK`.
    pub fn to_ok(self) -> Result<Option<Reason>, Reason> {
        match self {
            Self::Stored | Self::Ephemeral => Ok(None),
            Self::Duplicate => {
                Ok(Some(Reason::new(Prefix::Duplicate, "this event is stored already")))
            }
            Self::Superseded => Err(Reason::new(Prefix::Duplicate, "a newer version is stored")),
            Self::Deleted => Err(Reason::blocked("deleted by its author")),
            Self::Expired => Err(Reason::invalid("the event has expired")),
            Self::Forged => Err(Reason::invalid("the signature is wrong")),
            Self::Full => Err(Reason::error("the store is full")),
            Self::Failed => Err(Reason::error("the event could not be stored")),
        }
    }
}

/// An `OK` that waits for a commit.
#[derive(Debug)]
pub struct Answer {
    /// Whom to tell.
    pub origin: Origin,
    /// What to tell.
    pub verdict: Verdict,
}

impl Answer {
    /// Tells it.
    pub fn send(self) {
        let id = self.origin.id.to_string();
        let message = RelayMsg::Ok(&id, self.verdict.to_ok());
        self.origin.conn.outbox.ingest_ended(self.origin.cost_bytes, &message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R01-55, R01-57 and the decisions on what the NIPs leave open: true or false, and a standard
    /// prefix with every false.
    #[test]
    fn every_verdict_has_its_words() {
        for (verdict, accepted, text) in [
            (Verdict::Stored, true, ""),
            (Verdict::Ephemeral, true, ""),
            (Verdict::Duplicate, true, "duplicate: this event is stored already"),
            (Verdict::Superseded, false, "duplicate: a newer version is stored"),
            (Verdict::Deleted, false, "blocked: deleted by its author"),
            (Verdict::Expired, false, "invalid: the event has expired"),
            (Verdict::Forged, false, "invalid: the signature is wrong"),
            (Verdict::Full, false, "error: the store is full"),
            (Verdict::Failed, false, "error: the event could not be stored"),
        ] {
            let mut json = Vec::new();
            RelayMsg::Ok("x", verdict.to_ok()).encode(&mut json);
            assert_eq!(json, format!(r#"["OK","x",{accepted},"{text}"]"#).into_bytes());
        }
    }
}
